"""Members of a gzip file, decompressed one after another, also those behind a damaged one."""

import zlib
from collections.abc import Callable, Iterator

from neardup_stream.errors import CorruptData

__all__ = ["decompress_members"]

_CHUNK_BYTES = 1 << 18
_GZIP = zlib.MAX_WBITS + 16
_MAGIC = b"\x1f\x8b\x08"
_KEPT_BYTES = 16 << 20
"""Of a member, compressed: where the members behind it are looked for if it is damaged."""
_PROBED_BYTES = 1 << 12
_HELD_BACK_BYTES = 8
"""Of the output, until the checksum behind it is right: what is damaged ends too early and shows it."""


def decompress_members(
    read: Callable[[int], bytes], begins_member: Callable[[bytes], bool]
) -> Iterator[bytes]:
    """The decompressed bytes of every member, in chunks.

    Args:
        read: the next bytes of the file, at most so many; none at its end.
        begins_member: whether a member may begin with these decompressed bytes, which tells one behind the
            damage from what looks like one.

    Raises:
        CorruptData: at the end, if a member was damaged or cut off, or something else stood between two.
    """
    damage = ""
    rest = read(_CHUNK_BYTES)
    while rest := rest.lstrip(b"\0") or read(_CHUNK_BYTES):
        if rest.startswith(b"\0"):
            continue
        member = _Member(rest, read)
        try:
            yield from member.decompressed()
            rest = member.rest
        except zlib.error as error:
            damage = damage or str(error)
            rest = _next_member(member.kept[1:], read, begins_member)
        except EOFError:
            damage = damage or "a gzip member is cut off"
            break
    if damage:
        raise CorruptData(damage)


class _Member:
    """One member, which begins with the bytes that are given.

    Attributes:
        kept: its compressed bytes, as far as they were read and are not too many.
        rest: what was read behind its end.
    """

    def __init__(self, beginning: bytes, read: Callable[[int], bytes]) -> None:
        self._pieces = [beginning]
        self._room_bytes = _KEPT_BYTES
        self._read = read
        self.rest = b""

    @property
    def kept(self) -> bytes:
        return b"".join(self._pieces)

    def decompressed(self) -> Iterator[bytes]:
        """Its bytes; raises EOFError when it is cut off, and zlib.error when it is damaged."""
        gzip, compressed, held = zlib.decompressobj(_GZIP), self._pieces[0], b""
        while not gzip.eof:
            output = gzip.decompress(compressed, _CHUNK_BYTES)
            compressed = gzip.unconsumed_tail
            held += output
            if len(held) > _HELD_BACK_BYTES:
                yield held[:-_HELD_BACK_BYTES]
                held = held[-_HELD_BACK_BYTES:]
            if not gzip.eof and not compressed and len(output) < _CHUNK_BYTES:
                compressed = self._next_piece()
        self.rest = gzip.unused_data
        yield held

    def _next_piece(self) -> bytes:
        piece = self._read(_CHUNK_BYTES)
        if not piece:
            raise EOFError
        if self._room_bytes > 0:
            self._pieces.append(piece)
            self._room_bytes -= len(piece)
        else:
            self._pieces = [piece]  # of so long a member only the end is searched
        return piece


def _next_member(
    searched: bytes, read: Callable[[int], bytes], begins_member: Callable[[bytes], bool]
) -> bytes:
    """What was read from the beginning of the next member on; empty where there is none."""
    at = 0
    while True:
        at = searched.find(_MAGIC, at)
        if 0 <= at <= len(searched) - _PROBED_BYTES:
            if _is_member(searched[at : at + _PROBED_BYTES], begins_member):
                return searched[at:]
            at += 1
            continue
        more = read(_CHUNK_BYTES)
        if not more:
            return _last_member(searched[at:] if at >= 0 else b"", begins_member)
        searched, at = searched[at if at >= 0 else -len(_MAGIC) :] + more, 0


def _last_member(searched: bytes, begins_member: Callable[[bytes], bool]) -> bytes:
    """The same for the last bytes of the file."""
    while searched and not _is_member(searched, begins_member):
        at = searched.find(_MAGIC, 1)
        searched = searched[at:] if at >= 0 else b""
    return searched


def _is_member(beginning: bytes, begins_member: Callable[[bytes], bool]) -> bool:
    try:
        return begins_member(zlib.decompressobj(_GZIP).decompress(beginning, _PROBED_BYTES))
    except zlib.error:
        return False
