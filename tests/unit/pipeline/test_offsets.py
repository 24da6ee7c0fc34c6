from neardup_stream.message import Partition, Position, Record
from neardup_stream.pipeline.offsets import later_offsets, next_offsets, not_below

A, B = Partition("pages", 0), Partition("pages", 1)


def record(partition: Partition, offset: int) -> Record:
    return Record(position=Position(partition, offset), key=None, value=None)


def test_the_offset_to_commit_is_the_one_after_the_last_finished() -> None:
    assert next_offsets([record(A, 4), record(B, 0), record(A, 7)]) == {A: 8, B: 1}


def test_no_records_finish_nothing() -> None:
    assert next_offsets([]) == {}


def test_offsets_only_grow() -> None:
    assert later_offsets({A: 8, B: 1}, {A: 5, B: 2}) == {A: 8, B: 2}


def test_partitions_of_either_side_are_kept() -> None:
    assert later_offsets({A: 8}, {B: 2}) == {A: 8, B: 2}


def test_what_stands_below_an_offset_is_left_out() -> None:
    later = [record(A, 8), record(B, 0)]

    assert not_below([record(A, 7), *later], {A: 8}) == later
