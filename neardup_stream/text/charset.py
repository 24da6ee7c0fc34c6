"""Decode a body to text by its byte order mark, else by its label, else by its content."""

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

__all__ = ["DecodedBody", "decode_body"]

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CHARSET_PARAMETER = re.compile(r"""charset\s*=\s*["']?([^\s"';]+)""", re.IGNORECASE)


class DecodedBody(NamedTuple):
    """A body as text.

    Attributes:
        text: without byte order mark; undecodable bytes become U+FFFD.
        fell_back: a label was unknown or wrong, or bytes were replaced.
    """

    text: str
    fell_back: bool


def decode_body(body: bytes, charset: str | None, content_type: str | None) -> DecodedBody:
    """Decode a body; never fails.

    A byte order mark takes precedence, then the label (as browsers interpret it: latin-1 means windows-1252)
    if every byte is valid in it. Otherwise: UTF-8 if the body is valid UTF-8, else the charset of a `meta`
    element, unless that is UTF-16, else a guess from the bytes.

    Args:
        body: as fetched.
        charset: the crawler's label; takes precedence over the one in `content_type`.
        content_type: media type, optionally with a `charset` parameter.
    """
    for mark, codec in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return _replacing(body[len(mark) :], codec, fell_back=False)
    label = charset or _charset_parameter(content_type)
    for codec, fell_back in _candidates(body, label):
        try:
            return DecodedBody(body.decode(codec), fell_back)
        except UnicodeDecodeError:
            continue
    return _replacing(body, _detected(body), fell_back=True)


def _candidates(body: bytes, label: str | None) -> Iterator[tuple[str, bool]]:
    """Yield the codecs to try in order, each with whether its use means that the label was unusable."""
    if label and (known := _codec_of(label)):
        yield known, False
    if not body.isascii():  # else it may be a charset with escape sequences
        yield "utf-8", label is not None
    yield _detected(body), label is not None


def _codec_of(label: str) -> str | None:
    """Return the codec that browsers use for a label.

    Hyphens and underscores are equivalent, as in `latin-1`.
    """
    label = label.encode("utf-8", "replace").decode()  # half of a character is in no label
    spellings = (label, label.replace("_", "-"), label.replace("-", "").replace("_", ""))
    codecs_known = (map_encoding_to_html5(spelling, fallback_utf8=False) for spelling in spellings)
    return next(filter(None, codecs_known), None)


def _detected(body: bytes) -> str:
    """Return the charset of a `meta` element, else a guess.

    An element that can be read says in vain that it is in UTF-16.
    """
    found = str(detect_encoding(body, from_html_meta=True))
    return str(detect_encoding(body, from_html_meta=False)) if found.startswith("utf-16") else found


def _replacing(body: bytes, codec: str, *, fell_back: bool) -> DecodedBody:
    text = body.decode(codec, "replace")
    return DecodedBody(text, fell_back or "\ufffd" in text)


def _charset_parameter(content_type: str | None) -> str | None:
    found = _CHARSET_PARAMETER.search(content_type or "")
    return found[1] if found else None
