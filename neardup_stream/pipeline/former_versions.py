"""Keep the page versions that a record replaced while records before it are still compared.

A run is registered as a whole before its pages are compared, and while the run before it is verified. So a
record may change or forget a page that is a candidate of a page that came earlier. For that one the candidate
is what it was then, the former version. The clusters still hold it, because decisions are in order; if it
becomes a representative, it is published as it was.
"""

from collections import deque
from typing import NamedTuple

from neardup_stream.match import Candidate, version_byte
from neardup_stream.message import Position
from neardup_stream.page import Handle
from neardup_stream.pipeline.batch import Run
from neardup_stream.stores.page_record import PageRecord

__all__ = ["FormerVersions"]


class _Replaced(NamedTuple):
    """A version that was replaced, and by which item: number of the run, and row in it."""

    record: PageRecord
    run: int
    row: int


class FormerVersions:
    """Holds the versions that the records of a run replaced, until the run is decided.

    Cost: nothing for pages that do not change; of those in flight that do, a page record each.
    """

    def __init__(self) -> None:
        self._replaced: dict[tuple[Handle, int], _Replaced] = {}
        self._in_order: deque[tuple[int, tuple[Handle, int]]] = deque()

    def add(self, run: Run, position: Position, handle: Handle, former: PageRecord) -> None:
        """Keep a version that is about to be replaced by the record at this position of a run."""
        if former.is_indexed:
            name = handle, version_byte(former.version)
            self._replaced[name] = _Replaced(former, run.number, run.row_of(position))
            self._in_order.append((run.number, name))

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

    def drop(self, run: Run) -> None:
        """Drop what a run and those before it replaced: all records before theirs are decided."""
        while self._in_order and self._in_order[0][0] <= run.number:
            number, name = self._in_order.popleft()
            replaced = self._replaced.get(name)
            if replaced is not None and replaced.run == number:
                del self._replaced[name]
