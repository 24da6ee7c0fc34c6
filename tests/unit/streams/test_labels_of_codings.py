"""How headers of an archived response name its codings: as a list, over several lines, with parameters."""

import gzip
import zlib
from pathlib import Path

import pytest
from backports import zstd

from tests.unit.streams.archives import response
from tests.unit.streams.three_records import HTML, LAST, URL, read, reasons, urls

IN_GZIP = gzip.compress(HTML)
IN_CHUNKS = b"%x\r\n%b\r\n0\r\n\r\n" % (len(IN_GZIP), IN_GZIP)
UTF_16 = HTML.decode().encode("utf-16")
COMPRESSED_BY_LZW = bytes.fromhex("1f9d90 3c e0 e0 34 0a b1 c4") + bytes(range(256))


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        pytest.param(
            zlib.compress(IN_GZIP), ("Content-Encoding: gzip", "content-encoding: deflate"), id="two-lines"
        ),
        pytest.param(
            IN_CHUNKS,
            ("Content-Encoding: gzip", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
            id="chunked-stated-twice",
        ),
        pytest.param(IN_GZIP, ("Content-Encoding: identity", "Content-Encoding: gzip"), id="identity-first"),
        pytest.param(IN_GZIP, ("Content-Encoding:", "Content-Encoding: gzip"), id="empty-line-first"),
        pytest.param(
            IN_CHUNKS, ("Transfer-Encoding: gzip", "Transfer-Encoding: chunked"), id="transfer-in-two-lines"
        ),
        pytest.param(
            zstd.compress(IN_GZIP),
            ("X-Crawler-Content-Encoding: gzip", "X-Crawler-Content-Encoding: zstd"),
            id="renamed-in-two-lines",
        ),
        pytest.param(IN_GZIP, ("Content-Encoding: gzip;q=1.0",), id="parameter"),
        pytest.param(IN_GZIP, ('Content-Encoding: "GZIP"',), id="quotes"),
        pytest.param(IN_GZIP, ("Content-Encoding: gzip", "Content-Encoding: gzip"), id="said-twice"),
        pytest.param(IN_GZIP, ("Content-Encoding: utf-8, gzip",), id="beside-an-unknown-one"),
        pytest.param(HTML, ("Content-Encoding: br;q=1, 'utf-8'",), id="of-a-body-that-was-decoded"),
    ],
)
async def test_codings_are_undone_however_they_are_listed(
    tmp_path: Path, body: bytes, headers: tuple[str, ...]
) -> None:
    records, _ = await read(tmp_path / "a.warc", response(URL, body, headers=headers))

    assert (urls(records), [record.value for record in records]) == ([URL], [HTML])


@pytest.mark.parametrize("coding", ["compress", "sdch", "gzip, aes128gcm", "x" * 100_000])
async def test_a_body_in_an_unknown_coding_is_no_page(tmp_path: Path, coding: str) -> None:
    archived = response(URL, COMPRESSED_BY_LZW, headers=(f"Content-Encoding: {coding}",))

    records, _ = await read(tmp_path / "a.warc", archived + LAST)

    assert (urls(records), reasons(records)) == ([f"{URL}/2"], ["bad_encoding"])


@pytest.mark.parametrize("coding", ["utf-16", "none", "sdch", "gzip", "", "identity"])
@pytest.mark.parametrize("body", [HTML, UTF_16, b""], ids=["text", "utf-16", "nothing"])
async def test_text_is_a_page_whatever_coding_its_headers_name(
    tmp_path: Path, coding: str, body: bytes
) -> None:
    records, _ = await read(
        tmp_path / "a.warc", response(URL, body, headers=(f"Content-Encoding: {coding}",))
    )

    assert (urls(records), [record.value for record in records]) == ([URL], [body])


async def test_bytes_that_no_coding_explains_are_a_page(tmp_path: Path) -> None:
    records, _ = await read(
        tmp_path / "a.warc", response(URL, b"\x00\x01", headers=("Content-Encoding: identity",))
    )

    assert urls(records) == [URL]
