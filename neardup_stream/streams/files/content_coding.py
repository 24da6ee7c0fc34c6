"""What HTTP wrapped around a body: chunks and compression, taken off again."""

import io
import re
import zlib
from collections.abc import Callable

from backports import zstd
from fastwarc.stream_io import BrotliReader

from neardup_stream.errors import BadPage

__all__ = ["decode_body"]

_MAX_CODINGS = 8
_CONTROL_BYTES = re.compile(rb"[\x00-\x08\x0e-\x1a]")
_LOOKED_AT_BYTES = 512
_CHUNK_SIZE = re.compile(rb"\s*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")
_ZSTD_WINDOW_LOG = 23
"""The largest that RFC 9659 lets a content coding have."""


class _Damaged(Exception):  # noqa: N818 - what the body is
    """The body is not in the coding that its label names."""


class _Unfinished(_Damaged):
    """The body begins in that coding and is cut off."""

    def __init__(self, beginning: bytes) -> None:
        super().__init__("it is cut off")
        self.beginning = beginning


def decode_body(body: bytes, codings: str, max_bytes: int, *, may_be_cut: bool = False) -> bytes:
    """Undo `codings`, at most `max_bytes` of the result.

    Many archives hold bodies already decoded under their original headers, so a body that cannot be
    decoded but reads like text is taken as it is. Unknown codings (`identity` among them) are passed over.

    Args:
        body: as archived.
        codings: the headers' values, comma separated, in the order in which they were applied.
        max_bytes: where to stop, so that a small body cannot unfold into a large one.
        may_be_cut: take what is there of a body that the archive says it has cut.

    Raises:
        BadPage: compressed, and damaged or cut off; or in more codings than any server applies.
    """
    named = [name.strip() for name in codings.lower().split(",")]
    applied = [name for name in named if name in _DECODERS]
    if len(applied) > _MAX_CODINGS:
        raise BadPage("over_limit", f"the body is in {len(applied)} codings, the limit is {_MAX_CODINGS}")
    for coding in reversed(applied):
        body = _undo(coding, body, max_bytes, may_be_cut=may_be_cut)
    return body


def _undo(coding: str, body: bytes, max_bytes: int, *, may_be_cut: bool) -> bytes:
    try:
        return _DECODERS[coding](body, max_bytes)
    except _Damaged as damaged:
        if isinstance(damaged, _Unfinished) and may_be_cut:
            return damaged.beginning
        if isinstance(damaged, _Unfinished) or _CONTROL_BYTES.search(body, 0, _LOOKED_AT_BYTES):
            raise BadPage("bad_encoding", f"the body is labelled {coding}: {damaged}") from damaged
        return body


def _inflate(body: bytes, max_bytes: int, window_bits: int) -> bytes:
    """One stream behind another, as gzip allows; what follows the last one is passed over."""
    parts: list[bytes] = []
    while body and max_bytes > 0:
        inflater = zlib.decompressobj(window_bits)
        try:
            part = inflater.decompress(body, max_bytes)
        except zlib.error as error:
            if parts:
                break
            raise _Damaged(str(error)) from error
        parts.append(part)
        max_bytes -= len(part)
        if not inflater.eof and max_bytes > 0:
            raise _Unfinished(b"".join(parts))
        body = inflater.unused_data
    return b"".join(parts)


def _gzip(body: bytes, max_bytes: int) -> bytes:
    return _inflate(body, max_bytes, zlib.MAX_WBITS + 16)


def _deflate(body: bytes, max_bytes: int) -> bytes:
    """With zlib's header, as the standard has it, or without, as some servers send it."""
    try:
        return _inflate(body, max_bytes, zlib.MAX_WBITS)
    except _Unfinished:
        raise
    except _Damaged:
        pass
    try:
        return _inflate(body, max_bytes, -zlib.MAX_WBITS)
    except _Unfinished as unfinished:  # without a header, text may look so too
        raise _Damaged(str(unfinished)) from unfinished


def _zstd(body: bytes, max_bytes: int) -> bytes:
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
    decompressor = zstd.ZstdDecompressor(options=options)
    try:
        decoded = decompressor.decompress(body, max_bytes)
    except zstd.ZstdError as error:
        raise _Damaged(str(error)) from error
    if not decompressor.eof and len(decoded) < max_bytes:
        raise _Unfinished(decoded)
    return decoded


def _brotli(body: bytes, max_bytes: int) -> bytes:
    reader, parts = BrotliReader(io.BytesIO(body)), list[bytes]()
    try:
        while max_bytes > 0 and (part := reader.read(max_bytes)):
            parts.append(part)
            max_bytes -= len(part)
    except OSError as error:
        raise _Damaged(str(error)) from error
    return b"".join(parts)


def _chunked(body: bytes, max_bytes: int) -> bytes:
    """Chunks up to the empty one; servers that leave that out are common, and lose nothing."""
    parts: list[bytes] = []
    at = 0
    while max_bytes > 0 and at < len(body):
        size = _CHUNK_SIZE.match(body, at)
        if size is None:
            if parts and not body[at:].strip():
                break
            raise _Damaged("there is no chunk")
        size_bytes = int(size[1], 16)
        if size_bytes == 0:
            break
        part = body[size.end() : size.end() + size_bytes]
        parts.append(part[:max_bytes])
        max_bytes -= len(part)
        if len(part) < size_bytes and max_bytes > 0:
            # One number in front of a text is no proof that it came in chunks.
            raise _Unfinished(b"".join(parts)) if len(parts) > 1 else _Damaged("its only chunk is cut off")
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
