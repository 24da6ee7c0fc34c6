"""Keep a subscriber's state in a file, so that it can stop, crash and start again."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from .decoding import CloudEvent
from .due_rows import DueRows
from .page_rows import PageRows
from .storing import create_tables, load_knowledge, save_knowledge
from .tracked import Change, Effect, Fold, PageStatus

__all__ = ["Subscription"]

_BUSY_MILLISECONDS: Final = 5_000
"""How long to wait for a process that still has the file, such as one that was killed a moment ago."""


class Subscription:
    """A fold, the Kafka offsets behind it, and the changes that are not acted upon yet, in one SQLite file.

    `save` writes all three in one transaction. Save, then act on `due`, which returns only what is saved. So
    after a crash the file names every page that may have been acted upon: all of them are due again, also
    those that changed back meanwhile. Acting must be safe to repeat, as setting a page to a status is.

    A page whose status changes several times before it is acted upon is due once, with its present status; it
    is not due if that is the one that was last acted upon. A later version of a duplicate is due too if it is
    a duplicate of the same page: its text may be stored anew.

    One process at a time has the file.

    Args:
        path: of the file; created if it is not there.

    Raises:
        sqlite3.OperationalError: another process has the file.
        ValueError: the file is of another release, with another format.
    """

    def __init__(self, path: str | Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        try:
            self._database.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
            self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")  # saved before it is acted upon
            create_tables(self._database)
            self.fold = Fold(load_knowledge(self._database))
            rows = self._database.execute("SELECT topic, partition, next FROM offsets")
            self._offsets = {(topic, partition): following for topic, partition, following in rows}
            self._due = PageRows(self._database, "due")
            self._deletions = PageRows(self._database, "deletions")
            self._due_deletions = DueRows(self._deletions)
            self._redirects = PageRows(self._database, "redirects")
            self._perhaps_acted_upon = {page_id for page_id, _ in self._due}
            self._renewed = set[str]()  # since they were last due; those of an earlier process are due again
        except BaseException:
            self._database.close()
            raise
        self._start_batch()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file. What was not saved is read again the next time."""
        self.close()

    def close(self) -> None:
        """Close the file without saving."""
        self._database.close()

    def offset(self, topic: str, partition: int) -> int | None:
        """Return the offset to go on from; None if nothing of the partition was ever read."""
        return self._offsets.get((topic, partition))

    def feed(self, event: CloudEvent, topic: str, partition: int, offset: int) -> Effect:
        """Take in the event of a record, and return what it changed.

        A record below `offset` was taken in before, and changes nothing.
        """
        if offset < self._offsets.get((topic, partition), 0):
            return Effect()
        effect = self.fold.feed(event)
        self._offsets[topic, partition] = offset + 1
        self._has_moved = True
        for page_id, before, after in effect.changes:
            self._note(page_id, before, after, is_renewed=page_id in effect.renewed)
        for page_id in effect.renewed.difference(change.page_id for change in effect.changes):
            status = self.fold.status(page_id)
            self._note(page_id, status, status, is_renewed=True)
        if effect.is_new_index:
            self._is_new_index = True
            self._page_ids.clear()
            self._cluster_ids.clear()
        self._page_ids |= effect.page_ids
        self._cluster_ids |= effect.cluster_ids
        return effect

    def _note(self, page_id: str, before: PageStatus, after: PageStatus, *, is_renewed: bool) -> None:
        """Note whether a page is due, and the status that was last acted upon, or may have been."""
        acted_upon = self._due.get(page_id) or before
        if is_renewed:
            self._renewed.add(page_id)
        if acted_upon != after or self._is_new_copy(page_id) or page_id in self._perhaps_acted_upon:
            self._due.put(page_id, *acted_upon)
        else:
            self._due.remove(page_id)
            self._renewed.discard(page_id)

    def _is_new_copy(self, page_id: str) -> bool:
        """Return whether a page is a duplicate in a later version than the one that was acted upon."""
        return page_id in self._renewed and self.fold.status(page_id).duplicate_of is not None

    def skip(self, topic: str, partition: int, offset: int) -> None:
        """Go past a record that is no event."""
        self.read_to(topic, partition, offset + 1)

    def read_to(self, topic: str, partition: int, offset: int) -> None:
        """Note the position of a consumer of whose records all are fed; an earlier one changes nothing.

        It may be behind the last record: the markers of transactions take offsets too.
        """
        if offset > self._offsets.get((topic, partition), -1):
            self._offsets[topic, partition] = offset
            self._has_moved = True

    def has_read(self, ends: Mapping[tuple[str, int], int]) -> bool:
        """Return whether no record of these partitions is left below these offsets."""
        return all(self._offsets.get(partition, 0) >= end for partition, end in ends.items())

    def due(self) -> tuple[Change, ...]:
        """Return the pages to act upon, as of the last `save`, with their present status.

        `before` is the status that was last acted upon, or may have been. A page that was returned stays due
        until `done`, also if its status changes back: the caller may have failed in the middle of acting.
        """
        changes = tuple(
            Change(page_id, PageStatus(row[0], row[1], bool(row[2]), bool(row[3])), self.fold.status(page_id))
            for page_id, row in self._due
            if self._due.is_saved(page_id)
        )
        page_ids = {change.page_id for change in changes}
        self._perhaps_acted_upon |= page_ids
        self._renewed -= page_ids
        return changes

    def done(self, change: Change) -> None:
        """Note that a due change was acted upon; `save` keeps the note."""
        self._perhaps_acted_upon.discard(change.page_id)
        if self.fold.status(change.page_id) == change.after and not self._is_new_copy(change.page_id):
            self._due.remove(change.page_id)
        else:
            self._due.put(change.page_id, *change.after)

    def delete_later(self, page_id: str, time: float) -> None:
        """Note that a copy may be deleted from a time on, whatever was noted before."""
        self._due_deletions.put(page_id, time)

    def delete_never(self, page_id: str) -> None:
        """Withdraw the note that a copy may be deleted, or note that it was."""
        self._due_deletions.remove(page_id)

    def deletions(self, now: float) -> tuple[str, ...]:
        """Return the ids of the copies whose time has come, the earliest first."""
        return self._due_deletions.until(now)

    def redirected_url(self, page_id: str) -> str | None:
        """Return the URL of a page that is redirected elsewhere; None if none is."""
        row = self._redirects.get(page_id)
        return None if row is None else row[0]

    def note_redirected(self, page_id: str, url: str | None) -> None:
        """Note which URL of a page is redirected elsewhere: its address may be another one by then."""
        if url is None:
            self._redirects.remove(page_id)
        elif self.redirected_url(page_id) != url:
            self._redirects.put(page_id, url)

    def save(self) -> None:
        """Write everything since the last time in one transaction."""
        database = self._database
        tables = (self._due, self._deletions, self._redirects)
        if not (self._has_moved or any(table.has_changes for table in tables)):
            return
        database.execute("BEGIN IMMEDIATE")
        try:
            save_knowledge(
                database,
                self.fold.knowledge,
                self._page_ids,
                self._cluster_ids,
                is_new_index=self._is_new_index,
            )
            for table in tables:
                table.save()
            database.executemany(
                "INSERT OR REPLACE INTO offsets VALUES (?, ?, ?)",
                ((topic, partition, following) for (topic, partition), following in self._offsets.items()),
            )
        except BaseException:
            if database.in_transaction:  # a full disk has ended it
                database.execute("ROLLBACK")
            raise
        database.execute("COMMIT")
        for table in tables:
            table.saved()
        self._start_batch()

    def _start_batch(self) -> None:
        self._page_ids: set[str] = set()
        self._cluster_ids: set[str] = set()
        self._is_new_index = False
        self._has_moved = False
