"""Sequences in temporary files, and numbers by hashed keys: the same as a list and a dict of lists."""

import gc
import tempfile
from array import array
from pathlib import Path

import pytest

from neardup_stream.errors import StreamUnavailable
from neardup_stream.invariants.hashed import Numbers, hash64
from neardup_stream.invariants.inputs import Content, Input
from neardup_stream.invariants.packed_records import PackedRecords, RecordsById
from neardup_stream.invariants.spilled import SpilledBytes, spilled_inputs, spilled_messages
from neardup_stream.message import Message, Partition, Position
from neardup_stream.page import Handle, PageId
from tests.sound_history import blame, sound_history, without_events

ITEMS = [b"", b"short", b"x" * (1 << 20), b"", b"y" * 3_000_000, *(b"%d" % number for number in range(1000))]


def spilled(items: list[bytes]) -> SpilledBytes:
    found = SpilledBytes()
    for item in items:
        found.append(item)
    return found


def test_what_was_spilled_is_read_in_order_and_by_number() -> None:
    kept = spilled(ITEMS)

    assert list(kept) == ITEMS
    assert [kept[number] for number in range(len(kept))] == ITEMS
    assert list(spilled([])) == []
    for number in (-1, len(ITEMS)):
        with pytest.raises(IndexError):
            kept[number]


def test_items_may_be_added_after_others_were_read() -> None:
    kept = spilled([b"first"])
    assert kept[0] == b"first"

    kept.append(b"second")

    assert list(kept) == [b"first", b"second"]


def test_a_directory_that_cannot_be_written_is_named_with_its_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))

    with pytest.raises(StreamUnavailable, match=r"none: No such file .*; make room there, or set TMPDIR to"):
        SpilledBytes()


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_the_file_has_no_name_and_is_closed_with_its_last_user() -> None:
    gc.collect()  # what earlier tests left open
    before = open_files()
    kept = spilled(ITEMS)
    assert open_files() == before + 1

    del kept
    gc.collect()

    assert open_files() == before


def test_inputs_and_messages_are_read_as_they_were() -> None:
    at = Position(Partition("pages", 3), 1 << 40)
    inputs = [
        Input(at, "page", (PageId("é"),), Content((1 << 64) - 1, has_enough_tokens=False, scope="s"), 5),
        Input(at, "forget", (PageId("a"), PageId("b"))),
        Input(at, "skipped"),
    ]
    messages = [Message(key=None, value=b"\xff", headers=[("a", b"\x00")], timestamp_ms=7)]

    assert list(spilled_inputs(inputs)) == inputs
    assert spilled_inputs(inputs)[-1] == inputs[-1]
    assert spilled_inputs(inputs)[1:] == inputs[1:]
    assert list(spilled_messages(messages)) == messages


def test_numbers_are_found_by_hash_in_order() -> None:
    numbers = Numbers(array("Q", [7, 3, 7, (1 << 64) - 1, 3, 7, 0]))

    assert [numbers.of(each) for each in (7, 3, 0, (1 << 64) - 1, 5)] == [[0, 2, 5], [1, 4], [6], [3], []]
    assert 3 in numbers
    assert 4 not in numbers
    assert list(numbers.repeated()) == [(3, [1, 4]), (7, [0, 2, 5])]
    assert list(Numbers(array("Q")).repeated()) == []
    assert 0 not in Numbers(array("Q"))


def test_keys_with_the_same_hash_are_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    history = sound_history()
    assert hash64("a") != hash64("b")
    for module in ("packed_records", "evidence"):
        monkeypatch.setattr(f"neardup_stream.invariants.{module}.hash64", lambda _key: 7)

    assert blame(history) == {}


def test_a_history_that_is_spilled_is_judged_like_one_in_memory() -> None:
    history = sound_history()
    packed = PackedRecords(
        array("Q", history.records), spilled([record.pack() for record in history.records.values()])
    )

    assert dict(packed) == dict(history.records)
    assert Handle(1) not in packed
    with pytest.raises(KeyError):
        packed[Handle(1)]
    by_id = RecordsById(packed)
    assert set(by_id) == {record.id for record in history.records.values()}
    assert len(by_id) == len(packed)
    on_disk = history._replace(records=packed, inputs=spilled_inputs(history.inputs))
    assert blame(on_disk._replace(events=spilled_messages(history.events))) == {}
    for lost in history.events:
        kept = without_events(history, lost)
        assert blame(on_disk._replace(events=spilled_messages(kept.events))) == blame(kept)
    assert blame(without_events(history, history.events[-1]))
