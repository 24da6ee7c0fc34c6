import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.message import Partition
from neardup_stream.page import PageId
from neardup_stream.stores.applied_positions import LATER_PARTITIONS, Applied, position_of
from neardup_stream.stores.page_record import PageRecord

FIRST: Applied = ("monday", 0, 1)


def page(applied: Applied, text: int = 1) -> PageRecord:
    url = "https://example.com/"
    return PageRecord.first(
        page_id=PageId(url), url=url, text_fingerprint=text, position=position_of(applied), seen_seconds=0
    )


def test_a_version_has_the_positions_at_which_it_was_seen_again_the_latest_first() -> None:
    record = (
        page(FIRST).seen_again(position_of(("tuesday", 0, 2)), 0).seen_again(position_of(("friday", 0, 3)), 0)
    )

    assert record.positions == tuple(map(position_of, [FIRST, ("friday", 0, 3), ("tuesday", 0, 2)]))


def test_positions_of_former_versions_are_none_of_the_next_one() -> None:
    record = page(FIRST).seen_again(position_of(("tuesday", 0, 2)), 0).followed_by(page(("friday", 0, 3), 2))

    assert record.positions == (position_of(("friday", 0, 3)),)
    assert [record.has_passed(position_of(each)) for each in (FIRST, ("tuesday", 0, 2))] == [True, True]


def test_a_file_that_had_a_former_version_may_bring_the_next_one_again() -> None:
    record = page(FIRST).followed_by(page(("tuesday", 0, 2), 2)).seen_again(position_of(("monday", 0, 7)), 0)

    assert record.positions == tuple(map(position_of, [("tuesday", 0, 2), ("monday", 0, 7)]))


def test_a_page_that_changes_in_every_file_forgets_the_oldest_of_them() -> None:
    record = page(("file:0", 0, 0))
    for number in range(1, 8):
        record = record.followed_by(page((f"file:{number}", 0, 0), number))

    passed = [number for number in range(8) if record.has_passed(position_of((f"file:{number}", 0, 0)))]
    assert passed == [3, 4, 5, 6, 7]


def test_a_file_that_brought_a_page_twice_has_the_place_of_the_last_time() -> None:
    record = page(("a", 0, 1))
    for again in (("b", 0, 1), ("c", 0, 1), ("d", 0, 1), ("a", 0, 2)):
        record = record.seen_again(position_of(again), 0)

    record = record.followed_by(page(("e", 0, 1), 2)).followed_by(page(("f", 0, 1), 3))

    assert record.later == (("c", 0, 1), ("d", 0, 1), ("a", 0, 2), ("e", 0, 1))


def test_who_claims_a_version_leaves_its_first_maker_among_its_positions() -> None:
    record = page(FIRST).followed_by(page(("tuesday", 0, 2), 2)).claimed_by(position_of(("friday", 0, 3)), 0)

    assert record.positions == tuple(map(position_of, [("friday", 0, 3), ("tuesday", 0, 2)]))


@pytest.mark.parametrize("rank", [0, 2**40])
def test_what_brought_former_versions_survives_packing(rank: int) -> None:
    record = page(FIRST).followed_by(page(("tuesday", 0, 2), 2)).seen_again(position_of(("friday", 0, 3)), 0)
    record = record.seen_again(position_of(("sunday", 0, 3)), 0) if rank else record

    assert PageRecord.unpack(record.pack()) == record


_APPLIED = st.tuples(st.sampled_from([f"file:{n}" for n in range(LATER_PARTITIONS + 2)]), st.just(0))


@given(st.lists(st.tuples(_APPLIED, st.sampled_from(["again", "claimed", "changed"])), max_size=12))
def test_a_version_was_seen_at_the_last_positions_of_its_own_time(
    steps: list[tuple[tuple[str, int], str]],
) -> None:
    record, own = page(("file:0", 0, 0)), {("file:0", 0): 0}
    for offset, (partition, step) in enumerate(steps, 1):
        at = position_of((*partition, offset))
        if step == "again":
            record = record.seen_again(at, 0)
        elif step == "claimed":
            record = record.claimed_by(at, 0)
        else:
            record, own = record.followed_by(page((*partition, offset), offset)), {}
        own[partition] = offset

    seen = set(record.positions)
    assert len(record.later) <= LATER_PARTITIONS
    assert seen <= {position_of((*partition, offset)) for partition, offset in own.items()} | {record.maker}
    if len(own) <= LATER_PARTITIONS:
        assert {each.partition for each in seen} == {Partition(*each) for each in own}
