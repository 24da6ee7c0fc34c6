"""Remove the transfer and content codings that HTTP applied to a body."""

import codecs
import io
import re
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Protocol

from backports import zstd
from fastwarc.stream_io import BrotliReader

from neardup_stream.errors import BadPage
from neardup_stream.streams.gzip_format import GZIP_WINDOW_BITS

__all__ = ["decode_body", "decode_kept", "is_binary"]

_MAX_CODINGS = 8
_MAX_STREAMS = 10_000
_PIECE_BYTES = 1 << 14
_BROTLI_PIECE_BYTES = 1 << 10
"""At most so much of the beginning of a body that is cut off is lost."""
_CONTROL_BYTES = re.compile(rb"[\x00-\x08\x0e-\x1a]")
_LOOKED_AT_BYTES = 512
_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NO_CODINGS = frozenset({"", "identity"})
_AROUND_NAMES = " \t\"'"
_SHOWN_CHARACTERS = 40
_CHUNK_SIZE = re.compile(rb"\s*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")
_CUT_CHUNK_SIZE = re.compile(rb"\s*+[0-9A-Fa-f]{0,15}+[ \t]*+(?:;[^\n]*+)?\r?")
_ZSTD_WINDOW_LOG = 23
"""The largest window that RFC 9659 allows in a content coding."""
_STREAM = re.compile(
    rb"\x1f(?:\Z|\x8b)"
    rb"|\x28(?:\Z|\xb5(?:\Z|\x2f(?:\Z|\xfd)))"
    rb"|[\x50-\x5f](?:\Z|\x2a(?:\Z|\x4d(?:\Z|\x18)))"
)
"""How streams of gzip and zstd begin, and frames that zstd skips, or so much of that as is there.

If such a stream is damaged, the body is.
"""


class _Decompressor(Protocol):
    """Of one stream of zlib or zstd."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Damaged(Exception):  # noqa: N818 - what the body is
    """The body is not in the coding that its label names."""


class _Unfinished(_Damaged):
    """The body begins in that coding and is cut off."""

    def __init__(self, beginning: bytes) -> None:
        super().__init__("it is cut off")
        self.beginning = beginning


class _PerhapsUnfinished(_Damaged):
    """The body is not in that coding, or begins in it and is cut off: the archive knows."""

    def __init__(self, detail: str, beginning: bytes) -> None:
        super().__init__(detail)
        self.beginning = beginning


def is_binary(body: bytes, looked_at_bytes: int) -> bool:
    """Return whether bytes at the beginning of a body are in no text but one of UTF-16 or UTF-32."""
    return _CONTROL_BYTES.search(body, 0, looked_at_bytes) is not None


def decode_body(body: bytes, codings: str, max_bytes: int, *, may_be_cut: bool = False) -> bytes:
    """Undo `codings`, and return at most `max_bytes` of the result.

    Many archives hold decoded bodies under their original headers, so a body that cannot be decoded but looks
    like text is returned unchanged. Unknown codings are skipped if what remains looks like text.

    Args:
        body: as archived.
        codings: the headers' values, comma separated, in the order in which they were applied.
        max_bytes: limit of the result, so that a small body cannot expand into a large one.
        may_be_cut: return the beginning of a body that the archive marks as truncated.

    Raises:
        BadPage: the body is compressed, and damaged or cut off; or in a coding that is unknown; or has more
            codings than any server applies.
    """
    names = _names(codings)
    for coding in _outermost_first(names):
        try:
            body = _undo(coding, body, max_bytes, may_be_cut=may_be_cut)
        except _Damaged as damaged:
            if not _looks_like_text(body):
                raise _bad_page(coding, damaged) from damaged
    unknown = [name for name in names if name not in _DECODERS]
    if unknown and not _looks_like_text(body):
        raise BadPage(
            "bad_encoding", f"the body is labelled {unknown[0][:_SHOWN_CHARACTERS]}, which is unknown"
        )
    return body


def _looks_like_text(body: bytes) -> bool:
    return body.startswith(_UTF_16_MARKS) or not is_binary(body, _LOOKED_AT_BYTES)


def decode_kept(body: bytes, codings: str, max_bytes: int, *, may_be_cut: bool = False) -> bytes:
    """Undo those of `codings` that a crawler has left, which undid others and renamed the header of all.

    A body that looks like text, or is in none of them, is returned unchanged. The arguments are those of
    `decode_body`.

    Raises:
        BadPage: the body is compressed and cut off; or has more codings than any server applies.
    """
    for coding in _outermost_first(_names(codings)):
        if is_binary(body, _LOOKED_AT_BYTES):
            with suppress(_Damaged):
                body = _undo(coding, body, max_bytes, may_be_cut=may_be_cut) or body
    return body


def _names(codings: str) -> list[str]:
    """Return the codings without their parameters, and without quotes, which some servers write.

    Of `chunked` the last one counts: RFC 9112 forbids to apply it twice, but proxies state it again.
    """
    values = (coding.partition(";")[0].strip(_AROUND_NAMES) for coding in codings.lower().split(","))
    names = [name for name in values if name not in _NO_CODINGS]
    last = max((at for at, name in enumerate(names) if name == "chunked"), default=-1)
    return [name for at, name in enumerate(names) if name != "chunked" or at == last]


def _outermost_first(names: Sequence[str]) -> Sequence[str]:
    applied = [name for name in names if name in _DECODERS]
    if len(applied) > _MAX_CODINGS:
        raise BadPage("over_limit", f"the body is in {len(applied)} codings, the limit is {_MAX_CODINGS}")
    return applied[::-1]


def _undo(coding: str, body: bytes, max_bytes: int, *, may_be_cut: bool) -> bytes:
    """Undo one coding; raise `_Damaged` for a body that is not in it, BadPage for one that is cut off."""
    try:
        return _DECODERS[coding](body, max_bytes)
    except _Unfinished as unfinished:
        if may_be_cut:
            return unfinished.beginning
        raise _bad_page(coding, unfinished) from unfinished
    except _PerhapsUnfinished as doubtful:
        if may_be_cut:
            return doubtful.beginning
        raise


def _bad_page(coding: str, damaged: _Damaged) -> BadPage:
    return BadPage("bad_encoding", f"the body is labelled {coding}: {damaged}")


def _expand(
    body: bytes, max_bytes: int, new_stream: Callable[[], _Decompressor], fault: type[Exception]
) -> bytes:
    """Return the decompressed streams, concatenated as gzip and zstd allow; junk behind the last is ignored.

    Args:
        body: of streams one behind the other.
        max_bytes: limit of the result.
        new_stream: begins one.
        fault: what it raises for bytes that are no stream.
    """
    decoded, at = bytearray(), 0
    if not body:
        return b""
    for number in count(1):
        may_be_junk = at > 0 and not _STREAM.match(body, at)
        try:
            stream, at, is_whole = _expand_stream(body, at, max_bytes - len(decoded), new_stream())
        except fault as error:
            if may_be_junk:
                break
            raise _Damaged(str(error)) from error
        if may_be_junk and not is_whole and not stream:
            break
        if number > _MAX_STREAMS:
            raise BadPage("over_limit", f"the body has more than {_MAX_STREAMS} compressed streams")
        decoded += stream
        if not is_whole and len(decoded) < max_bytes:
            raise _Unfinished(bytes(decoded))
        if at >= len(body) or len(decoded) >= max_bytes:
            break
    return bytes(decoded)


def _expand_stream(body: bytes, at: int, max_bytes: int, stream: _Decompressor) -> tuple[bytes, int, bool]:
    """Return a stream that begins there, decompressed, where it ends, and whether it does.

    It is given in pieces, because what is behind its end is copied.
    """
    parts, room_bytes = list[bytes](), max_bytes
    while at < len(body) and room_bytes > 0 and not stream.eof:
        piece = body[at : at + _PIECE_BYTES]
        part = stream.decompress(piece, room_bytes)
        parts.append(part)
        room_bytes -= len(part)
        at += len(piece) - len(stream.unused_data)
    return b"".join(parts), at, stream.eof


def _gzip(body: bytes, max_bytes: int) -> bytes:
    return _inflate(body, max_bytes, GZIP_WINDOW_BITS)


def _inflate(body: bytes, max_bytes: int, window_bits: int) -> bytes:
    return _expand(body, max_bytes, lambda: zlib.decompressobj(window_bits), zlib.error)


def _deflate(body: bytes, max_bytes: int) -> bytes:
    """Return the decompressed body, with zlib's header, or without, as some servers send it."""
    try:
        return _inflate(body, max_bytes, zlib.MAX_WBITS)
    except _Unfinished:
        raise
    except _Damaged:
        pass
    try:
        return _inflate(body, max_bytes, -zlib.MAX_WBITS)
    except _Unfinished as unfinished:  # text without a header may look like this too
        raise _doubtful(str(unfinished), body, unfinished.beginning) from unfinished


def _doubtful(detail: str, body: bytes, beginning: bytes) -> _Damaged:
    """Return what a body is of which something was decoded: cut off only where text has come out of it."""
    may_be_cut = beginning and _looks_like_text(beginning) and not _looks_like_text(body)
    return _PerhapsUnfinished(detail, beginning) if may_be_cut else _Damaged(detail)


def _zstd(body: bytes, max_bytes: int) -> bytes:
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
    return _expand(body, max_bytes, lambda: zstd.ZstdDecompressor(options=options), zstd.ZstdError)


def _brotli(body: bytes, max_bytes: int) -> bytes:
    reader, parts = BrotliReader(io.BytesIO(body)), list[bytes]()
    try:
        while max_bytes > 0 and (part := reader.read(min(max_bytes, _BROTLI_PIECE_BYTES))):
            parts.append(part)
            max_bytes -= len(part)
    except OSError as error:
        raise _doubtful(str(error), body, b"".join(parts)) from error
    return b"".join(parts)


def _chunked(body: bytes, max_bytes: int) -> bytes:
    """Return the chunks up to the empty one, which some servers omit."""
    parts: list[bytes] = []
    at = 0
    while max_bytes > 0 and at < len(body):
        size = _CHUNK_SIZE.match(body, at)
        if size is None:
            if parts and body[at:].strip() in {b"", b"0"}:
                break
            if parts and _CUT_CHUNK_SIZE.fullmatch(body, at):
                raise _Unfinished(b"".join(parts))
            raise _Damaged("there is no chunk")
        size_bytes = int(size[1], 16)
        if size_bytes == 0:
            break
        part = body[size.end() : size.end() + size_bytes]
        parts.append(part[:max_bytes])
        max_bytes -= len(part)
        if len(part) < size_bytes and max_bytes > 0:
            if len(parts) > 1:
                raise _Unfinished(b"".join(parts))
            # A single number before a text does not prove that the text is chunked, and one that a bare line
            # feed follows is none of a chunk.
            if size[0].endswith(b"\r\n"):
                raise _PerhapsUnfinished("its only chunk is cut off", part)
            raise _Damaged("its only chunk is cut off")
        at = size.end() + size_bytes
    return b"".join(parts)


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "chunked": _chunked,
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
