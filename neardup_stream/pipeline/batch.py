"""A batch between its read and its commit, completed field by field by the stages in their order.

A field holds one kind of value for all rows of a batch, or of a run: it is one column. A stage reads the
columns of earlier stages and sets its own ones in one assignment, so a stage that fails half-way can be
repeated. What no later stage reads is dropped: the raw records once they are decoded, the content of pages
once their frames are taken out.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from neardup_stream.clusters.placements import AlreadyDecided, Decided
from neardup_stream.indexes.protocol import IndexedPage, Probed
from neardup_stream.message import Message, Partition, Position, Record
from neardup_stream.pipeline.arrival import Arrival, Forget, Judged, Prepared, Registered
from neardup_stream.pipeline.forgetting import Forgotten
from neardup_stream.stores.protocol import RankWrite
from neardup_stream.traces import BatchTrace

if TYPE_CHECKING:
    from neardup_stream.pipeline.conclusion import Conclusion

__all__ = ["Decisions", "InFlightBatch", "ProbedPages", "Registration", "Run"]


class Registration(NamedTuple):
    """What the register stage adds to a run.

    Attributes:
        already_decided: which records were decided before.
        pages: pages that were not, with their page records.
        forgets: forgets that were not.
        undelivered: events of unchanged pages that were decided in another input and may not be delivered.
    """

    already_decided: AlreadyDecided = AlreadyDecided({}, frozenset(), 0)
    pages: Sequence[Registered] = ()
    forgets: Sequence[Forgotten] = ()
    undelivered: Mapping[Position, tuple[Message, ...]] = MappingProxyType({})


class ProbedPages(NamedTuple):
    """What the probe stage adds to a run.

    Attributes:
        pages: those that are compared with others.
        probed: their candidates.
    """

    pages: Sequence[Registered]
    probed: Probed


class Decisions(NamedTuple):
    """What the decide stage adds to a run.

    Attributes:
        positions: of its records, in order.
        decided: the decision records; a record that was trimmed is left out.
        former: the versions that its pages have replaced, whose entries are to be removed from the index.
        distinct: the records whose pages nearly equal no other.
        alone: the records of pages that are new and unique, and of which nothing is published, each with its
            rank; no decision record is given of these.
    """

    positions: Sequence[Position] = ()
    decided: Mapping[Position, Decided] = MappingProxyType({})
    former: Sequence[IndexedPage] = ()
    distinct: AbstractSet[Position] = frozenset()
    alone: Mapping[Position, RankWrite] = MappingProxyType({})


@dataclass(slots=True)
class InFlightBatch:
    """The records of one read.

    Attributes:
        records: as they were read, in order; empty once they are decoded.
        record_count: how many there are.
        size_bytes: of all of them.
        next_offsets: the offset after the last of them, by partition.
        membership: how often partitions were revoked before the read.
        trace: of this batch.
        prepared: set by decode and extract, and replaced by fingerprint: pages, forgets, and records that are
            neither.
        runs: set when the batch is cut for register; see `Run`.
        conclusion: set by decide where a batch takes the short path; None where its runs have decisions.
    """

    records: Sequence[Record]
    record_count: int
    size_bytes: int
    next_offsets: Mapping[Partition, int]
    membership: int
    trace: BatchTrace
    prepared: Prepared = field(default_factory=lambda: Prepared([], [], [], 0))
    runs: list["Run"] = field(default_factory=list)
    conclusion: "Conclusion | None" = None

    def cut(self) -> list["Run"]:
        """Set the runs of the batch: at least one, which may be empty, so that one of them is the last."""
        runs = list(_cut_at_repeats(self.prepared.items)) or [[]]
        self.runs = [
            Run(self, items, is_last=number == len(runs)) for number, items in enumerate(runs, start=1)
        ]
        return self.runs

    def drop_runs(self) -> None:
        """Drop what refers back to the batch: finished batches are freed at once, not as garbage."""
        self.runs = []


@dataclass(slots=True)
class Run:
    """Successive rows of a batch in which no page id is repeated.

    Attributes:
        batch: of which it is a part.
        items: pages and forgets, in order.
        is_last: whether the batch has no rows after it.
        number: of the run among those that have entered register, from 1; set by register.
        registration: set by register.
        probed: set by probe; None where the run is empty.
        judged: set by verify: matches of the pages that have been compared.
        decisions: set by decide.
    """

    batch: InFlightBatch
    items: Sequence[Arrival | Forget]
    is_last: bool
    number: int = 0
    registration: Registration = Registration()  # noqa: RUF009 - immutable, so one default serves all
    probed: ProbedPages | None = None
    judged: Sequence[Judged] = ()
    decisions: Decisions = Decisions()  # noqa: RUF009 - the same
    _rows: dict[Position, int] = field(default_factory=dict)
    _page_ids: frozenset[str] = frozenset()

    @property
    def trace(self) -> BatchTrace:
        """Of the batch."""
        return self.batch.trace

    @property
    def page_ids(self) -> AbstractSet[str]:
        """All ids that its items may mean."""
        if not self._page_ids:
            self._page_ids = frozenset(chain.from_iterable([item.page_ids for item in self.items]))
        return self._page_ids

    @property
    def positions(self) -> list[Position]:
        """Of its records, in order."""
        return [item.record.position for item in self.items]

    def row_of(self, position: Position) -> int:
        """Return where the item of a record is among its items."""
        if not self._rows:
            self._rows = {each: row for row, each in enumerate(self.positions)}
        return self._rows[position]

    def restarted(self) -> "Run":
        """Return the same rows as they were before register."""
        return Run(self.batch, self.items, is_last=self.is_last, number=self.number)


def _cut_at_repeats(items: Sequence[Arrival | Forget]) -> Iterator[Sequence[Arrival | Forget]]:
    """Yield the longest successive slices in which no page id is repeated."""
    start = 0
    ids: set[str] = set()
    for row, item in enumerate(items):
        own_ids = item.page_ids
        if not ids.isdisjoint(own_ids):
            yield items[start:row]
            start, ids = row, set()
        ids.update(own_ids)
    if start < len(items):
        yield items[start:]
