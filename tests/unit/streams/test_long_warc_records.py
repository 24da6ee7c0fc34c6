"""Records of many megabytes: a wrong length costs one record, and what they hold is their content."""

import gzip
import io
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from neardup_stream.errors import CorruptData
from neardup_stream.message import Skipped
from neardup_stream.page import Page
from neardup_stream.streams.files.record_places import UnknownPlaces
from neardup_stream.streams.files.warc_framing import frame_records
from tests.unit.streams.archives import resource, response, warc_record
from tests.unit.streams.three_records import (
    BOTH,
    FIRST,
    LAST,
    MAX_PAGE_BYTES,
    SECOND,
    URL,
    read,
    reasons,
    urls,
)


async def test_a_record_longer_than_what_is_held_is_read_past(tmp_path: Path) -> None:
    image = warc_record("resource", URL, bytes(17 << 20), "image/png")

    records, damage = await read(tmp_path / "a.warc", FIRST + image + LAST)

    assert (urls(records), damage) == (BOTH, None)
    assert records[1].decoded == Skipped("content_type")


async def test_a_length_that_swallows_a_large_archive_costs_one_record(tmp_path: Path) -> None:
    lying = warc_record("resource", URL, b"text", "text/plain", length=10**9)
    many = resource(f"{URL}/many", bytes(1 << 20), "image/png") * 20

    records, damage = await read(tmp_path / "a.warc", FIRST + lying + many + LAST)

    assert (urls(records), reasons(records), damage) == (BOTH, ["bad_encoding"], None)


INNER = resource("http://inner.example/", bytes(9 << 20), "image/png") * 2


def plain(*archived: bytes) -> bytes:
    return b"".join(archived)


def in_members(*archived: bytes) -> bytes:
    return b"".join(gzip.compress(each, 1) for each in archived)


def as_a_whole(*archived: bytes) -> bytes:
    return gzip.compress(plain(*archived), 1)


def in_threes(*archived: bytes) -> bytes:
    return in_members(*(plain(*archived[at : at + 3]) for at in range(0, len(archived), 3)))


def in_a_collection(*archived: bytes) -> bytes:
    return _collected("a.warc.gz", in_members(*archived))


def stored_in_a_collection(*archived: bytes) -> bytes:
    return _collected("a.warc", plain(*archived))


def _collected(name: str, archive: bytes) -> bytes:
    collection = io.BytesIO()
    with zipfile.ZipFile(collection, "w") as packed:
        packed.writestr(f"archive/{name}", archive)
    return collection.getvalue()


SHOWN = {".warc": plain, ".warc.gz": in_members, ".wacz": in_a_collection}
"""Ways to pack records that show where each of them ends."""

PACKED = [
    *SHOWN.items(),
    (".warc.gz", as_a_whole),
    (".warc.gz", in_threes),
    (".wacz", stored_in_a_collection),
]


@pytest.mark.parametrize("ending", SHOWN)
async def test_records_within_a_long_page_are_its_content(tmp_path: Path, ending: str) -> None:
    outer = response(URL, INNER, "application/warc")

    records, damage = await read(tmp_path / f"a{ending}", SHOWN[ending](FIRST, outer, LAST))

    assert (urls(records), damage) == (BOTH, None)
    assert [type(record.decoded) for record in records] == [Page, Skipped, Page]


@pytest.mark.parametrize("before", [(), (FIRST,), (FIRST, FIRST)])
@pytest.mark.parametrize(("ending", "pack"), PACKED, ids=[pack.__name__ for _, pack in PACKED])
@pytest.mark.parametrize("length", [30 << 20, 10**9])
async def test_a_length_that_swallows_many_records_costs_one(
    tmp_path: Path, ending: str, pack: Callable[..., bytes], length: int, before: tuple[bytes, ...]
) -> None:
    lying = warc_record("resource", URL, b"text", "text/plain", length=length)
    many = [resource(f"{URL}/many", bytes(1 << 20), "image/png")] * 40

    records, damage = await read(tmp_path / f"a{ending}", pack(*before, lying, *many, LAST))

    assert (reasons(records), damage) == (["bad_encoding"], None)
    assert len(records) == len(before) + 1 + 40 + 1
    assert urls(records)[-1:] == BOTH[1:]


async def test_a_long_page_of_what_looks_like_records_takes_no_time_for_each(tmp_path: Path) -> None:
    """Where members show that the page is whole, its millions of beginnings are not looked at one by one."""
    outer = response(URL, b"\n\nWARC/1.0\nWARC-" * (1 << 20), "application/warc")

    records, damage = await read(tmp_path / "a.warc.gz", in_members(FIRST, outer, LAST))

    assert (urls(records), damage) == (BOTH, None)


def test_what_is_kept_of_a_record_has_no_influence_on_which_are_found() -> None:
    """Who copies records has to find those that were decided, also where nothing shows their lengths."""
    outer = response(URL, INNER + bytes(9 << 20), "application/warc")
    lying = warc_record("resource", URL, b"text", "text/plain", length=19 << 20)
    many = resource(f"{URL}/many", bytes(1 << 20), "image/png") * 30
    archived = FIRST + outer + SECOND + lying + many + LAST

    def found(kept_bytes: int) -> list[tuple[dict[str, str], str, bytes]]:
        records = []
        with suppress(CorruptData):  # behind the last one
            for each in frame_records(iter([archived]), MAX_PAGE_BYTES, UnknownPlaces(), kept_bytes):
                records.append((each.headers, each.fault, each.block[:MAX_PAGE_BYTES]))  # noqa: PERF401
        return records

    assert found(1 << 30) == found(0) != []
