"""Parse an HTTP response as an archive stores it: status, headers, body."""

import re
from dataclasses import dataclass
from typing import Final

from neardup_stream.errors import BadPage
from neardup_stream.streams.files.warc_framing import parse_headers

__all__ = ["MAX_HTTP_HEAD_BYTES", "RENAMED", "HttpResponse", "parse_response", "split_response"]

RENAMED: Final = "x-crawler-content-encoding"
"""What Nutch and StormCrawler make of `Content-Encoding`, also where they do not know the coding."""

MAX_HTTP_HEAD_BYTES = 1 << 18
"""The longest status line and headers: several times the limits of servers and browsers."""

_LISTS = frozenset({"content-encoding", "transfer-encoding", RENAMED})
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"HTTP/[0-9.]+[ \t]+([0-9]{3})(?![0-9])")


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """One response.

    Attributes:
        status: None if the status line has none.
        headers: by name in lower case; the lines of codings in one, of other equal names the first.
        body: in its transfer and content coding.
    """

    status: int | None
    headers: dict[str, str]
    body: bytes


def parse_response(block: bytes) -> HttpResponse:
    """Split a response into its parts.

    Raises:
        BadPage: it is no response, or its headers have no end within the limit.
    """
    head, body = split_response(block)
    status = _STATUS.match(head)
    return HttpResponse(int(status[1]) if status else None, parse_headers(head, _LISTS), body)


def split_response(block: bytes) -> tuple[bytes, bytes]:
    """Return status line and headers, with the empty line behind them, and the body.

    Raises:
        BadPage: it is no response, or its headers have no end within the limit.
    """
    if not block.startswith(b"HTTP/"):
        raise BadPage("bad_encoding", "the record holds no HTTP response")
    end = _HEAD_END.search(block, 0, MAX_HTTP_HEAD_BYTES)
    if end is None and len(block) >= MAX_HTTP_HEAD_BYTES:
        raise BadPage("over_limit", f"the HTTP headers have more than {MAX_HTTP_HEAD_BYTES} bytes")
    if end is None:
        raise BadPage("bad_encoding", "the HTTP headers are cut off")
    return block[: end.end()], block[end.end() :]
