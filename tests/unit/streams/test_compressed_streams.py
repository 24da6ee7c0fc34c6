"""Bodies of several compressed streams behind each other, as gzip and zstd allow: all of them are read."""

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd

from neardup_stream.message import Record
from tests.unit.streams.archives import response
from tests.unit.streams.three_records import HTML, LAST, URL, read, reasons, urls

FRAME = zstd.compress(HTML)
STREAM = gzip.compress(HTML)
SKIPPABLE = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"


@pytest.mark.parametrize(
    ("coding", "body", "decoded"),
    [
        pytest.param("zstd", FRAME + zstd.compress(b"more"), HTML + b"more", id="two-frames"),
        pytest.param("zstd", zstd.compress(b"") + FRAME, HTML, id="empty-frame-first"),
        pytest.param("zstd", SKIPPABLE + FRAME, HTML, id="skippable-frame-first"),
        pytest.param("zstd", FRAME + SKIPPABLE + FRAME, HTML * 2, id="skippable-frame-between"),
        pytest.param("zstd", FRAME + b"\r\n", HTML, id="line-end-behind-zstd"),
        pytest.param("zstd", b"", b"", id="nothing"),
        pytest.param("gzip", STREAM + STREAM, HTML * 2, id="two-gzip-streams"),
        pytest.param("gzip", STREAM + bytes(100), HTML, id="zeros-behind-gzip"),
        pytest.param("gzip", STREAM + b"\n", HTML, id="one-byte-behind-gzip"),
        pytest.param("deflate", zlib.compress(HTML) + b"\0", HTML, id="one-byte-behind-deflate"),
    ],
)
async def test_every_stream_of_a_body_is_read(
    tmp_path: Path, coding: str, body: bytes, decoded: bytes
) -> None:
    record, *_ = await read_body(tmp_path, body, coding)

    assert record.value == decoded


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        pytest.param("zstd", FRAME + FRAME[:-5], id="cut-off-zstd"),
        pytest.param("zstd", FRAME + FRAME[:3], id="cut-off-in-its-magic-number"),
        pytest.param("zstd", FRAME + FRAME[:5] + b"\xff" * 99, id="damaged-zstd"),
        pytest.param("gzip", STREAM + STREAM[:-5], id="cut-off-gzip"),
        pytest.param("gzip", STREAM + STREAM[:20] + b"damage" + STREAM[26:], id="damaged-gzip"),
    ],
)
async def test_a_body_whose_second_stream_is_damaged_is_no_page(
    tmp_path: Path, coding: str, body: bytes
) -> None:
    records = await read_body(tmp_path, body, coding)

    assert (reasons(records), urls(records)) == (["bad_encoding"], [f"{URL}/2"])


@pytest.mark.parametrize(
    ("count", "reason"), [(10_000, []), (10_001, ["over_limit"])], ids=["at-the-limit", "above-it"]
)
@pytest.mark.parametrize(
    ("coding", "compress"), [("deflate", zlib.compress), ("zstd", zstd.compress)], ids=["deflate", "zstd"]
)
async def test_a_body_of_many_compressed_streams_is_over_the_limit(
    tmp_path: Path, coding: str, compress: Callable[[bytes], bytes], count: int, reason: list[str]
) -> None:
    records = await read_body(tmp_path, compress(HTML) + compress(b"") * (count - 1), coding)

    assert (reasons(records), urls(records)[-1]) == (reason, f"{URL}/2")


async def read_body(tmp_path: Path, body: bytes, coding: str) -> list[Record]:
    archived = response(URL, body, headers=(f"Content-Encoding: {coding}",))
    records, _ = await read(tmp_path / "a.warc", archived + LAST)
    return records
