"""Read what the paths of fields cannot say of a document of Nutch's `commoncrawldump`.

Source: Nutch 1.20, `AbstractCommonCrawlFormat`; commons-httpclient 3.1, `URIUtil.encodePath`.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote

import msgspec
from msgspec import UNSET, Raw, UnsetType

from neardup_stream.message import Skipped
from neardup_stream.wire.content_types import is_text_type

__all__ = ["decoded_url", "dumped_fields"]

_NULL = b"null"

_ALLOWED: Final = "!$&'()*,/:;=@"
"""What `encodePath` leaves as it is, beside letters, digits and `_.-~`."""

_LONGEST_URL: Final = 64 * 1024
"""Characters of a URL that is decoded: a megabyte takes seconds."""

_MOST_MS_DIGITS: Final = 14
"""Of a time in milliseconds of epoch, until the year 5138."""


class _Response(msgspec.Struct):
    """What the server answered; headers are a list of pairs where the dump was made with `-jsonArray`."""

    body: Raw | UnsetType = UNSET
    headers: dict[str, str | None] | list[tuple[str, str | None]] = msgspec.field(default_factory=dict)


_RESPONSES = msgspec.json.Decoder(_Response)
_STRINGS = msgspec.json.Decoder(str)


def dumped_fields(page: Mapping[str, Raw], found: Mapping[str, Raw]) -> Mapping[str, Raw] | Skipped:
    """Return the URL and the time of a document of the dump; that it is skipped if its body is no text.

    The dump encodes the whole URL as if it were a path, and has bodies of every media type.

    Args:
        page: as Nutch wrote it; a document of its index writers has neither.
        found: its fields under our names, not used.
    """
    del found
    if "response" not in page or "url" not in page:
        return {}
    try:
        response, url = _RESPONSES.decode(page["response"]), _STRINGS.decode(page["url"])
    except msgspec.DecodeError:  # no document of the dump
        return {}
    if response.body is UNSET or memoryview(response.body) == _NULL:
        return {}
    headers = dict(response.headers)
    if not is_text_type(headers.get("Content-Type")):
        return Skipped("content_type")
    fields = {}
    if page.get("key") != page["url"]:  # the key is the URL as crawled, where no option makes it another one
        fields["url"] = Raw(msgspec.json.encode(decoded_url(url)))
    milliseconds = headers.get("nutch.fetch.time") or ""
    if milliseconds.isdecimal() and len(milliseconds) <= _MOST_MS_DIGITS:
        fields["fetched_at"] = Raw(msgspec.json.encode(int(milliseconds) / 1000))
    return fields


def decoded_url(url: str) -> str:
    """Return a URL as it was before `encodePath`; what it cannot have returned, or is too long, as it is.

    >>> decoded_url("http://a.example/b%3Fc=%2520"), decoded_url("http://a.example/b?c=%20")
    ('http://a.example/b?c=%20', 'http://a.example/b?c=%20')
    """
    if len(url) > _LONGEST_URL:
        return url
    decoded = unquote(url)
    return decoded if quote(decoded, safe=_ALLOWED) == url else url
