"""The page record: the truth about one page, of which index entries are only hints.

Packed as a MessagePack array, because a million of them live in small Redis hashes and every byte counts.
What can be derived is left out: an id that equals the URL, and the applied offset of the partition that made
the version.
"""

from typing import Self

import msgspec

from neardup_stream.errors import CorruptData
from neardup_stream.message import Partition, Position
from neardup_stream.page import Fingerprint64, PageId

__all__ = ["PageRecord"]

_Applied = tuple[str, int, int]
"""input id, partition number, offset."""


class PageRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What is known of one page.

    Attributes:
        url: as crawled last time the content changed.
        fingerprint: simhash; meaningless where `is_decided` is False.
        text_fingerprint: 64 bits over the whole sequence of tokens: equal means the same text.
        version: from 1; one more whenever the content changes.
        made_by: the position whose content this version is.
        is_decided: whether the page had enough tokens to be judged.
        other_id: the page's id where it differs from the URL, else empty.
        later: last applied offset of every partition that brought this page after `made_by`.
    """

    url: str
    fingerprint: int
    text_fingerprint: int
    version: int
    made_by: _Applied
    is_decided: bool = True
    other_id: str = ""
    later: tuple[_Applied, ...] = ()

    @property
    def id(self) -> PageId:
        """Identity of the page."""
        return PageId(self.other_id or self.url)

    @property
    def fingerprint64(self) -> Fingerprint64:
        """The simhash under its own type."""
        return Fingerprint64(self.fingerprint)

    def is_made_by(self, position: Position) -> bool:
        """Whether this version's content came from `position`."""
        return self.made_by == _applied(position)

    def last_applied(self, partition: Partition) -> int | None:
        """Highest offset of `partition` that this record has seen, None when it never saw one."""
        for input_id, number, offset in (*self.later, self.made_by):
            if input_id == partition.input_id and number == partition.number:
                return offset
        return None

    def seen_again(self, position: Position) -> Self:
        """The same content came from a later position."""
        others = tuple(applied for applied in self.later if applied[:2] != _applied(position)[:2])
        return msgspec.structs.replace(self, later=(*others, _applied(position)))

    def changed_by(self, position: Position, new: Self) -> Self:
        """The next version, with the content of `new`, which came from `position`."""
        earlier = (*(a for a in self.later if a[:2] != self.made_by[:2]), self._made_by_or_later())
        others = tuple(applied for applied in earlier if applied[:2] != _applied(position)[:2])
        return msgspec.structs.replace(
            new, version=self.version + 1, made_by=_applied(position), later=others
        )

    def _made_by_or_later(self) -> _Applied:
        return next((a for a in self.later if a[:2] == self.made_by[:2]), self.made_by)

    @classmethod
    def first(
        cls,
        *,
        page_id: PageId,
        url: str,
        fingerprint: int,
        text_fingerprint: int,
        position: Position,
        is_decided: bool,
    ) -> Self:
        """Version 1 of a page never seen before."""
        return cls(
            url=url,
            fingerprint=fingerprint,
            text_fingerprint=text_fingerprint,
            version=1,
            made_by=_applied(position),
            is_decided=is_decided,
            other_id="" if page_id == url else page_id,
        )

    def pack(self) -> bytes:
        """The stored bytes; equal records pack to equal bytes."""
        return _encoder.encode(self)

    @staticmethod
    def unpack(packed: bytes) -> "PageRecord":
        """Read what `pack` wrote.

        Raises:
            CorruptData: these bytes were not written by `pack`.
        """
        try:
            return _decoder.decode(packed)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CorruptData(f"a page record of {len(packed)} bytes cannot be read: {error}") from error


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(PageRecord)


def _applied(position: Position) -> _Applied:
    return position.partition.input_id, position.partition.number, position.offset
