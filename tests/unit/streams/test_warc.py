import asyncio
import gzip
import zlib
from pathlib import Path

import pytest
from backports import zstd

from neardup_stream.errors import BadPage, CorruptData
from neardup_stream.message import Record, Skipped, SkipReason
from neardup_stream.page import Page, PageId
from neardup_stream.streams.files.source import FileSource
from tests.contracts.streams import read_records
from tests.unit.streams.archives import conversion, resource, response, warc_record

MAX_PAGE_BYTES = 1000
HTML = b"<p>caf\xe9</p>" * 20
FIELDS = "application/warc-fields"
URL = "http://site.example/page"


async def read_archive(path: Path, content: bytes) -> list[Record]:
    await asyncio.to_thread(path.write_bytes, content)
    async with FileSource([str(path)], MAX_PAGE_BYTES) as source:
        return await read_records(source)


async def read_one(tmp_path: Path, archived: bytes) -> Record:
    (record,) = await read_archive(tmp_path / "crawl.warc", archived)
    return record


async def test_a_response_becomes_a_page(tmp_path: Path) -> None:
    url = "HTTP://Site.Example:80/page"

    record = await read_one(tmp_path, response(url, HTML, 'Text/HTML; Charset="latin-1"'))

    assert record.decoded == Page(
        id=PageId("http://site.example/page"),
        url=url,
        fetched_at_seconds=1714558830.0,
        body=HTML,
        content_type="text/html",
        charset="latin-1",
        status=200,
    )
    assert (record.key, record.value, record.timestamp_ms) == (url.encode(), HTML, 1714558830000)


async def test_a_resource_becomes_a_page(tmp_path: Path) -> None:
    page = (await read_one(tmp_path, resource(URL, b"plain text"))).decoded

    assert isinstance(page, Page)
    assert (page.body, page.content_type, page.charset, page.status) == (
        b"plain text",
        "text/plain",
        "utf-8",
        None,
    )


@pytest.mark.parametrize("body", [b"\n<html>\0<p>text", b"plain text\n\x1b[0m\t\xe9"])
async def test_text_that_was_archived_without_its_label_is_a_page_without_one(
    tmp_path: Path, body: bytes
) -> None:
    page = (await read_one(tmp_path, resource(URL, body, "Application/Octet-Stream"))).decoded

    assert isinstance(page, Page)
    assert (page.body, page.content_type) == (body, None)


async def test_the_text_of_a_wet_file_becomes_a_page(tmp_path: Path) -> None:
    (record,) = await read_archive(tmp_path / "crawl.wet", conversion(URL, b"text"))

    assert isinstance(record.decoded, Page)
    assert record.decoded.body == b"text"


@pytest.mark.parametrize(
    ("archived", "reason"),
    [
        pytest.param(warc_record("warcinfo", URL, b"a: b", FIELDS), "warc_type", id="warcinfo"),
        pytest.param(
            warc_record("request", URL, b"GET / HTTP/1.1\r\n", "application/http"), "warc_type", id="request"
        ),
        pytest.param(warc_record("metadata", URL, b"a: b", FIELDS), "warc_type", id="metadata"),
        pytest.param(warc_record("revisit", URL, b"", "application/http"), "revisit", id="revisit"),
        pytest.param(
            warc_record("revisit", URL, b"", "application/http\r\nNeardup-Event-ID: 0123"),
            "warc_type",
            id="own-revisit",
        ),
        pytest.param(warc_record("continuation", URL, b"end", "text/plain"), "warc_type", id="last-segment"),
        pytest.param(
            warc_record("resource", URL, b"beginning", "text/plain\r\nWARC-Segment-Number: 1"),
            "warc_type",
            id="first-segment",
        ),
        pytest.param(response(URL, b"\x89PNG", "image/png"), "content_type", id="image"),
        pytest.param(response(URL, b"", status="304 Not Modified"), "status", id="not-modified"),
        pytest.param(
            response(URL, b"", headers=("Content-Encoding: zstd",), status="304"), "status", id="304-of-zstd"
        ),
        pytest.param(response(URL, b"", status="103 Early Hints"), "status", id="early-hints"),
        pytest.param(response(URL, b"", status="204 No Content"), "status", id="no-content"),
        pytest.param(response(URL, b"", headers=("Content-Length: 830",)), "no_body", id="answer-to-head"),
        pytest.param(
            response(URL, b"", headers=("Content-Encoding: gzip", "Transfer-Encoding: chunked")),
            "no_body",
            id="answer-to-head-in-chunks",
        ),
        pytest.param(resource(URL, b"%PDF", "application/pdf"), "content_type", id="pdf-resource"),
        pytest.param(
            resource(URL, b"%PDF-1.7\n" + b"1 0 obj\n" * 99 + b"\x00", "application/octet-stream"),
            "content_type",
            id="binary-resource",
        ),
        pytest.param(
            response(URL, b"<p>text", "application/octet-stream"), "content_type", id="octets-of-a-server"
        ),
        *(
            pytest.param(resource(uri, b"text", "text/plain"), "target_uri", id=uri)
            for uri in (
                "dns:a.example",
                "dns:8.example",
                "whois://whois.example/a.example",
                "metadata://gnu.org/software/wget/warc/MANIFEST.txt",
                f"<urn:text:{URL}>",
                f"screenshot:{URL}",
            )
        ),
    ],
)
async def test_what_is_no_page_by_nature_is_skipped(
    tmp_path: Path, archived: bytes, reason: SkipReason
) -> None:
    assert (await read_one(tmp_path, archived)).decoded == Skipped(reason)


@pytest.mark.parametrize(
    "archived",
    [
        pytest.param(response(URL, b""), id="no-length"),
        pytest.param(response(URL, b"", headers=("Content-Length: 00",)), id="length-of-0"),
        pytest.param(response(URL, b"", headers=("Content-Length: none",)), id="no-number"),
        pytest.param(
            response(URL, b"", headers=("Content-Length: 830",)).replace(
                b"WARC-Date", b"WARC-Truncated: time\r\nWARC-Date"
            ),
            id="cut-off-by-the-crawler",
        ),
    ],
)
async def test_a_response_without_a_body_is_a_page_where_it_states_none(
    tmp_path: Path, archived: bytes
) -> None:
    page = (await read_one(tmp_path, archived)).decoded

    assert isinstance(page, Page)
    assert page.body == b""


@pytest.mark.parametrize("url", ["ftp://a.example/a.txt", "file:///srv/a.html", "localhost:8080/a", "/a"])
async def test_whatever_may_be_the_address_of_a_page_is_read(tmp_path: Path, url: str) -> None:
    page = (await read_one(tmp_path, resource(url, b"text", "text/plain"))).decoded

    assert isinstance(page, Page)
    assert page.url == url


CHUNKED = b"%x\r\n%b\r\n0\r\n\r\n" % (len(HTML), HTML)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        pytest.param(gzip.compress(HTML), ("Content-Encoding: gzip",), id="gzip"),
        pytest.param(zlib.compress(HTML), ("Content-Encoding: deflate",), id="deflate"),
        pytest.param(CHUNKED, ("Transfer-Encoding: chunked",), id="chunked"),
        pytest.param(
            b"%x\r\n%b\r\n0\r\n\r\n" % (len(gzip.compress(HTML, mtime=0)), gzip.compress(HTML, mtime=0)),
            ("Transfer-Encoding: chunked", "Content-Encoding: gzip"),
            id="gzip-in-chunks",
        ),
        pytest.param(HTML, ("Content-Encoding: identity",), id="identity"),
        pytest.param(HTML, ("Content-Encoding: gzip",), id="stored-decoded-under-its-old-header"),
        pytest.param(HTML, ("Transfer-Encoding: chunked",), id="stored-whole-under-its-old-header"),
    ],
)
async def test_codings_of_http_are_undone(tmp_path: Path, body: bytes, headers: tuple[str, ...]) -> None:
    page = (await read_one(tmp_path, response(URL, body, headers=headers))).decoded

    assert isinstance(page, Page)
    assert page.body == HTML


IN_BROTLI = bytes.fromhex("1bdb00f81da9519f3ba6fa85670c4e99a5974f580c1801b4705506")
UTF_16 = HTML.decode("latin-1").encode("utf-16-le")


@pytest.mark.parametrize(
    ("stored", "coding", "body"),
    [
        pytest.param(IN_BROTLI, "br", HTML, id="brotli"),
        pytest.param(zstd.compress(HTML), "ZSTD", HTML, id="zstd"),
        pytest.param(zstd.compress(gzip.compress(HTML)), "gzip, zstd", HTML, id="gzip-in-zstd"),
        pytest.param(HTML, "br", HTML, id="undone-by-the-crawler"),
        *(pytest.param(UTF_16, coding, UTF_16, id=f"utf-16-{coding}") for coding in ("br", "gzip", "zstd")),
        pytest.param(b"\x00" * 99, "sdch", b"\x00" * 99, id="unknown"),
    ],
)
async def test_codings_that_the_crawler_did_not_know_are_undone(
    tmp_path: Path, stored: bytes, coding: str, body: bytes
) -> None:
    archived = response(URL, stored, headers=(f"X-Crawler-Content-Encoding: {coding}",))

    page = (await read_one(tmp_path, archived)).decoded

    assert isinstance(page, Page)
    assert page.body == body


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        pytest.param(zstd.compress(b"x" * 500_000), "over_limit", id="huge"),
        pytest.param(zstd.compress(HTML)[:-5], "bad_encoding", id="cut-off"),
    ],
)
async def test_a_coding_that_the_crawler_did_not_know_is_undone_within_the_same_limits(
    tmp_path: Path, stored: bytes, reason: str
) -> None:
    archived = response(URL, stored, headers=("X-Crawler-Content-Encoding: zstd",))

    record = await read_one(tmp_path, archived)

    assert isinstance(record.decoded, BadPage)
    assert (record.decoded.reason, record.value) == (reason, stored)


DAMAGED = gzip.compress(HTML)[:20] + b"damage" + gzip.compress(HTML)[26:]


@pytest.mark.parametrize(
    ("archived", "reason"),
    [
        pytest.param(response("", HTML), "bad_url", id="no-url"),
        pytest.param(
            response(URL, DAMAGED, headers=("Content-Encoding: gzip",)),
            "bad_encoding",
            id="damaged-gzip-body",
        ),
    ],
)
async def test_a_bad_page_does_not_stop_the_archive(tmp_path: Path, archived: bytes, reason: str) -> None:
    bad, good = await read_archive(tmp_path / "crawl.warc", archived + response(URL, HTML))

    assert isinstance(bad.decoded, BadPage)
    assert bad.decoded.reason == reason
    assert isinstance(good.decoded, Page)


@pytest.mark.parametrize("size", [MAX_PAGE_BYTES - 1, MAX_PAGE_BYTES, MAX_PAGE_BYTES + 1])
@pytest.mark.parametrize("coding", ["identity", "gzip"])
async def test_the_limit_counts_decoded_bytes(tmp_path: Path, size: int, coding: str) -> None:
    body = b"x" * size
    stored = gzip.compress(body) if coding == "gzip" else body

    record = await read_one(tmp_path, response(URL, stored, headers=(f"Content-Encoding: {coding}",)))

    if size <= MAX_PAGE_BYTES:
        assert isinstance(record.decoded, Page)
    else:
        assert isinstance(record.decoded, BadPage)
        assert record.decoded.reason == "over_limit"


async def test_a_small_body_that_unfolds_into_a_huge_one_is_over_the_limit(tmp_path: Path) -> None:
    stored = gzip.compress(b"x" * 500_000)

    record = await read_one(tmp_path, response(URL, stored, headers=("Content-Encoding: gzip",)))

    assert isinstance(record.decoded, BadPage)
    assert (record.decoded.reason, record.value) == ("over_limit", stored)


async def test_of_a_huge_body_only_a_byte_more_than_the_limit_is_held(tmp_path: Path) -> None:
    record = await read_one(tmp_path, response(URL, b"x" * 500_000))

    assert record.value == b"x" * (MAX_PAGE_BYTES + 1)


async def test_angle_brackets_around_the_url_are_taken_off(tmp_path: Path) -> None:
    page = (await read_one(tmp_path, resource(f"<{URL}>", b"text"))).decoded

    assert isinstance(page, Page)
    assert page.url == URL


PAGES = b"".join(resource(f"{URL}/{number}", b"text %d" % number) for number in range(1000))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("a.warc", PAGES[:-6], id="cut-off-in-a-body"),
        pytest.param("a.warc", resource(URL, b"") + response(URL, HTML)[:-30], id="cut-off-in-a-response"),
        pytest.param("a.warc", warc_record("request", URL, b"GET", "", length=9), id="cut-off-in-a-request"),
        pytest.param("a.warc", b"no archive at all\r\n\r\n", id="no-archive"),
        pytest.param("a.warc", PAGES + b"junk\r\n\r\n", id="junk-behind"),
        pytest.param("a.warc.gz", gzip.compress(PAGES)[:-30], id="gz-cut-off"),
        pytest.param("a.warc.gz", gzip.compress(PAGES)[:-4], id="gz-without-its-checksum"),
        pytest.param("a.warc.gz", gzip.compress(PAGES) + b"junk", id="gz-with-junk-behind"),
    ],
)
async def test_a_damaged_archive_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    with pytest.raises(CorruptData, match=name):
        await read_archive(tmp_path / name, content)


async def test_what_stands_before_the_damage_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(resource(URL, b"text") + response(URL, HTML)[:-100])

    async with FileSource([str(path)], MAX_PAGE_BYTES) as source:
        assert [record.value for record in await source.read(10, 10_000)] == [b"text"]


async def test_a_member_for_each_record_is_read_like_one_for_all(tmp_path: Path) -> None:
    members = b"".join(gzip.compress(resource(URL, b"text %d" % number)) for number in range(1000))

    records = await read_archive(tmp_path / "a.warc.gz", members)

    assert [record.value for record in records] == [b"text %d" % number for number in range(1000)]
