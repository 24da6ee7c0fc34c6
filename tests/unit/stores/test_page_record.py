import pytest

from neardup_stream.errors import CorruptData
from neardup_stream.message import Partition, Position
from neardup_stream.page import PageId
from neardup_stream.stores.page_record import PageRecord

POSITION = Position(Partition("pages", 3), 2**40)


def record(page_id: str = "https://example.com/") -> PageRecord:
    return PageRecord.first(
        page_id=PageId(page_id),
        url="https://example.com/",
        fingerprint=2**64 - 1,
        text_fingerprint=0,
        position=POSITION,
        is_decided=True,
    )


@pytest.mark.parametrize("page_id", ["https://example.com/", "crawl-17", "ünïcode"])
def test_a_record_survives_packing(page_id: str) -> None:
    packed = record(page_id).pack()

    assert PageRecord.unpack(packed) == record(page_id)
    assert PageRecord.unpack(packed).id == page_id


def test_an_id_that_equals_the_url_takes_no_room() -> None:
    assert len(record().pack()) == len(record("x").pack()) - 1


@pytest.mark.parametrize(
    "packed",
    [b"", b"\x90", b"not msgpack", record().pack()[:-1], record().pack() + b"\x00"],
    ids=["empty", "empty-array", "garbage", "cut-off", "too-long"],
)
def test_bytes_that_are_no_record_are_corrupt_data(packed: bytes) -> None:
    with pytest.raises(CorruptData, match="page record"):
        PageRecord.unpack(packed)
