"""Detect gzip and zstd by the first bytes, for inputs whose name has no known ending."""

import zlib
from collections.abc import Iterator
from itertools import chain

from backports import zstd

__all__ = ["decompress_sniffed"]

_CHUNK_BYTES = 1 << 18
_PIECE_BYTES = 1 << 14
"""Bytes that are given at once: what is behind the end of a member or frame among them is copied."""
_GZIP_MAGIC, _ZSTD_MAGIC = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"


def decompress_sniffed(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the bytes, decompressed if they begin as gzip or zstd does.

    Args:
        chunks: an empty one means that a pipe is silent, and is passed on.

    Raises:
        EOFError: the compressed data is cut off.
        zlib.error: it is damaged gzip.
        zstd.ZstdError: it is damaged zstd.
    """
    beginning = b""
    for chunk in chunks:
        beginning += chunk
        if len(beginning) >= len(_ZSTD_MAGIC):
            break
        if not chunk:
            yield b""
    whole = chain(filter(None, [beginning]), chunks)
    if beginning.startswith(_GZIP_MAGIC):
        yield from _gunzipped(_pieces(whole))
    elif beginning.startswith(_ZSTD_MAGIC):
        yield from _unzstd(_pieces(whole))
    else:
        yield from whole


def _pieces(chunks: Iterator[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        yield chunk[:_PIECE_BYTES]
        for start in range(_PIECE_BYTES, len(chunk), _PIECE_BYTES):
            yield chunk[start : start + _PIECE_BYTES]


def _gunzipped(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield all members; zeros may pad the last one."""
    member = zlib.decompressobj(zlib.MAX_WBITS + 16)
    has_begun = False
    for chunk in chunks:
        if not chunk:
            yield b""
        rest = chunk if has_begun else chunk.lstrip(b"\0")
        while rest:
            has_begun = True
            part = member.decompress(rest, _CHUNK_BYTES)
            if part:
                yield part
            rest = member.unconsumed_tail
            if member.eof:
                rest = member.unused_data.lstrip(b"\0")
                member, has_begun = zlib.decompressobj(zlib.MAX_WBITS + 16), False
        while has_begun and (part := member.decompress(b"", _CHUNK_BYTES)):
            yield part
    if has_begun:
        raise EOFError("the gzip stream is cut off")


def _unzstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield all frames."""
    frame = zstd.ZstdDecompressor()
    has_begun = False
    for chunk in chunks:
        if not chunk:
            yield b""
        rest = chunk
        while rest or (has_begun and not frame.needs_input):
            has_begun = True
            part = frame.decompress(rest, _CHUNK_BYTES)
            rest = b""
            if part:
                yield part
            if frame.eof:
                rest = frame.unused_data
                frame, has_begun = zstd.ZstdDecompressor(), False
    if has_begun:
        raise EOFError("the zstd stream is cut off")
