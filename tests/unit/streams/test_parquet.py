"""Parquet files as a source: a record a row, the row's JSON as its value."""

import os
import tracemalloc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup_stream.errors import CorruptData
from neardup_stream.message import Record
from neardup_stream.page import Page
from neardup_stream.streams.files.digests import identity_of
from neardup_stream.streams.files.inputs import CHUNK_BYTES, open_input
from neardup_stream.streams.files.parquet import read_parquet
from neardup_stream.streams.files.source import FileSource
from neardup_stream.streams.protocol import EndOfStream
from neardup_stream.wire.pages import PageDecoder
from tests.contracts.streams import read_records

MAX_PAGE_BYTES = 1 << 20
ROWS = 700


def write(path: Path, columns: Mapping[str, Sequence[object]], rows_of_a_group: int = 100) -> str:
    pq.write_table(pa.table(dict(columns)), path, row_group_size=rows_of_a_group)
    return str(path)


async def read(*paths: str, max_page_bytes: int = MAX_PAGE_BYTES) -> list[Record]:
    async with FileSource(paths, max_page_bytes) as source:
        return await read_records(source)


async def test_every_row_is_a_record_in_order_numbered_from_0(tmp_path: Path) -> None:
    urls = [f"https://example.com/{number}" for number in range(ROWS)]

    records = await read(write(tmp_path / "pages.parquet", {"url": urls, "text": ["words"] * ROWS}))

    assert [record.position.offset for record in records] == list(range(ROWS))
    assert [msgspec.json.decode(record.value or b"")["url"] for record in records] == urls
    assert len({record.position.partition for record in records}) == 1


async def test_a_copy_of_a_file_is_the_same_input(tmp_path: Path) -> None:
    columns = {"url": ["https://example.com/"]}

    first, second = await read(*(write(tmp_path / name, columns) for name in ("a.parquet", "b.parquet")))

    assert first.position.partition.input_id == second.position.partition.input_id


def test_rows_are_of_the_file_that_was_digested_though_another_one_has_its_name_meanwhile(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "pages.parquet", {"text": ["old"] * 300})
    newer = write(tmp_path / "newer.parquet", {"text": ["new"] * 300})

    def identify(path: str, descriptor: int) -> str:
        identity = identity_of(path, descriptor)
        Path(newer).replace(path)
        return identity

    with open_input(path, Counter(), identify=identify) as source:
        values = {record.value for block in read_parquet(source, MAX_PAGE_BYTES) for record in block}

    assert values == {b'{"text":"old"}'}


async def test_a_pipe_is_refused_as_no_parquet(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pages.parquet")

    with pytest.raises(CorruptData, match=r"pages\.parquet: damaged, cut off, or not supported"):
        await read(str(tmp_path / "pages.parquet"))


async def test_columns_of_all_kinds_become_the_fields_of_a_page(tmp_path: Path) -> None:
    fetched = datetime(2026, 10, 1, 12, tzinfo=UTC)
    path = write(
        tmp_path / "pages.parquet",
        {
            "target": ["https://example.com/a"],
            "content": [b"\xff bytes as fetched"],
            "html": pa.array([None], pa.string()),
            "date": pa.array([fetched.replace(tzinfo=None)], pa.timestamp("us")),
            "score": [0.5],
            "meta": [{"job": 7, "tags": ["a", "b"]}],
        },
    )
    decoder = PageDecoder(fields={"url": "target", "body": "content", "fetched_at": "date"})

    (record,) = await read(path)
    page = decoder.decode(record)

    assert isinstance(page, Page)
    assert (page.url, page.body, page.html, page.score) == (
        "https://example.com/a",
        b"\xff bytes as fetched",
        None,
        0.5,
    )
    assert page.fetched_at_seconds == fetched.timestamp()
    assert msgspec.json.decode(page.meta or b"") == {"job": 7, "tags": ["a", "b"]}


async def test_a_row_beyond_the_limit_is_cut_for_the_decoder_to_refuse(tmp_path: Path) -> None:
    path = write(tmp_path / "pages.parquet", {"url": ["u", "v"], "text": ["x" * 500, "y"]})

    records = await read(path, max_page_bytes=100)

    assert [len(record.value or b"") for record in records] == [101, len(b'{"url":"v","text":"y"}')]


async def test_times_in_nanoseconds_are_cut_to_microseconds(tmp_path: Path) -> None:
    path = write(
        tmp_path / "pages.parquet",
        {
            "url": ["u"],
            "fetched_at": pa.array([1_000_000_001_234_567_891], pa.timestamp("ns")),
            "took": pa.array([1_500_000_001], pa.duration("ns")),
            "clock": pa.array([1_001], pa.time64("ns")),
            "meta": pa.array([{"at": [1_001]}], pa.struct([("at", pa.list_(pa.timestamp("ns", "UTC")))])),
        },
    )

    (record,) = await read(path)

    assert msgspec.json.decode(record.value or b"") == {
        "url": "u",
        "fetched_at": "2001-09-09T01:46:41.234567Z",
        "took": "PT1.5S",
        "clock": "00:00:00.000001",
        "meta": {"at": ["1970-01-01T00:00:00.000001Z"]},
    }


@pytest.mark.parametrize("value", ["x" * (1 << 20), b"x" * (1 << 20)])
async def test_a_long_value_of_many_rows_takes_no_memory_for_each(tmp_path: Path, value: object) -> None:
    path = write(tmp_path / "pages.parquet", {"url": ["u"] * 256, "text": [value] * 256}, 256)

    tracemalloc.start()
    most_arrow_bytes = await arrow_peak(path)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert max(peak_bytes, most_arrow_bytes) < 16 << 20


@pytest.mark.parametrize("rows_of_a_group", [100, 4000])
async def test_memory_grows_neither_with_the_file_nor_with_a_row_group_without_dictionaries(
    tmp_path: Path, rows_of_a_group: int
) -> None:
    texts = pa.table({"text": [f"{number:06}" * 2500 for number in range(4000)]})
    path = tmp_path / "pages.parquet"
    pq.write_table(texts, path, row_group_size=rows_of_a_group, use_dictionary=False)
    del texts

    assert await arrow_peak(str(path)) < 20 << 20


async def arrow_peak(path: str) -> int:
    """Return the most bytes that Arrow holds between two reads of a file, cut to short values."""
    arrow_bytes, most_bytes = pa.total_allocated_bytes(), 0
    async with FileSource([path], max_page_bytes=1000) as source:
        while True:
            try:
                records = await source.read(1000, 1 << 30)
            except EndOfStream:
                return most_bytes
            most_bytes = max(most_bytes, pa.total_allocated_bytes() - arrow_bytes)
            assert {len(record.value or b"") for record in records} == {1001}


async def test_a_block_of_rows_has_no_more_bytes_than_one_of_other_files(tmp_path: Path) -> None:
    path = write(tmp_path / "pages.parquet", {"text": ["x" * (1 << 20)] * 20}, 20)

    async with FileSource([path], max_page_bytes=2 << 20) as source:
        block = await source.read(1000, 1 << 30)

    assert len(block) == CHUNK_BYTES >> 20


async def test_a_compression_that_pyarrow_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorruptData, match=r"pages\.parquet: .* not supported .* LZO"):
        await read(str(lzo_file(tmp_path / "pages.parquet")))


def lzo_file(path: Path) -> Path:
    write(path, {"url": ["u"]})
    path.write_bytes(path.read_bytes().replace(b"\x03url\x15\x02", b"\x03url\x15\x06"))  # Snappy, LZO
    return path


async def test_a_file_without_rows_has_no_records(tmp_path: Path) -> None:
    path = write(tmp_path / "pages.parquet", {"url": pa.array([], pa.string())})

    assert await read(path) == []


@pytest.mark.parametrize("damage", ["cut", "empty", "other", "flipped"])
async def test_damage_is_reported_with_the_file(tmp_path: Path, damage: str) -> None:
    with pytest.raises(CorruptData, match=r"pages\.parquet"):
        await read(str(damaged_file(tmp_path / "pages.parquet", damage)))


def damaged_file(path: Path, damage: str) -> Path:
    write(path, {"url": [f"https://example.com/{number}" for number in range(ROWS)]})
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 3 : len(content) // 3 + 400] = bytes(400)
    damaged = {"cut": content[:-200], "empty": b"", "other": b"no Parquet", "flipped": bytes(flipped)}
    path.write_bytes(damaged[damage])
    return path


async def test_a_column_whose_name_is_no_text_is_damage(tmp_path: Path) -> None:
    with pytest.raises(CorruptData, match=r"pages\.parquet"):
        await read(str(misnamed_column(tmp_path / "pages.parquet")))


def misnamed_column(path: Path) -> Path:
    write(path, {"url": ["https://example.com/"], "named": ["x"]})
    path.write_bytes(path.read_bytes().replace(b"named", b"name\xc3"))
    return path


async def test_whatever_bit_is_damaged_the_file_is_read_or_refused(tmp_path: Path) -> None:
    for path in each_bit_flipped(tmp_path / "pages.parquet"):
        with suppress(CorruptData):
            await read(str(path))


def each_bit_flipped(path: Path) -> Iterator[Path]:
    """Yield the file with one bit of each of its bytes flipped."""
    write(path, {"url": ["a", "b", "a"], "meta": [[1], [2, 3], []]})
    content = path.read_bytes()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        yield path


@pytest.mark.parametrize("zone", ["Not/AZone", "+99:99", "America", "Europe/Berlin", "+02:00"])
async def test_times_of_every_zone_are_read_as_utc(tmp_path: Path, zone: str) -> None:
    times = pa.array([1_790_000_000_000_000], pa.timestamp("us", zone))

    (record,) = await read(write(tmp_path / "pages.parquet", {"url": ["u"], "seen": times}))

    assert msgspec.json.decode(record.value or b"")["seen"] == "2026-09-21T14:13:20Z"


@pytest.mark.parametrize(
    "value",
    [["x" * 1000] * 200_000, [{"a": b"x" * 1000}] * 200_000, {"a": ["x" * 1000] * 200_000}],
    ids=["list", "list-of-structs", "struct-of-list"],
)
async def test_a_list_that_is_over_the_limit_is_not_made_into_objects(tmp_path: Path, value: object) -> None:
    path = write(tmp_path / "pages.parquet", {"url": ["u"], "links": [value]})

    tracemalloc.start()
    (record,) = await read(path, max_page_bytes=1_000_000)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert len(record.value or b"") == 1_000_001
    assert peak_bytes < 32 << 20


async def test_lists_of_strings_are_read_across_row_groups(tmp_path: Path) -> None:
    links = [[f"link-{number % 7}"] * (number % 3) for number in range(ROWS)]

    records = await read(write(tmp_path / "pages.parquet", {"url": ["u"] * ROWS, "links": links}, 100))

    assert [msgspec.json.decode(record.value or b"")["links"] for record in records] == links


async def test_a_list_within_the_limit_is_read_with_its_strings(tmp_path: Path) -> None:
    links = [["a", None, "b"], None, [], ["a" * 100]]
    path = write(tmp_path / "pages.parquet", {"url": ["u"] * 4, "links": links})

    records = await read(path)

    found = [msgspec.json.decode(record.value or b"").get("links") for record in records]
    assert found == links


def test_a_file_whose_name_becomes_that_of_another_is_read_to_its_end(tmp_path: Path) -> None:
    paths = tmp_path / "pages.parquet", tmp_path / "others.parquet"
    for path, name in zip(paths, "ab", strict=True):
        table = pa.table({"url": [f"{name}{number}" for number in range(40)], "text": ["x" * 100_000] * 40})
        pq.write_table(table, path, row_group_size=10)

    with open_input(str(paths[0]), Counter()) as source:
        blocks = read_parquet(source, MAX_PAGE_BYTES)
        records = next(blocks)
        paths[1].rename(paths[0])
        records += [record for block in blocks for record in block]

    urls = [msgspec.json.decode(record.value or b"")["url"] for record in records]
    assert urls == [f"a{number}" for number in range(40)]
