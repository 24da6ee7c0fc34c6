"""Detect gzip and zstd by the first bytes, for inputs whose name has no known ending."""

import zlib
from collections.abc import Iterator
from itertools import chain
from typing import Protocol

from backports import zstd

from neardup_stream.streams.gzip_format import GZIP_WINDOW_BITS

__all__ = ["decompress_sniffed"]

_CHUNK_BYTES = 1 << 18
_PIECE_BYTES = 1 << 14
"""Bytes that are given at once: what is behind the end of a member or frame among them is copied."""
_GZIP_MAGIC, _ZSTD_MAGIC = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = tuple(bytes([first]) + b"\x2a\x4d\x18" for first in range(0x50, 0x60))
"""How a frame without content begins, as that with the dictionary of a WARC file."""


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
        yield from _decompressed(whole, _Gzip())
    elif beginning.startswith((_ZSTD_MAGIC, *_ZSTD_SKIPPABLE)):
        yield from _decompressed(whole, _Zstd())
    else:
        yield from whole


class _Streams(Protocol):
    """Compressed streams, one behind the other, given in pieces."""

    def decompressed(self, piece: bytes) -> Iterator[bytes]:
        """Yield what the next piece holds, at most `_CHUNK_BYTES` at a time."""
        ...

    def finish(self) -> None:
        """Raise EOFError where a stream has no end."""
        ...


def _decompressed(chunks: Iterator[bytes], streams: _Streams) -> Iterator[bytes]:
    """Yield the bytes of all streams; those before damage precede its error."""
    gathered = bytearray()
    try:
        for chunk in chunks:
            if not chunk:
                yield b""
            for start in range(0, len(chunk), _PIECE_BYTES):
                for part in streams.decompressed(chunk[start : start + _PIECE_BYTES]):
                    gathered += part
                    if len(gathered) >= _CHUNK_BYTES:
                        yield bytes(gathered)
                        gathered.clear()
            if gathered:
                yield bytes(gathered)
                gathered.clear()
    except (zlib.error, zstd.ZstdError):
        if gathered:
            yield bytes(gathered)
        raise
    streams.finish()


class _Gzip:
    """Members of gzip; zeros may pad the last one."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(GZIP_WINDOW_BITS)
        self._has_begun = False

    def decompressed(self, piece: bytes) -> Iterator[bytes]:
        rest = piece if self._has_begun else piece.lstrip(b"\0")
        while rest:
            self._has_begun = True
            if part := self._member.decompress(rest, _CHUNK_BYTES):
                yield part
            rest = self._member.unconsumed_tail
            if self._member.eof:
                rest = self._member.unused_data.lstrip(b"\0")
                self._member, self._has_begun = zlib.decompressobj(GZIP_WINDOW_BITS), False
        while self._has_begun and (part := self._member.decompress(b"", _CHUNK_BYTES)):
            yield part

    def finish(self) -> None:
        if self._has_begun:
            raise EOFError("the gzip stream is cut off")


class _Zstd:
    """Frames of zstd."""

    def __init__(self) -> None:
        self._frame = zstd.ZstdDecompressor()
        self._has_begun = False

    def decompressed(self, piece: bytes) -> Iterator[bytes]:
        rest = piece
        while rest or (self._has_begun and not self._frame.needs_input):
            self._has_begun = True
            part = self._frame.decompress(rest, _CHUNK_BYTES)
            rest = b""
            if part:
                yield part
            if self._frame.eof:
                rest = self._frame.unused_data
                self._frame, self._has_begun = zstd.ZstdDecompressor(), False

    def finish(self) -> None:
        if self._has_begun:
            raise EOFError("the zstd stream is cut off")
