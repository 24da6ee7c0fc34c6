"""Bound the decompression of batches, and the headers of their records.

A batch of 16 KB can expand to 512 MiB, and aiokafka decompresses it before its size can be checked. So its
codecs are replaced by those of this module, which stop at a limit. A batch above the limit is never
decompressed: each of its records is rejected, and stays in the topic. Those for the parser in C also stop at
records with too many headers.
"""

import zlib
from collections.abc import Callable
from typing import Final, Self, TypeAlias

import cramjam
from aiokafka.errors import CorruptRecordException
from backports.zstd import ZstdDecompressor, ZstdError

from neardup_stream.errors import BadPage
from neardup_stream.streams.gzip_format import GZIP_WINDOW_BITS
from neardup_stream.streams.kafka.config import DEFAULT_MAX_EXPANDED_BYTES
from neardup_stream.streams.kafka.record_headers import has_many_headers

__all__ = ["ExpansionExceeded", "HeadersExceeded", "RefusedValue", "bounded_codecs", "without_many_headers"]

_LZ4_LARGEST_RATIO = 255
_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES = 16


Expand: TypeAlias = Callable[[bytes | memoryview], bytes]


class ExpansionExceeded(Exception):  # noqa: N818 - what a batch does
    """A batch would expand to more than the limit."""


class HeadersExceeded(Exception):  # noqa: N818 - what a record does
    """A record has more headers than the limit."""


class RefusedValue(bytes):
    """The value of a record that is refused unread; empty if it was not decompressed.

    Attributes:
        refusal: why.
    """

    refusal: BadPage

    def __new__(cls, refusal: BadPage, value: bytes = b"") -> Self:
        """Return the value with the reason of the refusal."""
        refused = super().__new__(cls, value)
        refused.refusal = refusal
        return refused

    @classmethod
    def of_batch(cls) -> Self:
        """Return the value of a record whose batch is too large."""
        words = f"its batch expands to more than limits.max_expanded_bytes = {_limit[0]}"
        return cls(BadPage("over_limit", words, "max_expanded_bytes"))


_limit = [DEFAULT_MAX_EXPANDED_BYTES]


def bounded_codecs(max_expanded_bytes: int) -> dict[str, Expand]:
    """Return decompressing functions, by codec; they share one limit, which the last call sets.

    Args:
        max_expanded_bytes: the most that a batch may expand to.
    """
    _limit[0] = max_expanded_bytes
    return {codec: _bounded(expand) for codec, expand in _CODECS.items()}


def without_many_headers(expand: Expand, most: int) -> Expand:
    """Return a decompressing function that raises `HeadersExceeded` for a record with more headers."""

    def checked(payload: bytes | memoryview) -> bytes:
        expanded = expand(payload)
        if has_many_headers(expanded, most):
            raise HeadersExceeded
        return expanded

    return checked


def _bounded(expand: Callable[[bytes, int], bytes]) -> Expand:
    def bounded(payload: bytes | memoryview) -> bytes:
        try:
            expanded = expand(bytes(payload), _limit[0])
        except (cramjam.DecompressionError, ZstdError, zlib.error, EOFError) as error:
            raise CorruptRecordException(f"a compressed batch is damaged: {error}") from error
        if len(expanded) > _limit[0]:
            raise ExpansionExceeded
        return expanded

    return bounded


def _expand_gzip(payload: bytes, limit_bytes: int) -> bytes:
    expanded = bytearray()
    while payload and len(expanded) <= limit_bytes:
        member = zlib.decompressobj(GZIP_WINDOW_BITS)
        expanded += member.decompress(payload, limit_bytes + 1 - len(expanded))
        if not member.eof and len(expanded) <= limit_bytes:
            raise EOFError("the compressed batch ends too early")
        payload = member.unused_data
    return bytes(expanded)


def _expand_zstd(payload: bytes, limit_bytes: int) -> bytes:
    expanded = bytearray()
    while payload and len(expanded) <= limit_bytes:
        frame = ZstdDecompressor()
        expanded += frame.decompress(payload, limit_bytes + 1 - len(expanded))
        if not frame.eof and len(expanded) <= limit_bytes:
            raise ZstdError("the compressed batch ends too early")
        payload = frame.unused_data if frame.eof else b""
    return bytes(expanded)


def _expand_lz4(payload: bytes, limit_bytes: int) -> bytes:
    if len(payload) * _LZ4_LARGEST_RATIO <= limit_bytes:
        return bytes(cramjam.lz4.decompress(payload))
    room = bytearray(limit_bytes + 1)
    try:
        size_bytes = cramjam.lz4.decompress_into(payload, room)
    except cramjam.DecompressionError as error:
        if "whole buffer" in str(error):
            raise ExpansionExceeded from error
        raise
    return bytes(memoryview(room)[:size_bytes])


def _expand_snappy(payload: bytes, limit_bytes: int) -> bytes:
    """Decompress snappy; each block states its decompressed size."""
    if not payload.startswith(_XERIAL_MAGIC):
        return _expand_block(payload, limit_bytes)
    expanded = bytearray()
    at = _XERIAL_HEADER_BYTES
    while at < len(payload) and len(expanded) <= limit_bytes:
        size_bytes = int.from_bytes(payload[at : at + 4], "big")
        at += 4
        expanded += _expand_block(payload[at : at + size_bytes], limit_bytes)
        at += size_bytes
    return bytes(expanded)


def _expand_block(block: bytes, limit_bytes: int) -> bytes:
    if cramjam.snappy.decompress_raw_len(block) > limit_bytes:
        raise ExpansionExceeded
    return bytes(cramjam.snappy.decompress_raw(block))


_CODECS: Final = {
    "gzip": _expand_gzip,
    "snappy": _expand_snappy,
    "lz4": _expand_lz4,
    "zstd": _expand_zstd,
}
