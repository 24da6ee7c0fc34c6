"""Define the values that one batch of records passes through, in the order of its journey.

    Record ──decode, extract, fingerprint──► Arrival ──register──► Registered
           ──probe, verify──► Judged ──decide──► events

Records that are no page are taken out before register, each with its outcome.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

import msgspec

from neardup_stream.errors import BadPage
from neardup_stream.fingerprints.framed import SHORT_SHINGLES
from neardup_stream.fingerprints.simhash import PageLines
from neardup_stream.frames.table import LineHashes
from neardup_stream.match import Match
from neardup_stream.message import Position, Record, RecordMetadata, SkipReason
from neardup_stream.page import Fingerprint64, Handle, Page, PageId
from neardup_stream.pipeline.archived import NOT_ARCHIVED, ArchivedMatches
from neardup_stream.pipeline.kept_text import KeptText
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.wire.events import trace_headers

__all__ = [
    "Arrival",
    "Forget",
    "Judged",
    "Lesson",
    "PageChange",
    "Prepared",
    "Registered",
    "Rejected",
    "SkippedRecord",
    "metadata_of",
]

PageChange = Literal["new", "changed", "returned", "unchanged", "superseded", "replayed", "claimed"]
"""What an arrival is to the record kept of its page.

returned: the page was forgotten or had expired. replayed: this very position made the live version.
claimed: the live version was registered at another position and never decided, or the record was behind
what was decided; this position decides it.
"""


def metadata_of(record: Record) -> RecordMetadata:
    """Return what later stages need of a record that is no dead letter."""
    return RecordMetadata(
        position=record.position,
        headers=trace_headers(record.headers),
        timestamp_ms=record.timestamp_ms,
        size_bytes=record.size_bytes,
    )


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """A page with what is known of it before register; too few tokens leave it undecided.

    Most of it is computed from the page alone. Its content, its bands and whether it is a sibling depend on
    what is known of the frame of its site, and what it is like in archives on those that are asked.

    Attributes:
        record: what is kept of the record.
        page: decoded; its content is dropped once its frame is taken out, or earlier if no stage needs it.
        fingerprint: simhash.
        text_fingerprint: equal means the same sequence of tokens.
        token_count: from 0.
        has_enough_tokens: whether it has enough tokens to be judged.
        sketch: of the content; empty where pages are compared by simhash alone.
        shingle_count: shingles of the content, repeats included; 0 without a sketch.
        bands: band words, 4 bytes each, big-endian; of the content, or of the whole text if next to none is
            left.
        whole: of the whole text, see `fingerprints.framed`; empty where no frame was taken out.
        whole_count: shingles of the whole text, repeats included; 0 where no frame was taken out.
        whole_bands: band words of the whole text; empty where no frame was taken out.
        content_token_count: tokens that are left without the frame.
        scope: within what it is compared; empty for everything.
        site: whose frame the page has; empty where frames are not looked for.
        lines: its lines, until its frame was taken out; None from then on, and where no stage needs them.
        is_markup: whether its text was extracted from markup.
        is_sibling: whether a page was found that shares most of its text and is another page, line by line.
        archived: the frozen pages that it is like.
        is_left_to_archives: whether it is to have a page record only, because of them.
        kept: what an archive keeps of its text; None where none is written.
    """

    record: RecordMetadata
    page: Page
    fingerprint: Fingerprint64
    text_fingerprint: int
    token_count: int
    has_enough_tokens: bool
    sketch: bytes = b""
    shingle_count: int = 0
    bands: bytes = b""
    whole: bytes = b""
    whole_count: int = 0
    whole_bands: bytes = b""
    content_token_count: int = 0
    scope: str = ""
    site: str = ""
    lines: PageLines | None = None
    is_markup: bool = False
    is_sibling: bool = False
    archived: ArchivedMatches = NOT_ARCHIVED
    is_left_to_archives: bool = False
    kept: KeptText | None = None

    @property
    def page_ids(self) -> tuple[PageId, ...]:
        """The one page it is about."""
        return (self.page.id,)

    @property
    def is_whole_indexed(self) -> bool:
        """Whether the index has the bands of the whole text beside those of the content: for short pages."""
        return 0 < self.whole_count <= SHORT_SHINGLES and self.bands != self.whole_bands


class Rejected(NamedTuple):
    """A record that can never become a page; kept whole, for its dead letter."""

    record: Record
    error: BadPage


class SkippedRecord(NamedTuple):
    """A record that is no page, nor meant to be one, or that has a status that is not wanted."""

    record: RecordMetadata
    reason: SkipReason


class Forget(NamedTuple):
    """A record without value: forget the page its key names; ids it may mean, likeliest first."""

    record: RecordMetadata
    page_ids: tuple[PageId, ...]


class Lesson(NamedTuple):
    """The lines of one page of a site."""

    site: str
    lines: LineHashes


class Prepared(NamedTuple):
    """A batch before register. The worker process leaves out lessons and their batch: frames are in a store.

    Attributes:
        items: pages and forgets, in the order of their records.
        rejected: what can never become a page.
        skipped: what is no page by nature.
        charset_fallbacks: bodies that were decoded by detection.
        lessons: what each page could teach of its site's frame.
        frame_batch: its number among the batches whose frames were taken out, from 1.
    """

    items: Sequence[Arrival | Forget]
    rejected: list[Rejected]
    skipped: list[SkippedRecord]
    charset_fallbacks: int
    lessons: Mapping[Position, Lesson] = MappingProxyType({})
    frame_batch: int = 0

    @property
    def arrivals(self) -> list[Arrival]:
        """The pages alone."""
        return [item for item in self.items if isinstance(item, Arrival)]

    @property
    def records(self) -> list[RecordMetadata]:
        """Of all records of the batch: those of pages and forgets first, in order."""
        others = [each.record for each in self.skipped]
        return [
            *(item.record for item in self.items),
            *others,
            *(metadata_of(each.record) for each in self.rejected),
        ]

    @property
    def forgets(self) -> list[Forget]:
        """The forgets alone."""
        return [item for item in self.items if isinstance(item, Forget)]


class Registered(msgspec.Struct, frozen=True, gc=False):
    """An arrival and the present record of its page.

    Attributes:
        arrival: as it came.
        handle: where the record is kept.
        record: the page record.
        change: what the arrival is to it.
        former: the living version that this arrival replaced; None where it replaced none, or where another
            process did so for it.
        claimed_from: the positions that may have decided the version, where this one claimed it.
        decided_before: the last version before `former` that was decided, where `former` was not yet.
    """

    arrival: Arrival
    handle: Handle
    record: PageRecord
    change: PageChange
    former: PageRecord | None = None
    claimed_from: tuple[Position, ...] = ()
    decided_before: PageRecord | None = None

    @property
    def is_left_to_archives(self) -> bool:
        """Whether the page has a record only; a page that is processed again stays what its record says."""
        return self.record.state == "archived"


class Judged(msgspec.Struct, frozen=True, gc=False):
    """A registered page with the pages it matches, and those it shares much with otherwise, best first."""

    registered: Registered
    matches: tuple[Match, ...] = ()
    containers: tuple[Match, ...] = ()
