"""The page record: the truth about one page, of which index entries are only hints.

    rank, 6 bytes big-endian │ version & 0xFF │ MessagePack array of the other fields

A million of them live in small Redis hashes, so every byte counts: fields that still have their default are
left out from the end, and so are an id that equals the URL and the applied offset of the partition that made
the version. The header has a fixed place, so that a decision writes its rank without reading the record.

The life of a page:

    live, short, archived ──► expiring ──► gone ──► dropped
              └──────── forgotten ───────┘

A page that comes back, at any point of it, comes back with a higher version.
"""

from typing import Literal, Self

import msgspec

from neardup_stream.errors import CorruptData
from neardup_stream.message import Partition, Position
from neardup_stream.page import Fingerprint64, PageId

__all__ = ["LATER_PARTITIONS", "PageRecord", "PageState", "record_header"]

PageState = Literal["live", "short", "expiring", "gone", "archived"]
"""live: indexed, others may match it. short: too few tokens to be judged. expiring: still live, but about to
go. gone: forgotten or expired; a stub that remembers the version and the offsets. archived: like pages of
frozen archives, and left to them; not indexed."""

_Applied = tuple[str, int, int]
"""input id, partition number, offset."""

LATER_PARTITIONS = 4
"""A page comes in one partition of a topic; each file it comes in again is another one."""

_RANK_BYTES = 6
_HEADER_BYTES = _RANK_BYTES + 1
_CONTENT_MASK = 0xFFFF_FFFF


class PageRecord(msgspec.Struct, frozen=True, array_like=True, kw_only=True, gc=False):
    """What is known of one page.

    Attributes:
        url: as crawled last time the content changed.
        fingerprint: simhash; 0 for a page that is short, gone or archived.
        text_fingerprint: 64 bits over the whole sequence of tokens: equal means the same text; 0 when gone.
        version: from 1; one more whenever the content changes, the page is forgotten, or it comes back.
        made_by: the position whose content this version is.
        seen_seconds: when the page was last seen, or went, by the clock of the process; epoch seconds.
        sketch: of the content; empty for a page that is short, gone or archived.
        shingle_count: shingles of the content, repeats included; 0 where there is no sketch.
        bands: band words, 4 bytes each, big-endian; empty where there is no sketch. Of the content, or of the
            whole text where next to no content is left.
        whole: of the whole text, see `fingerprints.framed`; empty where no frame was taken out.
        whole_count: shingles of the whole text, repeats included; 0 where no frame was taken out.
        whole_bands: band words of the whole text, where the index has them beside those of the content.
        other_id: the page's id where it differs from the URL, else empty.
        later: last applied offset of the partitions that brought this page after `made_by`, the latest last;
            at most LATER_PARTITIONS of them.
        scope: within what the page is compared; empty for everything.
        state: where the page is in its life.
        is_return: whether the page was known before and went: subscribers may hold an earlier version, which
            the clusters have forgotten.
        claimed: the positions that made this version, or claimed it, before `made_by` did; the latest last.
        rank: when this version was decided, below 2**48; 0 while it was not.
    """

    url: str
    fingerprint: int
    text_fingerprint: int
    version: int
    made_by: _Applied
    seen_seconds: int
    sketch: bytes = b""
    shingle_count: int = 0
    bands: bytes = b""
    whole: bytes = b""
    whole_count: int = 0
    whole_bands: bytes = b""
    # The rarer a field is set, the further back: defaults are left out from the end.
    other_id: str = ""
    later: tuple[_Applied, ...] = ()
    scope: str = ""
    state: PageState = "live"
    is_return: bool = False
    claimed: tuple[_Applied, ...] = ()
    rank: int = 0

    @property
    def id(self) -> PageId:
        """Identity of the page."""
        return PageId(self.other_id or self.url)

    @property
    def fingerprint64(self) -> Fingerprint64:
        """The simhash under its own type."""
        return Fingerprint64(self.fingerprint)

    @property
    def content(self) -> int:
        """Digest of the text, 32 bits: of one page, versions with different digests have different texts."""
        return self.text_fingerprint & _CONTENT_MASK

    @property
    def is_indexed(self) -> bool:
        """Whether the index holds this version, so that other pages may match it."""
        return self.state in ("live", "expiring")

    @property
    def is_kept(self) -> bool:
        """Whether the page neither went nor is about to go."""
        return self.state in ("live", "short", "archived")

    @property
    def maker(self) -> Position:
        """The position whose content this version is."""
        input_id, number, offset = self.made_by
        return Position(Partition(input_id, number), offset)

    @property
    def positions(self) -> tuple[Position, ...]:
        """The position that made this version, then those at which it was seen again, the latest first."""
        applied = (self.made_by, *reversed(self.later))
        return tuple(Position(Partition(*each[:2]), each[2]) for each in applied)

    @property
    def former_makers(self) -> tuple[Position, ...]:
        """The positions at which this version may have been decided before `made_by` claimed it."""
        return tuple(Position(Partition(*each[:2]), each[2]) for each in self.claimed)

    def is_made_by(self, position: Position) -> bool:
        """Whether this version's content came from `position`."""
        return self.made_by == _applied(position)

    def last_applied(self, partition: Partition) -> int | None:
        """Highest offset of `partition` that this record has seen, None when it never saw one."""
        for input_id, number, offset in (*self.later, self.made_by):
            if input_id == partition.input_id and number == partition.number:
                return offset
        return None

    def seen_again(self, position: Position, seen_seconds: int) -> Self:
        """The same content came from a later position."""
        others = tuple(applied for applied in self.later if applied[:2] != _applied(position)[:2])
        return msgspec.structs.replace(
            self,
            later=_latest((*others, _applied(position))),
            seen_seconds=max(self.seen_seconds, seen_seconds),
        )

    def claimed_by(self, position: Position, seen_seconds: int) -> Self:
        """The same version, to be decided at another position: the one that made it may never come again."""
        made_by = _applied(position)
        return msgspec.structs.replace(
            self,
            made_by=made_by,
            later=self._later_than(made_by),
            seen_seconds=max(self.seen_seconds, seen_seconds),
            claimed=(*(each for each in self.claimed if each != made_by), self.made_by),
            rank=0,
        )

    def raised_above(self, version: int) -> Self:
        """The same content above `version`, which may have been published; not decided yet."""
        return msgspec.structs.replace(self, version=version + 1, is_return=True, rank=0)

    def followed_by(self, new: Self) -> Self:
        """The next version of the page: the content of `new`, and what this record knows of offsets."""
        later = self._later_than(new.made_by)
        has_gone = self.state in ("expiring", "gone")
        is_return = has_gone or (
            self.is_return and not self.rank
        )  # a return that was not decided is still one
        return msgspec.structs.replace(new, version=self.version + 1, later=later, is_return=is_return)

    def _later_than(self, made_by: _Applied) -> tuple[_Applied, ...]:
        """What `later` is once `made_by` makes a version: the other partitions, the latest last."""
        last = {applied[:2]: applied for applied in (self.made_by, *self.later)}
        last.pop(made_by[:2], None)
        return _latest(tuple(last.values()))

    def expiring(self) -> Self:
        """The same page, about to go; this is never taken back."""
        return msgspec.structs.replace(self, state="expiring")

    def expired(self, seen_seconds: int) -> Self:
        """What stays of a page that went by itself: its version, so that it comes back with a higher one."""
        return msgspec.structs.replace(
            self,
            state="gone",
            seen_seconds=seen_seconds,
            fingerprint=0,
            text_fingerprint=0,
            sketch=b"",
            shingle_count=0,
            bands=b"",
            whole=b"",
            whole_count=0,
            whole_bands=b"",
        )

    def forgotten_by(self, position: Position, seen_seconds: int) -> Self:
        """What stays of a page that the record at `position` wants forgotten: a version of its own."""
        return self.followed_by(
            msgspec.structs.replace(self.expired(seen_seconds), made_by=_applied(position), rank=0)
        )

    @classmethod
    def stub(cls, page_id: PageId, position: Position, seen_seconds: int, floor: int) -> Self:
        """What stands for a forgotten page whose record is lost: a version above `floor`."""
        return cls.first(
            page_id=page_id,
            url=page_id,
            text_fingerprint=0,
            position=position,
            seen_seconds=seen_seconds,
            state="gone",
            floor=floor,
        )

    @classmethod
    def first(
        cls,
        *,
        page_id: PageId,
        url: str,
        text_fingerprint: int,
        position: Position,
        seen_seconds: int,
        fingerprint: int = 0,
        sketch: bytes = b"",
        shingle_count: int = 0,
        bands: bytes = b"",
        whole: bytes = b"",
        whole_count: int = 0,
        whole_bands: bytes = b"",
        scope: str = "",
        state: PageState = "live",
        floor: int = 0,
        is_return: bool = False,
    ) -> Self:
        """The first version of a page that has no record, above the version `floor` of its slot."""
        return cls(
            url=url,
            fingerprint=fingerprint,
            text_fingerprint=text_fingerprint,
            version=floor + 1,
            made_by=_applied(position),
            seen_seconds=seen_seconds,
            sketch=sketch,
            shingle_count=shingle_count,
            bands=bands,
            whole=whole,
            whole_count=whole_count,
            whole_bands=whole_bands,
            other_id="" if page_id == url else page_id,
            scope=scope,
            state=state,
            is_return=is_return,
        )

    def pack(self) -> bytes:
        """The stored bytes; equal records pack to equal bytes."""
        fields = msgspec.structs.astuple(self)[:-1]  # the rank is in the header
        kept = len(fields)
        while kept > _REQUIRED_COUNT and fields[kept - 1] == _DEFAULTS[kept - _REQUIRED_COUNT - 1]:
            kept -= 1
        return record_header(self.rank, self.version & 0xFF) + _encoder.encode(fields[:kept])

    @staticmethod
    def unpack(packed: bytes) -> "PageRecord":
        """Read what `pack` wrote.

        Raises:
            CorruptData: these bytes were not written by `pack`.
        """
        try:
            record = _decoder.decode(packed[_HEADER_BYTES:])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CorruptData(f"a page record of {len(packed)} bytes cannot be read: {error}") from error
        if record.version & 0xFF != packed[_RANK_BYTES]:
            raise CorruptData(
                f"a page record is of version {record.version}, its header says {packed[_RANK_BYTES]}"
            )
        rank = int.from_bytes(packed[:_RANK_BYTES], "big")
        return msgspec.structs.replace(record, rank=rank) if rank else record


def _latest(applied: tuple[_Applied, ...]) -> tuple[_Applied, ...]:
    return applied[-LATER_PARTITIONS:]


def record_header(rank: int, version_byte: int) -> bytes:
    """The first seven bytes of a record."""
    return rank.to_bytes(_RANK_BYTES, "big") + version_byte.to_bytes(1, "big")


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(PageRecord)
_DEFAULTS = tuple(field.default for field in msgspec.structs.fields(PageRecord) if not field.required)
_REQUIRED_COUNT = sum(field.required for field in msgspec.structs.fields(PageRecord))


def _applied(position: Position) -> _Applied:
    return position.partition.input_id, position.partition.number, position.offset
