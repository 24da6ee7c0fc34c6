"""Values of Parquet that Python has not: they cost at most the page of their row, and no other row."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup_stream.errors import BadPage
from neardup_stream.message import Record
from neardup_stream.page import Page
from neardup_stream.streams.files.source import FileSource
from neardup_stream.wire.pages import PageDecoder
from tests.contracts.streams import read_records

YEAR_33658 = 10**15
LATE = f"{YEAR_33658} timestamp[ms]"
MILLISECONDS = pa.timestamp("ms")


async def read(path: Path, columns: Mapping[str, Any]) -> list[Record]:
    pq.write_table(pa.table(dict(columns)), path)
    async with FileSource([str(path)], 1 << 20) as source:
        return await read_records(source)


def decoded(record: Record) -> Page | str:
    try:
        page = PageDecoder().decode(record)
    except BadPage as bad:
        return bad.reason
    assert isinstance(page, Page)
    return page


async def test_a_time_that_no_page_has_costs_its_row_alone(tmp_path: Path) -> None:
    times = pa.array([YEAR_33658 if row == 300 else row * 1000 for row in range(700)], MILLISECONDS)
    columns = {"url": ["http://a.example/"] * 700, "text": ["words"] * 700, "fetched_at": times}

    pages = [decoded(record) for record in await read(tmp_path / "pages.parquet", columns)]

    assert pages.pop(300) == "wrong_type"
    seconds = [page.fetched_at_seconds for page in pages if isinstance(page, Page)]
    assert seconds == [row for row in range(700) if row != 300]


async def test_a_time_that_no_page_has_is_ignored_in_other_columns(tmp_path: Path) -> None:
    times = pa.array([1, YEAR_33658], MILLISECONDS)
    columns = {"url": ["http://a.example/"] * 2, "text": ["words"] * 2, "seen": times}

    records = await read(tmp_path / "pages.parquet", columns)

    assert all(isinstance(decoded(record), Page) for record in records)
    assert [msgspec.json.decode(record.value or b"")["seen"] for record in records] == [
        "1970-01-01T00:00:00.001000Z",
        LATE,
    ]


TWO_OF_A_NAME = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        pytest.param(pa.array([10**8], pa.date32()), "100000000 date32[day]", id="date"),
        pytest.param(pa.array([2**62], pa.duration("s")), f"{2**62} duration[s]", id="duration"),
        pytest.param(
            pa.array([-62_135_596_801_000], MILLISECONDS), "-62135596801000 timestamp[ms]", id="year-0"
        ),
        pytest.param(
            pa.array([[0, YEAR_33658]], pa.list_(MILLISECONDS)), ["1970-01-01T00:00:00", LATE], id="list"
        ),
        pytest.param(
            pa.array([{"at": YEAR_33658, "job": 7}], pa.struct([("at", MILLISECONDS), ("job", pa.int64())])),
            {"at": LATE, "job": 7},
            id="struct",
        ),
        pytest.param(
            pa.array([[("a", YEAR_33658)]], pa.map_(pa.string(), MILLISECONDS)), [["a", LATE]], id="map"
        ),
        pytest.param(pa.array([YEAR_33658], MILLISECONDS).dictionary_encode(), LATE, id="dictionary"),
        pytest.param(
            pa.array([[1_001, 2]], pa.list_(pa.timestamp("ns", "Not/AZone"), 2)),
            ["1970-01-01T00:00:00.000001Z", "1970-01-01T00:00:00Z"],
            id="list-of-two-nanoseconds-in-an-unknown-zone",
        ),
        pytest.param(
            pa.array([[YEAR_33658, 2]], pa.list_(MILLISECONDS, 2)),
            [LATE, "1970-01-01T00:00:00.002000"],
            id="list-of-two",
        ),
        pytest.param(TWO_OF_A_NAME, [["a", 1], ["a", 2]], id="equal-names"),
    ],
)
async def test_what_python_has_not_is_text_or_a_list(tmp_path: Path, column: object, value: object) -> None:
    columns = {"url": ["http://a.example/"], "text": ["words"], "meta": column}

    (record,) = await read(tmp_path / "pages.parquet", columns)

    page = decoded(record)
    assert isinstance(page, Page)
    assert msgspec.json.decode(page.meta or b"") == value
