"""Keep the page versions that a record replaced while records before it are still compared.

A run is registered as a whole before its pages are compared, and while the run before it is verified. So a
record may change or forget a page that is a candidate of a page that came earlier. For that one the candidate
is what it was then, the former version. The clusters still hold it, because decisions are in order; if it
becomes a representative, it is published as it was.

A run may be registered again: an answer of the store was lost, or what was read is stale. What its records
replaced before is in no page record any more, but here: events name it, and its entries are removed.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from neardup_stream.match import Candidate, version_byte
from neardup_stream.message import Position
from neardup_stream.page import Handle
from neardup_stream.pipeline.arrival import Registered
from neardup_stream.pipeline.batch import Run
from neardup_stream.pipeline.forgetting import Forgotten
from neardup_stream.stores.page_record import PageRecord

__all__ = ["FormerVersions"]

_WITHOUT_WRITE: Final = frozenset({"replayed", "unchanged", "superseded"})
"""Of records that may have replaced a version when they were registered before."""


class _Replaced(NamedTuple):
    """A version that was replaced, and by which item: number of the run, and row in it."""

    record: PageRecord
    run: int
    row: int


class _ReplacedBy(NamedTuple):
    """A version that the record at a position replaced.

    Attributes:
        handle: of the page.
        record: the version.
        decided_before: the last version before it that was decided, where it was not decided itself.
        run: number of the run with the record that replaced it.
    """

    handle: Handle
    record: PageRecord
    decided_before: PageRecord | None
    run: int


class FormerVersions:
    """Holds the versions that the records of a run replaced, until the run is decided.

    Cost: nothing for pages that do not change; of those in flight that do, a page record each.
    """

    def __init__(self) -> None:
        self._replaced: dict[tuple[Handle, int], _Replaced] = {}
        self._replaced_by: dict[Position, _ReplacedBy] = {}
        self._in_order: deque[tuple[int, Position, tuple[Handle, int]]] = deque()

    def add(self, run: Run, position: Position, handle: Handle, former: PageRecord | None) -> None:
        """Keep a version that is about to be replaced by the record at this position of a run.

        None: another process was faster, so the record did not replace the version that was kept for it.
        Pages before it are still compared with that version, which the other process replaced.
        """
        if former is None:
            self._replaced_by.pop(position, None)
            return
        name = handle, version_byte(former.version)
        decided_before = None if former.rank else self._decided_before(handle, former)
        self._replaced_by[position] = _ReplacedBy(handle, former, decided_before, run.number)
        self._in_order.append((run.number, position, name))
        if former.is_indexed:
            self._replaced[name] = _Replaced(former, run.number, run.row_of(position))

    def find(self, run: Run, position: Position, candidate: Candidate) -> PageRecord | None:
        """Return the record of a candidate that was replaced after the record at this position of a run."""
        replaced = self._replaced.get((candidate.handle, candidate.version_byte))
        if replaced is None or (run.number, run.row_of(position)) > (replaced.run, replaced.row):
            return None
        return replaced.record

    def version(self, handle: Handle, version: int) -> PageRecord | None:
        """Return the record of this version of a page, if a run that is not decided yet replaced it."""
        replaced = self._replaced.get((handle, version_byte(version)))
        return replaced.record if replaced and replaced.record.version == version else None

    def is_kept(self, candidate: Candidate) -> bool:
        """Return whether a candidate was replaced by a run that is not decided yet."""
        return (candidate.handle, candidate.version_byte) in self._replaced

    def pages_again(self, pages: list[Registered]) -> list[Registered]:
        """Return registered pages with the versions that they replaced, now or when registered before."""
        if not self._replaced_by:
            return pages
        return [
            msgspec.structs.replace(page, former=replaced.record, decided_before=replaced.decided_before)
            if (page.former is not None or page.change in _WITHOUT_WRITE)
            and (replaced := self._replaced_at(page.arrival.record.position, page.handle, page.record))
            else page
            for page in pages
        ]

    def forgets_again(self, forgets: Sequence[Forgotten]) -> list[Forgotten]:
        """Return forgets with the versions that they replaced, now or when registered before."""
        return [
            each._replace(former=replaced.record, decided_before=replaced.decided_before)
            if (each.former is not None or each.result in _WITHOUT_WRITE)
            and (replaced := self._replaced_at(each.forget.record.position, each.handle, each.record))
            else each
            for each in forgets
        ]

    def _replaced_at(
        self, position: Position, handle: Handle | None, present: PageRecord | None
    ) -> _ReplacedBy | None:
        """Return what the record at a position replaced; None where that is the present version still."""
        replaced = self._replaced_by.get(position)
        if replaced is None or present is None or replaced.handle != handle:
            return None
        return replaced if replaced.record.version < present.version else None

    def _decided_before(self, handle: Handle, undecided: PageRecord) -> PageRecord | None:
        """Return the last version of a page that was decided before this one, if its run is in flight."""
        before = self._replaced_by.get(undecided.maker)
        if before is None or before.handle != handle:
            return None
        return before.record if before.record.rank else before.decided_before

    def drop(self, run: Run) -> None:
        """Drop what a run and those before it replaced: all records before theirs are decided."""
        while self._in_order and self._in_order[0][0] <= run.number:
            number, position, name = self._in_order.popleft()
            replaced, replaced_by = self._replaced.get(name), self._replaced_by.get(position)
            if replaced is not None and replaced.run == number:
                del self._replaced[name]
            if replaced_by is not None and replaced_by.run == number:
                del self._replaced_by[position]
