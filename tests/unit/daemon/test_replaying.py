"""Letters of files are put back some at a time."""

from neardup_daemon.kafka_wiring import SENT_BYTES
from neardup_daemon.repair.replaying import in_batches

from neardup_stream.message import Message


def test_large_letters_are_put_back_few_at_a_time_and_small_ones_many() -> None:
    large = Message(key=None, value=bytes(SENT_BYTES // 2))
    small = Message(key=None, value=b"small")

    batches = list(in_batches([large, large, large, *[small] * 1_000]))

    assert [letter for batch in batches for letter in batch] == [large, large, large, *[small] * 1_000]
    assert [len(batch) for batch in batches] == [2, 498, 500, 3]
