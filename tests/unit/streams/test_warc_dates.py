"""When a page of an archive was fetched: what its record says, or the time of the file."""

from pathlib import Path

import pytest

from tests.unit.streams.archives import warc_record
from tests.unit.streams.three_records import URL, read


@pytest.mark.parametrize(
    ("date", "milliseconds"),
    [
        pytest.param("2016-12-31T23:59:60Z", 1_483_228_800_000, id="leap-second"),
        pytest.param("2024-05-01T10:20:30.5Z", 1_714_558_830_500, id="fraction"),
        pytest.param("2024-05-01T10:20Z", 1_714_558_800_000, id="without-seconds"),
        pytest.param("2024-05-01", 1_714_521_600_000, id="day"),
        pytest.param("20240501T102030", 1_714_558_830_000, id="without-punctuation"),
        pytest.param("9999-12-31T23:59:59.5Z", 253_402_300_799_500, id="latest"),
    ],
)
async def test_the_date_of_a_record_is_the_time_of_its_page(
    tmp_path: Path, date: str, milliseconds: int
) -> None:
    archived = warc_record("resource", URL, b"text", "text/plain", date=date)

    (record,), _ = await read(tmp_path / "a.warc", archived)

    assert record.timestamp_ms == milliseconds


@pytest.mark.parametrize(
    "date", ["", "yesterday", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "1969-12-31T00:00:00Z"]
)
async def test_without_a_date_in_range_the_time_of_the_file_counts(tmp_path: Path, date: str) -> None:
    archived = warc_record("resource", URL, b"text", "text/plain", date=date)

    records, _ = await read(tmp_path / "a.warc", archived)

    assert records[0].timestamp_ms == (tmp_path / "a.warc").stat().st_mtime_ns // 1_000_000
