import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd

from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.streams.files.inputs import CHUNK_BYTES
from neardup_stream.streams.files.source import FileSource
from tests.contracts.streams import read_records
from tests.unit.streams.written_files import MAX_PAGE_BYTES, read_files, write


async def test_files_that_were_opened_and_not_read_are_closed_whatever_is_in_them(tmp_path: Path) -> None:
    damaged = write(tmp_path / "pages.jsonl.gz", gzip.compress(b"a\n" * 1000)[:-20])

    async with FileSource([str(damaged)], MAX_PAGE_BYTES):
        pass


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(b"", [], id="empty"),
        pytest.param(b"\n", [], id="one-blank-line"),
        pytest.param(b"a\nb\n", [(0, b"a"), (1, b"b")], id="newline-at-the-end"),
        pytest.param(b"a\nb", [(0, b"a"), (1, b"b")], id="no-newline-at-the-end"),
        pytest.param(b"a\n\n \t\r\nb\n", [(0, b"a"), (3, b"b")], id="blank-lines-keep-their-number"),
        pytest.param(b"a\r\nb\r\n", [(0, b"a\r"), (1, b"b\r")], id="dos-line-ends-are-white-space-of-json"),
    ],
)
async def test_offsets_are_line_numbers(
    tmp_path: Path, content: bytes, expected: list[tuple[int, bytes]]
) -> None:
    records = await read_files(write(tmp_path / "pages.jsonl", content))

    assert [(record.position.offset, record.value) for record in records] == expected


@pytest.mark.parametrize("length", [MAX_PAGE_BYTES - 1, MAX_PAGE_BYTES, MAX_PAGE_BYTES + 1])
async def test_a_line_that_does_not_exceed_the_limit_by_more_than_a_byte_is_whole(
    tmp_path: Path, length: int
) -> None:
    records = await read_files(write(tmp_path / "pages.jsonl", b"x" * length + b"\nnext\n"))

    assert [record.value for record in records] == [b"x" * length, b"next"]


@pytest.mark.parametrize("length", [MAX_PAGE_BYTES + 2, CHUNK_BYTES, 5 * CHUNK_BYTES + 1])
async def test_a_longer_line_is_cut_to_a_byte_more_than_the_limit(tmp_path: Path, length: int) -> None:
    records = await read_files(write(tmp_path / "pages.jsonl", b"x" * length + b"\nnext\n" + b"y" * length))

    assert [record.value for record in records] == [
        b"x" * (MAX_PAGE_BYTES + 1),
        b"next",
        b"y" * (MAX_PAGE_BYTES + 1),
    ]


async def test_lines_that_cross_chunks_are_whole(tmp_path: Path) -> None:
    lines = [b"%d" % number * 7 for number in range(CHUNK_BYTES // 8)]

    records = await read_files(write(tmp_path / "pages.jsonl", b"\n".join(lines)))

    assert [record.value for record in records] == lines[: len(records)]


async def test_a_file_is_named_by_its_content_and_dated_by_its_change(tmp_path: Path) -> None:
    one = write(tmp_path / "one.jsonl", b"a\n")
    copy = write(tmp_path / "copy.jsonl", b"a\n")
    other = write(tmp_path / "other.jsonl", b"b\n")
    os.utime(one, ns=(0, 1_700_000_000_123_000_000))

    (a,), (b,), (c,) = await read_files(one), await read_files(copy), await read_files(other)

    assert a.position == b.position
    assert a.position.partition.input_id != c.position.partition.input_id
    assert a.position.partition.input_id.startswith("file:")
    assert a.timestamp_ms == 1_700_000_000_123


async def test_the_same_content_twice_in_one_run_has_positions_of_its_own(tmp_path: Path) -> None:
    path = write(tmp_path / "one.jsonl", b"a\n")

    first, second = await read_files(path, path)

    assert first.position.partition.input_id == second.position.partition.input_id
    assert (first.position.partition.number, second.position.partition.number) == (0, 1)


@pytest.mark.parametrize("name", ["pages.jsonl.gz", "pages.jsonl.zst"])
async def test_compressed_files_may_have_many_members(tmp_path: Path, name: str) -> None:
    compress = gzip.compress if name.endswith("gz") else zstd.compress

    records = await read_files(write(tmp_path / name, compress(b"a\nb") + compress(b"c\nd\n")))

    assert [record.value for record in records] == [b"a", b"bc", b"d"]


LINES = b"".join(b"line %d\n" % number for number in range(20_000))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("p.jsonl.gz", gzip.compress(LINES)[:-30], id="gz-cut-off"),
        pytest.param("p.jsonl.gz", gzip.compress(LINES)[:-6], id="gz-without-its-checksum"),
        pytest.param("p.jsonl.gz", gzip.compress(LINES)[:-8] + b"\0" * 8, id="gz-with-a-wrong-checksum"),
        pytest.param("p.jsonl.gz", gzip.compress(LINES) + b"junk", id="gz-with-junk-behind"),
        pytest.param("p.jsonl.gz", b"no gzip", id="gz-in-name-only"),
        pytest.param("p.jsonl.zst", zstd.compress(LINES)[:-10], id="zst-cut-off"),
        pytest.param("p.jsonl.zst", zstd.compress(LINES) + b"junk", id="zst-with-junk-behind"),
        pytest.param("p.jsonl.zst", b"no zstd", id="zst-in-name-only"),
    ],
)
async def test_a_damaged_file_is_named_and_stays_damaged(tmp_path: Path, name: str, content: bytes) -> None:
    path = write(tmp_path / name, content)

    async with FileSource([str(path)], MAX_PAGE_BYTES) as source:
        for _ in range(2):
            with pytest.raises(CorruptData, match=rf"{name}: .*byte \d+"):
                await read_records(source, 1_000_000)


async def test_what_stands_before_the_damage_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl.gz", gzip.compress(b"a\nb\n") + gzip.compress(LINES)[:100])

    async with FileSource([str(path)], MAX_PAGE_BYTES) as source:
        assert [record.value for record in await source.read(2, 100)] == [b"a", b"b"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param("absent.jsonl", "no such file", id="missing"),
        pytest.param("folder.jsonl", "is a directory", id="directory"),
        pytest.param("pages.csv", "ends in none of .jsonl, ", id="unknown-kind"),
        pytest.param("n" * 300 + ".jsonl", "File name too long", id="long-name"),
        pytest.param("good.jsonl/pages.jsonl", "no such file", id="below-a-file"),
        pytest.param("circle.jsonl", "symbolic links", id="links-in-a-circle"),
    ],
)
async def test_a_file_that_cannot_be_read_is_refused_before_work_starts(
    tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    write(tmp_path / "pages.csv", b"a\n")
    (tmp_path / "circle.jsonl").symlink_to(tmp_path / "circle.jsonl")
    good = write(tmp_path / "good.jsonl", b"a\n")

    with pytest.raises(ConfigError, match=message):
        await read_files(good, tmp_path / name)


async def test_a_url_in_the_place_of_a_file_is_refused_with_a_remedy() -> None:
    with pytest.raises(ConfigError, match="named by their path, and servers in settings"):
        async with FileSource(["redis://localhost:6379"], MAX_PAGE_BYTES):
            pass


@pytest.mark.parametrize("name", ["p.jsonl", "p.jl", "p.ndjson"])
@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
async def test_lines_are_read_under_all_their_usual_names(
    tmp_path: Path, name: str, compression: str
) -> None:
    compressors: dict[str, Callable[[bytes], bytes]] = {
        "": bytes,
        ".gz": gzip.compress,
        ".zst": zstd.compress,
    }
    compress = compressors[compression]

    records = await read_files(write(tmp_path / (name + compression), compress(b"a\nb\n")))

    assert [record.value for record in records] == [b"a", b"b"]


@pytest.mark.parametrize("name", ["p.jsonl", "p.jsonl.gz", "p.jsonl.zst", "p.warc", "p.warc.gz", "p.wet.zst"])
async def test_an_empty_file_holds_no_records(tmp_path: Path, name: str) -> None:
    assert await read_files(write(tmp_path / name, b"")) == []


@pytest.mark.parametrize("name", ["P.JSONL", "P.jsonl.GZ", "P.JsonL.Zst", "P.NDJSON.ZST"])
async def test_the_endings_of_names_may_be_in_capitals(tmp_path: Path, name: str) -> None:
    content = b"a\nb\n"
    packed = {".gz": gzip.compress(content), ".zst": zstd.compress(content)}

    records = await read_files(write(tmp_path / name, packed.get(Path(name).suffix.lower(), content)))

    assert [record.value for record in records] == [b"a", b"b"]


async def test_the_place_of_a_record_is_counted_from_one_with_its_file(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl.jsonl"
    crawl.write_bytes(b"{}\n\n{}\n")

    async with FileSource([str(crawl)], 1000) as source:
        places = [
            source.place_of(record.position)
            async for records in source.batches(10, 1000)
            for record in records
        ]

    assert places == [f"{crawl}, line 1", f"{crawl}, line 3"]


async def test_a_file_with_one_page_as_json_is_refused_with_the_command_that_reads_it(tmp_path: Path) -> None:
    page = tmp_path / "page.json"
    page.write_bytes(b"{}")

    with pytest.raises(ConfigError, match=r"one page a line .* one page as JSON is for explain"):
        async with FileSource([str(page)], 1000):
            pass
