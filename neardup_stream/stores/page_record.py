"""Define the page record, which is authoritative for one page; index entries only propose candidates.

    rank, 6 bytes big-endian │ version & 0xFF │ MessagePack array of the other fields

A million of them live in small Redis hashes, so every byte counts: fields that still have their default are
left out from the end, and so are an id that equals the URL and the applied offset of the partition that made
the version. The header has a fixed place, so that a decision writes its rank without reading the record.

The life of a page:

    live, short, archived ──► expiring ──► gone ──► dropped
              └──────── forgotten ───────┘

A page that returns, at any point of it, gets a higher version.
"""

from typing import Self, Unpack

import msgspec

from neardup_stream.errors import CorruptData
from neardup_stream.match import version_byte
from neardup_stream.message import Partition, Position, epoch_of, topic_of
from neardup_stream.page import Fingerprint64, PageId
from neardup_stream.stores.applied_positions import Applied, Later, applied_at, highest_epochs, position_of
from neardup_stream.stores.cluster_store import RANK_BYTES
from neardup_stream.stores.page_fields import FirstFields, PageState

__all__ = ["CONTENT_MASK", "PageRecord", "PageState", "decided_text", "record_header"]


CONTENT_MASK = 0xFFFF_FFFF
"""What of a text fingerprint is `PageRecord.content`."""

_HEADER_BYTES = RANK_BYTES + 1


class PageRecord(msgspec.Struct, frozen=True, array_like=True, kw_only=True, gc=False):
    """What is known of one page.

    Attributes:
        url: as crawled last time the content changed.
        fingerprint: simhash; 0 for a page that is short, gone or archived.
        text_fingerprint: 64 bits over the whole sequence of tokens: equal means the same text; 0 when gone.
        version: from 1; one more whenever the content changes, the page is forgotten, or it returns.
        made_by: the position whose content this version is.
        seen_seconds: when the page was last seen, or removed, by the clock of the process; epoch seconds.
        sketch: of the content; empty for a page that is short, gone or archived.
        shingle_count: shingles of the content, repeats included; 0 where there is no sketch.
        bands: band words, 4 bytes each, big-endian; empty where there is no sketch. Of the content, or of the
            whole text where next to no content is left.
        whole: of the whole text, see `fingerprints.framed`; empty where no frame was taken out.
        whole_count: shingles of the whole text, repeats included; 0 where no frame was taken out.
        whole_bands: band words of the whole text, where the index has them beside those of the content.
        other_id: the page's id where it differs from the URL, else empty.
        later: last applied offset of the other partitions that brought this page, see `Later`.
        scope: within what the page is compared; empty for everything.
        state: where the page is in its life.
        is_return: whether the page was known before and went: subscribers may hold an earlier version, which
            the clusters have forgotten.
        claimed: the positions that made this version, or claimed it, before `made_by` did; the latest last.
        rank: when this version was decided, below 2**48; 0 while it was not.
        former_count: how many of `later`, from the first, brought former versions only.
    """

    url: str
    fingerprint: int
    text_fingerprint: int
    version: int
    made_by: Applied
    seen_seconds: int
    sketch: bytes = b""
    shingle_count: int = 0
    bands: bytes = b""
    whole: bytes = b""
    whole_count: int = 0
    whole_bands: bytes = b""
    # The rarer a field is set, the further back: defaults are left out from the end.
    other_id: str = ""
    later: tuple[Applied, ...] = ()
    scope: str = ""
    state: PageState = "live"
    is_return: bool = False
    claimed: tuple[Applied, ...] = ()
    rank: int = 0
    former_count: int = 0

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
        return self.text_fingerprint & CONTENT_MASK

    @property
    def is_indexed(self) -> bool:
        """Whether the index holds this version, so that other pages may match it."""
        return self.state in ("live", "expiring")

    @property
    def is_uncompared(self) -> bool:
        """Whether the page is kept, but no other page may match it: it is too short, or left to archives."""
        return self.state in ("short", "archived")

    @property
    def is_kept(self) -> bool:
        """Whether the page is neither removed nor expiring."""
        return self.state in ("live", "short", "archived")

    @property
    def maker(self) -> Position:
        """The position whose content this version is."""
        return position_of(self.made_by)

    @property
    def positions(self) -> tuple[Position, ...]:
        """The position that made this version, then those at which it was seen again, the latest first."""
        return tuple(map(position_of, (self.made_by, *reversed(self._later.again))))

    @property
    def applied(self) -> tuple[Applied, ...]:
        """The position that made this version, and the others that this record has taken, where kept."""
        return (self.made_by, *self.later)

    @property
    def former_makers(self) -> tuple[Position, ...]:
        """The positions at which this version may have been decided before `made_by` claimed it."""
        return tuple(map(position_of, self.claimed))

    def is_made_by(self, position: Position) -> bool:
        """Return whether this version's content came from `position`."""
        return self.made_by == applied_at(position)

    def last_applied(self, partition: Partition) -> int | None:
        """Highest offset of `partition` that this record has seen, None when it never saw one."""
        for input_id, number, offset in (*self.later, self.made_by):
            if input_id == partition.input_id and number == partition.number:
                return offset
        return None

    def has_passed(self, position: Position) -> bool:
        """Return whether this offset, a later one, or a later epoch of its topic was applied."""
        last_applied = self.last_applied(position.partition)
        if last_applied is not None and position.offset <= last_applied:
            return True
        applied = self.applied
        if not any("@" in each[0] for each in applied):
            return False
        topic, epoch = topic_of(position.partition.input_id), epoch_of(position.partition.input_id)
        return epoch is not None and epoch < highest_epochs(applied).get(topic, 0)

    def seen_again(self, position: Position, seen_seconds: int) -> Self:
        """Return the record after the same content came from a later position."""
        later = self._later.seen_again(applied_at(position), self.made_by)
        return self._with(later, seen_seconds=max(self.seen_seconds, seen_seconds))

    def claimed_by(self, position: Position, seen_seconds: int) -> Self:
        """Return the same version, to be decided at another position: its maker may never come again."""
        made_by = applied_at(position)
        later = self._later.claimed(self.made_by, made_by)
        return self._with(
            later,
            made_by=made_by,
            seen_seconds=max(self.seen_seconds, seen_seconds),
            claimed=(*(each for each in self.claimed if each != made_by), self.made_by),
            rank=0,
        )

    def raised_above(self, version: int) -> Self:
        """Return the same content above `version`, which may have been published; not decided yet."""
        return msgspec.structs.replace(self, version=version + 1, is_return=True, rank=0)

    def followed_by(self, new: Self) -> Self:
        """Return the next version of the page: the content of `new`, and the offsets of this record."""
        later = self._later.followed(self.made_by, new.made_by)
        has_gone = self.state in ("expiring", "gone")
        is_return = has_gone or (
            self.is_return and not self.rank
        )  # a return that was not decided is still one
        return new._with(later, version=self.version + 1, is_return=is_return)

    @property
    def _later(self) -> Later:
        return Later(self.later, self.former_count)

    def _with(self, later: Later, **changes: object) -> Self:
        return msgspec.structs.replace(self, later=later.applied, former_count=later.former_count, **changes)

    def expiring(self) -> Self:
        """Return the record of the same page as expiring; it never becomes live again."""
        return msgspec.structs.replace(self, state="expiring")

    def expired(self, seen_seconds: int) -> Self:
        """Return the stub of a page that expired; it keeps the version, so a return gets a higher one."""
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
        """Return the stub after the record at `position` has forgotten the page, with its own version."""
        return self.followed_by(
            msgspec.structs.replace(self.expired(seen_seconds), made_by=applied_at(position), rank=0)
        )

    @classmethod
    def stub(cls, page_id: PageId, position: Position, seen_seconds: int, floor: int) -> Self:
        """Return the stub of a forgotten page whose record is lost: its version is above `floor`."""
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
        position: Position,
        fingerprint: int = 0,
        floor: int = 0,
        **fields: Unpack[FirstFields],
    ) -> Self:
        """Return the first version of a page that has no record, above the version `floor` of its slot."""
        return cls(
            url=url,
            fingerprint=fingerprint,
            version=floor + 1,
            made_by=applied_at(position),
            other_id="" if page_id == url else page_id,
            **fields,
        )

    def pack(self) -> bytes:
        """Return the stored bytes; equal records pack to equal bytes."""
        fields = msgspec.structs.astuple(self)
        fields = (*fields[:_RANK], 0, *fields[_RANK + 1 :])  # the rank is in the header
        # The fields behind those of a plain page are nearly always defaults: one comparison leaves all out.
        kept = _PLAIN_COUNT if fields[_PLAIN_COUNT:] == _RARE_DEFAULTS else len(fields)
        while kept > _REQUIRED_COUNT and fields[kept - 1] == _DEFAULTS[kept - _REQUIRED_COUNT - 1]:
            kept -= 1
        return record_header(self.rank, version_byte(self.version)) + _encoder.encode(fields[:kept])

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
        if version_byte(record.version) != packed[RANK_BYTES]:
            raise CorruptData(
                f"a page record is of version {record.version}, its header says {packed[RANK_BYTES]}"
            )
        rank = int.from_bytes(packed[:RANK_BYTES], "big")
        return msgspec.structs.replace(record, rank=rank) if rank else record


def record_header(rank: int, version_byte: int) -> bytes:
    """Return the first seven bytes of a record."""
    return (rank << 8 | version_byte).to_bytes(_HEADER_BYTES, "big")


def decided_text(packed: bytes) -> tuple[int, int]:
    """Return the rank of a packed record and the digest of its text, at a third of the cost of all of it.

    Raises:
        CorruptData: these bytes were not written by `PageRecord.pack`.
    """
    try:
        head = _head_decoder.decode(packed[_HEADER_BYTES:])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptData(f"a page record of {len(packed)} bytes cannot be read: {error}") from error
    return int.from_bytes(packed[:RANK_BYTES], "big"), head.text_fingerprint & CONTENT_MASK


class _RecordHead(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The first fields of a record."""

    url: msgspec.Raw
    fingerprint: int
    text_fingerprint: int


_encoder = msgspec.msgpack.Encoder()
_head_decoder = msgspec.msgpack.Decoder(_RecordHead)
_decoder = msgspec.msgpack.Decoder(PageRecord)
_DEFAULTS = tuple(field.default for field in msgspec.structs.fields(PageRecord) if not field.required)
_REQUIRED_COUNT = sum(field.required for field in msgspec.structs.fields(PageRecord))
_PLAIN_COUNT = PageRecord.__struct_fields__.index("bands") + 1
_RARE_DEFAULTS = _DEFAULTS[_PLAIN_COUNT - _REQUIRED_COUNT :]
_RANK = PageRecord.__struct_fields__.index("rank")
