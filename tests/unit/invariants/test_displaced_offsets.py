"""1: an outcome is not missed where a page came in so many partitions that its record dropped the offset."""

import msgspec
import pytest

from neardup_stream.invariants.history import History
from neardup_stream.message import Partition, Position
from neardup_stream.stores.applied_positions import applied_at
from tests.page_histories import page_url
from tests.sound_history import PARTITION, at, blame, record_of, sound_history, with_record

Came = tuple[str, int, str]
"""Where the page of the records 5 and 6 came again: a file, the offset in it, and what its record became."""


def lives(*came: Came) -> History:
    """Return a history in which the page came in these inputs too, and its record was kept as pages are.

    `t#2` is partition 2 of topic t.
    """
    history = sound_history()
    record = original = record_of(history, 5)
    first = next(each for each in history.inputs if each.position == at(5))
    for name, offset, step in came:
        input_id, _, number = name.partition("#")
        position = Position(Partition(input_id, int(number or 0)), offset)
        if step == "again":
            record = record.seen_again(position, 0)
        elif step == "claimed":
            record = record.claimed_by(position, 0)
        else:
            changed = msgspec.structs.replace(
                original, made_by=applied_at(position), later=(), former_count=0
            )
            record = record.followed_by(changed)
        history = history._replace(
            inputs=[*history.inputs, first._replace(position=position)],
            committed={**history.committed, position.partition: offset + 1},
        )
    kept = msgspec.structs.replace(record, rank=original.rank)
    return with_record(history, 5, **msgspec.structs.asdict(kept))


FOUR_FILES: list[Came] = [(f"file:{number}", 0, "again") for number in range(1, 5)]


@pytest.mark.parametrize(
    "came",
    [
        pytest.param(FOUR_FILES, id="its partition is known, as the maker"),
        pytest.param(
            [
                ("file:1", 0, "again"),
                ("file:2", 0, "changed"),
                ("file:3", 0, "again"),
                ("file:4", 0, "again"),
                ("file:2", 1, "again"),
                ("file:4", 1, "changed"),
            ],
            id="fewer others are known than there is room for",
        ),
        pytest.param(
            [*FOUR_FILES, ("file:3", 1, "claimed"), ("file:1", 1, "changed"), ("file:1", 2, "again")],
            id="four partitions are known, its own among them",
        ),
    ],
)
def test_an_offset_that_was_dropped_for_lack_of_room_is_no_loss(came: list[Came]) -> None:
    history = lives(*came)

    assert (record_of(history, 5).last_applied(PARTITION) or 0) < 6
    assert 1 not in blame(history)


def test_an_offset_that_no_other_partition_can_have_displaced_is_a_loss() -> None:
    history = lives(*FOUR_FILES[:3])
    lost = with_record(history, 5, later=record_of(history, 5).later[1:])

    assert blame(lost)[1] == [f"pages-0@6 has no event, and page {page_url(5)} has seen only offset 5"]


def test_an_offset_of_an_epoch_that_has_ended_is_no_loss() -> None:
    assert 1 not in blame(lives(("pages@1", 0, "again")))


def test_a_partition_of_an_epoch_that_has_ended_displaces_no_offset() -> None:
    """Records keep none of its offsets, but for the one that made the version."""
    history = lives(("pages@1", 0, "again"), *FOUR_FILES[:3])
    lost = with_record(history, 5, later=record_of(history, 5).later[1:])

    (detail,) = blame(lost)[1]
    assert detail == f"pages@1-0@0 has no event, and page {page_url(5)} has seen nothing of this partition"


def test_a_partition_that_displaced_an_offset_before_its_epoch_ended_still_excuses_it() -> None:
    """Where the epoch ends the record forgets it, and remembers no more of what it displaced."""
    partitions: list[Came] = [(f"t#{number}", 0, "again") for number in range(4)]

    history = lives(("file:1", 0, "again"), *partitions, ("t@1", 0, "again"))

    assert 1 not in blame(history)
