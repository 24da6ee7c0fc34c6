"""WARC and WET archives: responses and resources with text become pages, everything else says why not.

fastwarc finds the records and parses their headers. It is given plain bytes and asked to decode nothing:
its own gzip reader takes a file that was cut off for one that ended, and after one damaged body its
iterator cannot go on.
"""

import re
from collections.abc import Iterator
from datetime import datetime

from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from neardup_stream.errors import BadPage, CorruptData
from neardup_stream.message import Position, Record, Skipped
from neardup_stream.page import Page, PageId
from neardup_stream.streams.content_coding import decode_body, read_up_to
from neardup_stream.streams.inputs import CHUNK_BYTES, Input
from neardup_stream.wire.content_types import is_text_type
from neardup_stream.wire.urls import canonical_url

__all__ = ["read_warc"]

_PAGE_TYPES = WarcRecordType.response | WarcRecordType.resource | WarcRecordType.conversion

_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s;"']+)""", re.IGNORECASE)


def read_warc(source: Input, max_page_bytes: int) -> Iterator[list[Record]]:
    """A record for every WARC record, in blocks; the offset is its number from 0.

    Bodies come without transfer and content coding. At most `max_page_bytes + 1` bytes of each are held.

    Raises:
        CorruptData: the archive is damaged or cut off; all before was yielded.
    """
    block: list[Record] = []
    room_bytes = CHUNK_BYTES
    try:
        for offset, archived in enumerate(ArchiveIterator(_ChunkFile(source.chunks))):
            record = _record(archived, Position(source.partition, offset), source, max_page_bytes)
            block.append(record)
            room_bytes -= record.size_bytes
            if room_bytes < 0:
                yield block
                block, room_bytes = [], CHUNK_BYTES
    except (CorruptData, OSError) as error:
        yield block
        if isinstance(error, CorruptData):
            raise
        raise CorruptData(f"{source.path}: {error}") from error
    yield block


def _record(archived: WarcRecord, position: Position, source: Input, max_page_bytes: int) -> Record:
    content_length_bytes = archived.content_length
    skipped = _why_skipped(archived)
    raw = b"" if skipped else read_up_to(archived.reader, max_page_bytes + 1)
    if len(raw) + archived.consume() < content_length_bytes:
        raise CorruptData(f"{source.path}: cut off inside record {position.offset}")
    timestamp_ms = _timestamp_ms(archived, source)
    body, decoded = (raw, skipped) if skipped else _decode(archived, raw, timestamp_ms, max_page_bytes)
    return Record(
        position=position, key=_url(archived).encode(), value=body, timestamp_ms=timestamp_ms, decoded=decoded
    )


def _why_skipped(archived: WarcRecord) -> Skipped | None:
    if not archived.record_type & _PAGE_TYPES:
        return Skipped("warc_type")
    media_type, _ = _media_type(archived)
    if not is_text_type(media_type):
        return Skipped("content_type")
    return None


def _decode(
    archived: WarcRecord, raw: bytes, timestamp_ms: int, max_page_bytes: int
) -> tuple[bytes, Page | BadPage]:
    """The body and what it is: a page, or the body as archived and what is wrong with it."""
    try:
        body = _decode_body(archived, raw, max_page_bytes)
        return body, _page(archived, body, timestamp_ms)
    except BadPage as bad:
        return raw, bad


def _decode_body(archived: WarcRecord, raw: bytes, max_page_bytes: int) -> bytes:
    body = raw
    if archived.is_http and len(raw) <= max_page_bytes:
        headers = archived.http_headers
        codings = [headers.get("Content-Encoding"), headers.get("Transfer-Encoding")]
        body = decode_body(raw, ",".join(filter(None, codings)), max_page_bytes + 1)
    if len(body) > max_page_bytes:
        raise BadPage("over_limit", f"the body has more than max_page_bytes = {max_page_bytes}")
    return body


def _page(archived: WarcRecord, body: bytes, timestamp_ms: int) -> Page:
    url = _url(archived)
    media_type, charset = _media_type(archived)
    return Page(
        id=PageId(canonical_url(url)),
        url=url,
        fetched_at_seconds=timestamp_ms / 1000,
        body=body,
        content_type=media_type or None,
        charset=charset,
        status=archived.http_headers.status_code if archived.is_http else None,
    )


def _url(archived: WarcRecord) -> str:
    """Some writers of WARC 1.0 put it in angle brackets, as the grammar of its time did."""
    return (archived.headers.get("WARC-Target-URI") or "").removeprefix("<").removesuffix(">")


def _timestamp_ms(archived: WarcRecord, source: Input) -> int:
    date: datetime | None = archived.record_date  # typed as always there; None when absent or unreadable
    return source.timestamp_ms if date is None else int(date.timestamp() * 1000)


def _media_type(archived: WarcRecord) -> tuple[str, str | None]:
    """Lower-case media type, empty if unknown, and charset label, of the content rather than the record."""
    label = (
        archived.http_headers.get("Content-Type")
        if archived.is_http
        else archived.headers.get("Content-Type")
    )
    media_type, _, parameters = (label or "").partition(";")
    charset = _CHARSET.search(parameters)
    return media_type.strip().lower(), charset[1] if charset else None


class _ChunkFile:
    """Chunks as a file that only goes forward."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = filter(None, chunks)  # an empty chunk means silence, an empty read the end
        self._chunk = b""
        self._taken = 0
        self._position = 0

    def read(self, size: int = CHUNK_BYTES) -> bytes:
        if self._taken == len(self._chunk):
            self._chunk, self._taken = next(self._chunks, b""), 0
        part = self._chunk[self._taken : self._taken + size]
        self._taken += len(part)
        self._position += len(part)
        return part

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = 0) -> int:
        raise NotImplementedError("an archive is read from front to back")

    def close(self) -> None:
        pass
