"""A group that did not begin with the first record."""

from neardup_stream.invariants.beginnings import since_the_first_trace
from neardup_stream.message import Partition, Position
from tests.sound_history import PARTITION, RECORDS, blame, sound_history

END = len(RECORDS)


def test_records_that_left_no_trace_before_all_others_are_not_judged() -> None:
    history = sound_history()
    late = {handle: each for handle, each in history.records.items() if each.made_by[2] >= 4}
    unread = history._replace(records=late, clusters={}, events=[])

    assert min(each.position.offset for each in since_the_first_trace(unread).inputs) == 4
    assert "pages-0@2 " in str(blame(unread)[1])
    assert "pages-0@2 " not in str(blame(since_the_first_trace(unread))[1])


def test_nothing_is_wrong_with_what_is_left_of_a_sound_history() -> None:
    rest = since_the_first_trace(sound_history())

    assert [each.position.offset for each in rest.inputs] == list(range(1, END))  # page 0 has changed since
    assert blame(rest) == {}


def test_of_a_partition_without_any_trace_only_what_is_not_committed_is_left() -> None:
    history = sound_history()
    other = Partition("pages", 1)
    inputs = [each._replace(position=Position(other, each.position.offset)) for each in history.inputs]
    committed = {PARTITION: END, other: END - 2}

    kept = since_the_first_trace(history._replace(inputs=inputs, committed=committed)).inputs

    assert [each.position.offset for each in kept] == [END - 2, END - 1]
