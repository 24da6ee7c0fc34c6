"""Damage in an archive: a bad record costs one record, and an archive that is cut off is another matter."""

import gzip
import zlib
from pathlib import Path

import pytest
from backports import zstd

from neardup_stream.message import Skipped
from neardup_stream.page import Page
from tests.unit.streams.archives import response, warc_record, with_lf
from tests.unit.streams.three_records import BOTH, FIRST, HTML, LAST, SECOND, URL, read, reasons, urls


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        pytest.param(
            response(URL, HTML, headers=("X: " + "x" * 40_000,) * 8), "over_limit", id="huge-http-headers"
        ),
        pytest.param(
            warc_record("response", URL, b"HTTP/1.1 200 OK\r\nContent-Type: te", "application/http"),
            "bad_encoding",
            id="http-cut-in-a-header",
        ),
        pytest.param(
            warc_record("response", URL, b"<p>no HTTP</p>", "application/http"), "bad_encoding", id="no-http"
        ),
        pytest.param(warc_record("response", URL, b"", "application/http"), "bad_encoding", id="empty-block"),
        pytest.param(
            SECOND.replace(b"Content-Length", b"Content-Lenght"), "bad_encoding", id="without-a-length"
        ),
        pytest.param(
            SECOND.replace(b"Content-Length: ", b"Content-Length: -"), "bad_encoding", id="negative-length"
        ),
        pytest.param(
            SECOND.replace(b"Content-Length: ", b"Content-Length: " + b"9" * 5_000),
            "bad_encoding",
            id="length-of-5,000-digits",
        ),
        pytest.param(
            SECOND.replace(b"Content-Length: ", b"Content-Length: " + b" " * 60_000 + b"\rx"),
            "bad_encoding",
            id="length-behind-60,000-spaces",
        ),
        pytest.param(
            SECOND.replace(b"Content-Length: ", b"Content-Length: 7\r\nContent-Length: "),
            "bad_encoding",
            id="two-lengths",
        ),
        pytest.param(
            warc_record("response", URL, HTML, "text/html", length=len(HTML) - 9), "bad_encoding", id="short"
        ),
        pytest.param(
            warc_record("response", URL, HTML, "text/html", length=len(HTML) + 99), "bad_encoding", id="long"
        ),
        pytest.param(
            warc_record("response", URL, HTML, "text/html", length=10**9), "bad_encoding", id="much-too-long"
        ),
        pytest.param(
            warc_record("response", URL, HTML, "text/html", date="x" * 70_000),
            "bad_encoding",
            id="huge-header",
        ),
        pytest.param(SECOND[:100] + b"\r\n", "bad_encoding", id="cut-in-its-header"),
        pytest.param(SECOND[:-200] + b"\r\n", "bad_encoding", id="cut-in-its-body"),
        pytest.param(SECOND[:-200], "bad_encoding", id="cut-in-a-line-of-its-body"),
        pytest.param(
            SECOND[: SECOND.index(b"WARC-Target-URI") + 30], "bad_encoding", id="cut-in-a-line-of-its-header"
        ),
    ],
)
@pytest.mark.parametrize("is_compressed", [False, True], ids=["plain", "gzip"])
async def test_a_bad_record_costs_no_other(
    tmp_path: Path, bad: bytes, reason: str, *, is_compressed: bool
) -> None:
    parts = [FIRST, bad, LAST]
    content = b"".join(map(gzip.compress, parts)) if is_compressed else b"".join(parts)

    records, damage = await read(tmp_path / ("a.warc.gz" if is_compressed else "a.warc"), content)

    assert (urls(records), reasons(records), damage) == (BOTH, [reason], None)
    assert [record.position.offset for record in records] == [0, 1, 2]


async def test_wherever_an_archive_is_cut_off_no_page_is_made_of_the_rest(tmp_path: Path) -> None:
    whole = FIRST + SECOND
    for size in range(len(FIRST) + 1, len(whole) - len(b"\r\n\r\n")):
        records, damage = await read(tmp_path / "a.warc", whole[:size])

        assert urls(records) == [f"{URL}/0"], size
        assert damage is not None, size


async def test_wherever_a_compressed_archive_is_cut_off_no_page_is_made_of_the_rest(tmp_path: Path) -> None:
    first, second = gzip.compress(FIRST), gzip.compress(SECOND)
    for size in range(len(first) + 1, len(first + second)):
        records, damage = await read(tmp_path / "a.warc.gz", (first + second)[:size])

        assert f"{URL}/1" not in urls(records), size
        assert urls(records) == [f"{URL}/0"], size
        assert damage is not None, size


async def test_wherever_a_member_is_damaged_the_others_are_read(tmp_path: Path) -> None:
    first, second, last = map(gzip.compress, (FIRST, SECOND, LAST))
    for at in range(10, len(second)):
        bad = second[:at] + bytes([second[at] ^ 0x55]) + second[at + 1 :]

        records, damage = await read(tmp_path / "a.warc.gz", first + bad + last)

        assert [url for url in urls(records) if not url.endswith("/1")] == BOTH, at
        assert damage is not None or urls(records) == BOTH, at


async def test_a_page_is_never_made_of_a_member_with_a_wrong_checksum(tmp_path: Path) -> None:
    second = gzip.compress(SECOND)

    records, damage = await read(
        tmp_path / "a.warc.gz",
        gzip.compress(FIRST) + second[:-8] + bytes(4) + second[-4:] + gzip.compress(LAST),
    )

    assert urls(records) == BOTH
    assert damage is not None
    assert "a.warc.gz" in str(damage)


@pytest.mark.parametrize("junk", [b"junk", b"junk\r\n\r\n", b"\x00" * 100, b"WARC/", b"WARC/x.y\r\n\r\n"])
async def test_what_belongs_to_no_record_is_passed_over_and_reported(tmp_path: Path, junk: bytes) -> None:
    records, damage = await read(tmp_path / "a.warc", FIRST + junk + b"\r\n" + LAST)

    assert (urls(records), reasons(records)) == (BOTH, [])
    assert damage is not None
    assert f"no record begins at byte {len(FIRST)}" in str(damage)


async def test_an_archive_whose_lines_end_in_lf_is_read(tmp_path: Path) -> None:
    archive = b"".join(map(with_lf, (FIRST, warc_record("request", URL, b"GET /", "application/http"), LAST)))

    records, damage = await read(tmp_path / "a.warc", archive)

    assert (urls(records), damage) == (BOTH, None)
    assert records[1].decoded == Skipped("warc_type")
    assert records[0].value == HTML


@pytest.mark.parametrize("ending", [b"", b"\r\n", b"\n\n\n\n", b"\r\n" * 50_000])
async def test_records_may_be_divided_by_any_empty_lines(tmp_path: Path, ending: bytes) -> None:
    archive = b"".join(part.removesuffix(b"\r\n\r\n") + ending for part in (FIRST, LAST))

    records, damage = await read(tmp_path / "a.warc", archive)

    assert (urls(records), damage) == (BOTH, None)


async def test_names_of_headers_count_in_any_case_and_over_several_lines(tmp_path: Path) -> None:
    archived = SECOND.replace(b"Content-Length:", b"content-LENGTH :").replace(
        b"WARC-Target-URI: ", b"warc-target-uri:\r\n\t"
    )

    records, damage = await read(tmp_path / "a.warc", archived)

    assert (urls(records), damage) == ([f"{URL}/1"], None)


BODIES = {
    "gzip": gzip.compress(HTML * 50),
    "deflate": zlib.compress(HTML * 50),
    "zstd": zstd.compress(HTML * 50),
    "x-gzip": gzip.compress(HTML * 50),
}


@pytest.mark.parametrize("coding", BODIES)
async def test_a_compressed_body_that_is_cut_off_is_no_page(tmp_path: Path, coding: str) -> None:
    body = BODIES[coding]
    sizes = range(10, len(body))
    archive = b"".join(response(URL, body[:size], headers=(f"Content-Encoding: {coding}",)) for size in sizes)

    records, damage = await read(tmp_path / "a.warc", archive + LAST)

    assert (urls(records), damage) == ([f"{URL}/2"], None)
    assert reasons(records) == ["bad_encoding"] * len(sizes)


async def test_a_body_that_the_crawler_cut_on_purpose_is_a_page(tmp_path: Path) -> None:
    archived = response(URL, BODIES["gzip"][:-20], headers=("Content-Encoding: gzip",))

    records, _ = await read(
        tmp_path / "a.warc", archived.replace(b"WARC-Date", b"WARC-Truncated: length\r\nWARC-Date")
    )

    (record,) = records
    assert isinstance(record.decoded, Page)
    assert record.value
    assert (HTML * 50).startswith(record.value)


@pytest.mark.parametrize(
    ("body", "is_page"),
    [
        (b"5\r\nhello\r\n5\r\nworld\r\n", True),
        (b"5\r\nhello\r\n5\r\nwo", False),
        (b"5;name=value\r\nhello\r\n0\r\nTrailer: x\r\n\r\n", True),
        (b"ffffffffffffffff\r\nhello\r\n", True),
        (b"add\nwords, which are no chunk", True),
    ],
    ids=["no-last-chunk", "cut-in-a-chunk", "extension-and-trailer", "impossible-size", "looks-like-a-size"],
)
async def test_chunks_are_taken_off_where_there_are_any(
    tmp_path: Path, body: bytes, *, is_page: bool
) -> None:
    records, _ = await read(
        tmp_path / "a.warc", response(URL, body, headers=("Transfer-Encoding: chunked",)) + LAST
    )

    assert urls(records) == [URL] * is_page + [f"{URL}/2"]


async def test_a_body_in_thousands_of_codings_is_over_the_limit(tmp_path: Path) -> None:
    body = zlib.compress(HTML)

    records, _ = await read(
        tmp_path / "a.warc", response(URL, body, headers=("Content-Encoding: " + "gzip, " * 9_000,)) + LAST
    )

    assert (urls(records), reasons(records)) == ([f"{URL}/2"], ["over_limit"])


@pytest.mark.parametrize(
    "unit",
    [
        b"WARC/1.0\r\n",
        b"WARC/1.0\r\n\r\n",
        b"WARC/1.0\r\nContent-Length: 900000000\r\n\r\n",
        b"WARC/1.0\r\nContent-Length: 900000\r\n\r\n",
        b"WARC/1.0\r\nContent-Length: 9\r\n\r\nx\r\n\r\n",
        b"WARC/1.0\r\n" + b"WARC-Type: aWARC/1.0\r\n" * 2_500 + b"\r\n",
        b"\r\n",
        b"junk\n",
    ],
)
async def test_a_hostile_archive_takes_time_in_proportion_to_its_bytes(tmp_path: Path, unit: bytes) -> None:
    records, _ = await read(tmp_path / "a.warc", unit * (1_000_000 // len(unit)))

    assert not urls(records)
