"""Read WARC and WET archives: responses and resources with text become pages, other records are skipped.

A damaged record is a bad page, and reading continues after it. An archive that was cut off, or holds bytes
that belong to no record, raises CorruptData after all of its records were read.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from neardup_stream.errors import BadPage, CorruptData
from neardup_stream.message import Position, Record, Skipped, SkipReason
from neardup_stream.page import Page, PageId
from neardup_stream.streams.files.content_coding import decode_body, decode_kept, is_binary
from neardup_stream.streams.files.http_response import MAX_HTTP_HEAD_BYTES, RENAMED, parse_response
from neardup_stream.streams.files.inputs import CHUNK_BYTES, Input
from neardup_stream.streams.files.warc_framing import FramedRecord, frame_records
from neardup_stream.wire.content_types import is_text_type
from neardup_stream.wire.statuses import holds_page
from neardup_stream.wire.times import END_SECONDS, parse_time
from neardup_stream.wire.urls import canonical_url

__all__ = ["OWN_HEADER", "framed_records", "holds_http", "page_url", "read_warc", "warc_record"]

OWN_HEADER: Final = "Neardup-Event-ID"
"""Of a revisit that `dedup` wrote, in the place of a duplicate: that page was seen."""

_PAGE_TYPES = frozenset({"response", "resource", "conversion"})
_SEGMENT = "warc-segment-number"
"""Of a record that holds the first part of a page; the others are in records of type `continuation`."""
_OTHER_URI = re.compile(r"(?:dns|filedesc|metadata|urn|whois):|[a-z][a-z0-9+-]*:(?!//|\d)", re.IGNORECASE)
"""How a URI begins under which crawlers archive what is no page: `dns:`, `urn:text:`, `screenshot:`."""
_UNLABELLED = "application/octet-stream"
"""What some writers call content to which the server gave no label, as well as binary content."""
_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s;"']+)""", re.IGNORECASE)


class _Content(NamedTuple):
    """The content of a record, without HTTP headers.

    Attributes:
        body: in the codings that `codings` names, comma separated.
        codings: of content and transfer, in the order in which they were applied.
        content_type: label of the body; empty for none.
        status: of HTTP.
        lacks_body: whether there is none, though its headers state its length or how it is transferred: an
            answer to HEAD.
        kept_codings: the server's, of which the crawler has undone those that it knows.
    """

    body: bytes
    codings: str
    content_type: str
    status: int | None
    lacks_body: bool = False
    kept_codings: str = ""


def read_warc(source: Input, max_page_bytes: int) -> Iterator[list[Record]]:
    """Yield a record for every WARC record, in blocks; the offset is its number from 0.

    Bodies have no transfer and content coding. Of a longer body only `max_page_bytes + 1` bytes are returned.

    Raises:
        CorruptData: the archive is damaged or cut off; all of its records were returned.
    """
    block: list[Record] = []
    room_bytes = CHUNK_BYTES
    try:
        for offset, archived in enumerate(framed_records(source, max_page_bytes)):
            position = Position(source.partition, offset)
            record = warc_record(archived, position, source.timestamp_ms, max_page_bytes)
            block.append(record)
            room_bytes -= record.size_bytes
            if room_bytes < 0:
                yield block
                block, room_bytes = [], CHUNK_BYTES
    except CorruptData as error:
        yield block
        raise CorruptData(f"{source.path}: {str(error).removeprefix(f'{source.path}: ')}") from error
    yield block


def framed_records(source: Input, max_page_bytes: int, kept_bytes: int = 0) -> Iterator[FramedRecord]:
    """Yield every record as it is framed, those of a longer body cut; see `frame_records`."""
    return frame_records(source.chunks, max_page_bytes + 1 + MAX_HTTP_HEAD_BYTES, source.places, kept_bytes)


def warc_record(
    archived: FramedRecord, position: Position, file_timestamp_ms: int, max_page_bytes: int
) -> Record:
    """Return a record with its page, or with the reason why it has none.

    Args:
        archived: as it is framed.
        position: of it.
        file_timestamp_ms: counts where the record has no date.
        max_page_bytes: of a longer body one byte more is returned.
    """
    timestamp_ms = _timestamp_ms(archived, file_timestamp_ms)
    body, decoded = _decode(archived, timestamp_ms, max_page_bytes)
    return Record(
        position=position,
        key=page_url(archived).encode(),
        value=body,
        timestamp_ms=timestamp_ms,
        decoded=decoded,
    )


def _decode(
    archived: FramedRecord, timestamp_ms: int, max_page_bytes: int
) -> tuple[bytes, Page | Skipped | BadPage]:
    """Return the body and its page, or why it is none, or the body as archived and its error."""
    raw = archived.block[: max_page_bytes + 1]
    if archived.fault:
        return raw, BadPage("bad_encoding", archived.fault)
    try:
        if reason := _no_page_by_header(archived):
            return b"", Skipped(reason)
        content = _content(archived)
        raw = content.body[: max_page_bytes + 1]
        if reason := _no_page_by_content(archived, content):
            return b"", Skipped(reason)
        body = _decode_body(archived, content, max_page_bytes)
        return body, _page(archived, content, body, timestamp_ms)
    except BadPage as bad:
        return raw, bad


def _no_page_by_header(archived: FramedRecord) -> SkipReason | None:
    """Return why a record is skipped; None for one that may hold a page."""
    kind = archived.headers.get("warc-type", "").lower()
    if kind not in _PAGE_TYPES:
        is_crawled = kind == "revisit" and OWN_HEADER.lower() not in archived.headers
        return "revisit" if is_crawled else "warc_type"
    if _SEGMENT in archived.headers:
        return "warc_type"
    return "target_uri" if _OTHER_URI.match(page_url(archived)) else None


def _no_page_by_content(archived: FramedRecord, content: _Content) -> SkipReason | None:
    """Return why a record is skipped; None for a page."""
    if not is_text_type(content.content_type):
        return "content_type"
    if not holds_page(content.status):
        return "status"
    return "no_body" if content.lacks_body and "warc-truncated" not in archived.headers else None


def _content(archived: FramedRecord) -> _Content:
    if not holds_http(archived):
        return _Content(archived.block, "", _label(archived), None)
    response = parse_response(archived.block)
    codings = (response.headers.get("content-encoding"), response.headers.get("transfer-encoding"))
    return _Content(
        response.body,
        ",".join(filter(None, codings)),
        response.headers.get("content-type", ""),
        response.status,
        not response.body and _states_body(response.headers),
        response.headers.get(RENAMED, ""),
    )


def _label(archived: FramedRecord) -> str:
    """Return the label of a block without HTTP; none for text that was archived without one."""
    label, block = archived.headers.get("content-type", ""), archived.block
    if archived.headers["warc-type"].lower() != "resource" or label.strip().lower() != _UNLABELLED:
        return label
    is_text = block.lstrip().startswith(b"<") or not is_binary(block, len(block))
    return "" if is_text else label


def _states_body(headers: Mapping[str, str]) -> bool:
    """Return whether headers of HTTP state bytes, or a transfer coding, in which nothing has some too."""
    length = headers.get("content-length", "")
    return "transfer-encoding" in headers or (length.isdecimal() and length.strip("0") != "")


def holds_http(archived: FramedRecord) -> bool:
    """Return whether a record is HTTP; some writers do not label responses, so their beginning decides."""
    label = archived.headers.get("content-type", "")
    media_type, _, _ = label.partition(";")
    return media_type.strip().lower() == "application/http" or (
        not label and archived.block.startswith(b"HTTP/")
    )


def _decode_body(archived: FramedRecord, content: _Content, max_page_bytes: int) -> bytes:
    body, codings, kept = content.body, content.codings, content.kept_codings
    if (codings or kept) and len(body) <= max_page_bytes:
        is_cut = "warc-truncated" in archived.headers
        body = decode_body(body, codings, max_page_bytes + 1, may_be_cut=is_cut)
        body = decode_kept(body, kept, max_page_bytes + 1, may_be_cut=is_cut)
    if len(body) > max_page_bytes:
        detail = f"the body has more than max_page_bytes = {max_page_bytes}"
        raise BadPage("over_limit", detail, "max_page_bytes")
    return body


def _page(archived: FramedRecord, content: _Content, body: bytes, timestamp_ms: int) -> Page:
    url = page_url(archived)
    media_type, _, parameters = content.content_type.partition(";")
    charset = _CHARSET.search(parameters)
    return Page(
        id=PageId(canonical_url(url)),
        url=url,
        fetched_at_seconds=timestamp_ms / 1000,
        body=body,
        content_type=media_type.strip().lower() or None,
        charset=charset[1] if charset else None,
        status=content.status,
    )


def page_url(archived: FramedRecord) -> str:
    """Return the URL; some writers of WARC 1.0 put it in angle brackets, as the grammar then required."""
    return archived.headers.get("warc-target-uri", "").removeprefix("<").removesuffix(">")


def _timestamp_ms(archived: FramedRecord, file_timestamp_ms: int) -> int:
    """Return when the page was fetched; the time of the file if the record has none."""
    try:
        seconds = _seconds(archived.headers.get("warc-date", ""))
    except (ValueError, OverflowError):
        return file_timestamp_ms
    return int(seconds * 1000) if 0 <= seconds < END_SECONDS else file_timestamp_ms


def _seconds(date: str) -> float:
    """Return the epoch seconds of a date, which may be less precise than times of other pages."""
    try:
        return parse_time(date)
    except ValueError:
        moment = datetime.fromisoformat(date)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
