"""Rows of inputs copied into a new file: the deduplicated corpus."""

import gzip
import json
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.message import Partition, Position
from neardup_stream.streams.files.corpus import Rows, check_corpus, copy_rows
from neardup_stream.streams.files.inputs import open_input
from neardup_stream.streams.files.parquet import read_parquet

MAX_PAGE_BYTES = 1 << 20


def rows_of(paths: Sequence[Path], numbers: Sequence[Sequence[int]]) -> Rows:
    """Return rows of each file, by number."""
    rows, seen = Rows(), Counter[str]()
    for path, wanted in zip(paths, numbers, strict=True):
        with open_input(str(path), seen) as opened:
            for number in wanted:
                rows.add(Position(opened.partition, number))
    return rows


def copy(paths: Sequence[Path], rows: Rows, output: Path, *, is_damaged: bool = False) -> int:
    names = [str(path) for path in paths]
    return copy_rows(names, rows, str(output), MAX_PAGE_BYTES, "", is_damaged=is_damaged)


def readable_count(path: Path) -> int:
    """Return how many rows a run reads before the damage."""
    count = 0
    with open_input(str(path), Counter()) as opened, suppress(CorruptData):
        for block in read_parquet(opened, MAX_PAGE_BYTES):
            count += len(block)
    return count


def parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=3)
    return path


def test_lines_are_copied_as_they_are_and_in_their_order(tmp_path: Path) -> None:
    plain, packed, out = (tmp_path / name for name in ("a.jsonl", "b.jsonl.gz", "out.jsonl"))
    plain.write_bytes(b'{"url": "1",  "x": 1}\n\n{"url": "2"}\n{"url": "3"}')
    packed.write_bytes(gzip.compress(b'{"url": "4"}\n{"url": "5"}\n'))

    count = copy([plain, packed], rows_of([plain, packed], [[3, 0], [1]]), out)

    assert count == 3
    assert out.read_bytes() == b'{"url": "1",  "x": 1}\n{"url": "3"}\n{"url": "5"}\n'


def test_parquet_keeps_its_columns_and_their_types(tmp_path: Path) -> None:
    first = parquet(tmp_path / "a.parquet", url=list("abcdefgh"), n=pa.array(range(8), pa.int16()))
    second = parquet(tmp_path / "b.parquet", url=["i"], n=pa.array([None], pa.int16()))
    out = tmp_path / "out.parquet"

    count = copy([first, second], rows_of([first, second], [[7, 0, 3], [0]]), out)

    assert count == 4
    assert pq.read_table(out).schema == pq.read_table(first).schema
    assert pq.read_table(out).to_pydict() == {"url": ["a", "d", "h", "i"], "n": [0, 3, 7, None]}


def test_rows_of_parquet_become_lines(tmp_path: Path) -> None:
    source = parquet(tmp_path / "a.parquet", url=["a", "b"], text=["x", None])

    copy([source], rows_of([source], [[0, 1]]), tmp_path / "out.jsonl")

    lines = (tmp_path / "out.jsonl").read_bytes().splitlines()
    assert [json.loads(line) for line in lines] == [{"url": "a", "text": "x"}, {"url": "b"}]


def test_the_same_file_twice_is_two_inputs(tmp_path: Path) -> None:
    lines = tmp_path / "a.jsonl"
    lines.write_bytes(b"1\n2\n")

    count = copy([lines, lines], rows_of([lines, lines], [[0], [1]]), tmp_path / "out.jsonl")

    assert (count, (tmp_path / "out.jsonl").read_bytes()) == (2, b"1\n2\n")


def test_nothing_kept_is_an_empty_file_with_the_columns(tmp_path: Path) -> None:
    source = parquet(tmp_path / "a.parquet", url=["a"])

    assert copy([source], Rows(), tmp_path / "out.parquet") == 0

    assert pq.read_table(tmp_path / "out.parquet").schema == pq.read_table(source).schema


def test_a_damaged_file_is_copied_as_far_as_it_can_be_read(tmp_path: Path) -> None:
    damaged = tmp_path / "a.jsonl.gz"
    damaged.write_bytes(gzip.compress(b"1\n2\n")[:-6])

    copy([damaged], rows_of([damaged], [[0, 7]]), tmp_path / "out.jsonl", is_damaged=True)

    assert (tmp_path / "out.jsonl").read_bytes() == b"1\n"


def test_of_damaged_parquet_every_row_is_copied_that_the_run_has_read(tmp_path: Path) -> None:
    damaged, out = tmp_path / "a.parquet", tmp_path / "out.parquet"
    texts = [f"{number:04}" + "x" * 996 for number in range(4_000)]
    pq.write_table(pa.table({"text": texts}), damaged, compression="none", use_dictionary=False)
    content = bytearray(damaged.read_bytes())
    start = content.index(b"3000x")
    content[start : start + 2_000] = b"\xff" * 2_000  # the length of the next text, too
    damaged.write_bytes(content)
    read_count = readable_count(damaged)

    count = copy([damaged], rows_of([damaged], [range(read_count)]), out, is_damaged=True)

    assert 0 < read_count < len(texts)
    assert count == read_count
    assert pq.read_table(out).column("text").to_pylist() == texts[:read_count]


def test_a_file_that_does_not_say_its_columns_costs_no_row_of_the_others(tmp_path: Path) -> None:
    whole = parquet(tmp_path / "b.parquet", url=["a", "b"])
    damaged = tmp_path / "a.parquet"
    damaged.write_bytes(whole.read_bytes()[:-9])

    rows = rows_of([damaged, whole], [[], [1]])
    count = copy([damaged, whole], rows, tmp_path / "out.parquet", is_damaged=True)

    assert count == 1
    assert pq.read_table(tmp_path / "out.parquet").to_pydict() == {"url": ["b"]}


def test_where_no_file_says_its_columns_no_corpus_is_written(tmp_path: Path) -> None:
    damaged = tmp_path / "a.parquet"
    damaged.write_bytes(b"PAR1 cut off")

    with pytest.raises(CorruptData, match="no input says its columns"):
        copy([damaged], Rows(), tmp_path / "out.parquet", is_damaged=True)


def test_files_of_different_columns_are_refused_and_leave_the_old_output(tmp_path: Path) -> None:
    first, second = parquet(tmp_path / "a.parquet", url=["a"]), parquet(tmp_path / "b.parquet", id=["a"])
    (tmp_path / "out.parquet").write_bytes(b"old")

    with pytest.raises(ConfigError, match="other columns"):
        copy([first, second], Rows(), tmp_path / "out.parquet")

    assert (tmp_path / "out.parquet").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("inputs", "output", "message"),
    [
        (["-"], "out.jsonl", "cannot be read a second time"),
        (["a.warc.gz"], "out.jsonl", "of JSON Lines and Parquet, and 'a.warc.gz' is none: --write-warc"),
        (["a.jsonl"], "out.parquet", "of Parquet alone, and 'a.jsonl' is none: keep its pages in"),
        (["a.jsonl"], "out.csv", "must end in"),
        (["a.jsonl"], "-", "must end in"),
    ],
)
def test_a_corpus_that_cannot_be_written_is_refused_before_work_starts(
    inputs: list[str], output: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in inputs:
        Path(name).touch()

    with pytest.raises(ConfigError, match=message):
        check_corpus(inputs, output)


def test_parquet_files_of_different_columns_are_refused_before_work_starts(tmp_path: Path) -> None:
    first, second = parquet(tmp_path / "a.parquet", url=["a"]), parquet(tmp_path / "b.parquet", id=["a"])

    with pytest.raises(ConfigError, match=r"b\.parquet' has other columns"):
        check_corpus([str(first), str(second)], str(tmp_path / "out.parquet"))


def test_a_damaged_footer_is_left_for_the_run_to_report(tmp_path: Path) -> None:
    damaged = tmp_path / "a.parquet"
    damaged.write_bytes(b"no Parquet")

    check_corpus([str(damaged)], str(tmp_path / "out.parquet"))


def test_an_input_that_has_changed_is_refused_and_leaves_the_old_output(tmp_path: Path) -> None:
    lines, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl"
    lines.write_bytes(b"1\n2\n")
    rows = rows_of([lines], [[1]])
    out.write_bytes(b"old")
    lines.write_bytes(b"1\n2\n3\n")

    with pytest.raises(CorruptData, match="1 of 1 pages to be kept are missing"):
        copy([lines], rows, out)

    assert out.read_bytes() == b"old"


def test_rows_are_of_the_file_that_was_digested_though_another_one_has_its_name_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, newer = (parquet(tmp_path / f"{name}.parquet", text=[name] * 4) for name in ("old", "new"))
    rows, read_at = rows_of([source], [[1, 3]]), os.pread

    def replace_and_read(descriptor: int, size: int, place: int) -> bytes:
        if newer.exists():
            newer.replace(source)
        return read_at(descriptor, size, place)

    monkeypatch.setattr(os, "pread", replace_and_read)
    copy([source], rows, tmp_path / "out.parquet")

    assert not newer.exists()
    assert pq.read_table(tmp_path / "out.parquet").to_pydict() == {"text": ["old", "old"]}


def test_rows_that_pyarrow_cannot_copy_are_reported_in_its_words(tmp_path: Path) -> None:
    source = parquet(tmp_path / "a.parquet", url=pa.array(["a", "b"], pa.string_view()))

    with pytest.raises(CorruptData, match=r"a\.parquet: its rows cannot be copied by pyarrow: .*string_view"):
        copy([source], rows_of([source], [[1]]), tmp_path / "out.parquet")


def test_rows_of_an_unknown_input_are_none() -> None:
    assert Rows().of(Partition("file:x", 0)).size == 0
