"""Decompress the members of a gzip file one by one, including those after a damaged one."""

import zlib
from collections.abc import Callable, Iterator

from neardup_stream.errors import CorruptData
from neardup_stream.streams.gzip_format import GZIP_WINDOW_BITS

__all__ = ["decompress_members"]

_CHUNK_BYTES = 1 << 18
_MAGIC = b"\x1f\x8b\x08"
_KEPT_BYTES = 16 << 20
"""Compressed bytes of a member that are kept, to search for the next members if it is damaged."""
_PROBED_BYTES = 1 << 12
_HELD_BACK_BYTES = 8
"""Bytes of the output that are held back until the checksum after it is verified, so that damaged data is
visibly truncated.
"""


def decompress_members(
    read: Callable[[int], bytes], begins_member: Callable[[bytes], bool], on_member: Callable[[], None]
) -> Iterator[bytes]:
    """Yield the decompressed bytes of every member, in chunks.

    Args:
        read: returns the next bytes of the file, at most so many; none at its end.
        begins_member: returns whether a member may begin with these decompressed bytes, which distinguishes
            the next member after damage from bytes that look like one.
        on_member: called before the first bytes of each member.

    Raises:
        CorruptData: at the end, if a member was damaged or cut off, or other data was between two members.
    """
    damage = ""
    rest = read(_CHUNK_BYTES)
    while rest := rest.lstrip(b"\0") or read(_CHUNK_BYTES):
        if rest.startswith(b"\0"):
            continue
        member = _Member(rest, read)
        on_member()
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
    """One member, which begins with the given bytes.

    Attributes:
        kept: its compressed bytes read so far, up to a limit.
        rest: bytes that were read after its end.
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
        """Yield its bytes; raise EOFError if it is cut off, and zlib.error if it is damaged."""
        gzip, compressed, held = zlib.decompressobj(GZIP_WINDOW_BITS), self._pieces[0], b""
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
            self._pieces = [piece]  # of such a long member only the end is searched
        return piece


def _next_member(
    searched: bytes, read: Callable[[int], bytes], begins_member: Callable[[bytes], bool]
) -> bytes:
    """Return the bytes from the beginning of the next member; empty if there is none."""
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
    """Return the same for the last bytes of the file."""
    while searched and not _is_member(searched, begins_member):
        at = searched.find(_MAGIC, 1)
        searched = searched[at:] if at >= 0 else b""
    return searched


def _is_member(beginning: bytes, begins_member: Callable[[bytes], bool]) -> bool:
    try:
        return begins_member(zlib.decompressobj(GZIP_WINDOW_BITS).decompress(beginning, _PROBED_BYTES))
    except zlib.error:
        return False
