"""The register stage: create or update the page record of each page, unless it is decided already.

`plan` is pure: a page is new, changed, returned, unchanged, or older than its stored record. Writing is
compare and set: most pages are new, so the first round assumes so and reads what is stored if it was wrong.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from neardup_stream.clusters.protocol import KnownVersion
from neardup_stream.hashing.handles import handle_of, next_handle
from neardup_stream.message import Message, Position, is_topic
from neardup_stream.meters import PipelineMeters
from neardup_stream.page import Handle
from neardup_stream.pipeline.arrival import Arrival, Forget, PageChange, Registered
from neardup_stream.pipeline.batch import Registration, Run
from neardup_stream.pipeline.decision_record import DecisionRecord
from neardup_stream.pipeline.first_record import first_record, new_pages
from neardup_stream.pipeline.forgetting import KeepFormer, forget, keep_nothing
from neardup_stream.pipeline.page_locks import PageLocks
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.pipeline.timing import timed
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordAnswer, RecordChange, RecordStore

__all__ = ["Plan", "Register", "plan", "register"]


class Register:
    """Registers the pages and forgets of runs.

    Args:
        stores: where page records and decision records are; its former versions receive those that are
            replaced, and know them when a run is registered again.
        locks: held by a page from here until its candidates are verified.
        retries: while the store is unavailable.
        meters: receives the times.
        now_seconds: the wall clock, epoch seconds.
    """

    def __init__(
        self,
        stores: PageStores,
        locks: PageLocks,
        retries: Retries,
        meters: PipelineMeters,
        now_seconds: Callable[[], float],
    ) -> None:
        self._stores = stores
        self._locks = locks
        self._count = 0
        self._retries = retries
        self._meters = meters
        self._now_seconds = now_seconds

    async def run(self, run: Run) -> None:
        """Set `registration`, once no page of the run waits between register and verify.

        Raises:
            DependencyLost: the store stayed unavailable.
        """
        if run.items:
            self._count += 1
            run.number = self._count
            await self._locks.enter(run.page_ids)
            await self._retries.retry(partial(self.register, run))

    async def register(self, run: Run, known: Mapping[Position, KnownVersion] = MappingProxyType({})) -> None:
        """Set `registration`; may be repeated.

        Args:
            run: any.
            known: what the clusters know of pages whose records they have found behind.

        Raises:
            StoreUnavailable: register again.
        """
        stores, now_seconds = self._stores, int(self._now_seconds())
        with timed(self._meters, "look_up"):
            already_decided = await stores.clusters.already_decided(run.positions)
        items = [item for item in run.items if not already_decided.knows(item.record.position)]
        arrivals = [item for item in items if isinstance(item, Arrival)]
        forgets = [item for item in items if isinstance(item, Forget)]
        with timed(self._meters, "register"):
            floor, keep = stores.version_floor, partial(stores.former.add, run)
            pages = await register(
                arrivals, stores.records, stores.handle_key, now_seconds, known, floor, keep
            )
            forgotten = await forget(forgets, stores.records, stores.handle_key, now_seconds, known, keep)
        pages, forgotten = stores.former.pages_again(pages), stores.former.forgets_again(forgotten)
        run.registration = Registration(already_decided, pages, forgotten, await self._undelivered(pages))

    async def _undelivered(self, pages: Sequence[Registered]) -> dict[Position, tuple[Message, ...]]:
        """Return the events of unchanged pages that were decided in another input and may not be delivered.

        That input may never be read again: a pipe that was cut, or a topic in a former epoch.
        """
        if not self._stores.outlives_run:
            return {}
        makers = {
            page.arrival.record.position: page.record.maker
            for page in pages
            if page.change == "unchanged" and _is_of_another_input(page)
        }
        if not makers:
            return {}
        decided = (await self._stores.clusters.already_decided(list(set(makers.values())))).outcomes
        return {
            at: DecisionRecord.unpack(decided[maker].record).events
            for at, maker in makers.items()
            if maker in decided
        }


class Plan(NamedTuple):
    """What an arrival is to its page.

    Attributes:
        change: in a word.
        record: the new record of the page.
        is_write: whether that must be written.
        former: the version that it replaces, whose index entries are to go.
        claimed_from: the positions that made the version, or claimed it before, where this one claims it.
    """

    change: PageChange
    record: PageRecord
    is_write: bool
    former: PageRecord | None = None
    claimed_from: tuple[Position, ...] = ()


def plan(
    arrival: Arrival,
    stored: PageRecord | None,
    now_seconds: int,
    floor: int = 0,
    known: KnownVersion | None = None,
    *,
    was_dropped: bool = False,
) -> Plan:
    """Return what an arrival changes in the stored record of its page.

    A position that was applied already, or lies before one that was, changes nothing, unless it made the
    living version: then its decision is taken again, if none was taken. A page that is about to expire, or
    is gone, returns as a new version even with the same content.

    Args:
        arrival: the page as it came.
        stored: its record, None where there is none.
        now_seconds: epoch seconds.
        floor: version floor of its slot; counts only where there is no record.
        known: the version that the record must exceed, where the clusters have found it behind
            (`clusters.protocol.RecordsBehind`); None where they were not asked. A record that has caught up
            since then stays as it is.
        was_dropped: whether the page had a record before; counts only where there is none.
    """
    planned = _plan(arrival, stored, now_seconds, floor, was_dropped=was_dropped)
    if known is None or planned.change == "superseded":
        return planned
    if planned.change == "unchanged" and known.has_decided(planned.record.version, planned.record.content):
        return planned
    return _claim(planned, stored, arrival.record.position, now_seconds, known.version)


def _plan(
    arrival: Arrival, stored: PageRecord | None, now_seconds: int, floor: int, *, was_dropped: bool
) -> Plan:
    new = first_record(arrival, now_seconds, floor, was_dropped=was_dropped)
    if stored is None:
        return Plan("new", new, is_write=True)
    position = arrival.record.position
    is_same = _is_same_content(new, stored)
    if stored.state != "gone" and stored.is_made_by(position):
        is_decided = is_same and stored.rank  # by the position from which this one has claimed it
        change: PageChange = "unchanged" if is_decided else "replayed"
        return Plan(change, stored, is_write=False, claimed_from=stored.former_makers)
    if stored.has_passed(position):
        is_repeat = is_same and position.offset == stored.last_applied(position.partition)
        return Plan("unchanged" if is_repeat else "superseded", stored, is_write=False)
    if is_same:
        return Plan("unchanged", stored.seen_again(position, now_seconds), is_write=True)
    if stored.state == "gone":
        return Plan("returned", stored.followed_by(new), is_write=True)
    return Plan("changed", stored.followed_by(new), is_write=True, former=stored)


def _claim(
    planned: Plan, stored: PageRecord | None, position: Position, now_seconds: int, known_version: int
) -> Plan:
    """Let this position decide the version, under a number that nothing was decided under.

    A version above `known_version` with a rank was decided since the clusters were asked: it stays as it is.
    """
    record = planned.record
    is_behind = record.version <= known_version
    if planned.change == "unchanged" and (is_behind or not record.rank):
        record = record.claimed_by(position, now_seconds)
    if is_behind:
        record = record.raised_above(known_version)
    if stored is None or record == planned.record:
        return planned._replace(record=record)
    former = planned.former or (stored if stored.version != record.version else None)
    return Plan(
        "claimed", record, is_write=True, former=former, claimed_from=record.former_makers or (stored.maker,)
    )


async def register(
    arrivals: Sequence[Arrival],
    store: RecordStore,
    handle_key: bytes,
    now_seconds: int,
    known: Mapping[Position, KnownVersion] = MappingProxyType({}),
    version_floor: int = 0,
    keep: KeepFormer = keep_nothing,
) -> list[Registered]:
    """Bring the stored records up to date with a batch in which no page id comes twice.

    Args:
        arrivals: pages in the order they came.
        store: keeps the records.
        handle_key: secret of this index.
        now_seconds: when they are processed, epoch seconds.
        known: what the clusters know of pages whose records they have found behind.
        version_floor: first versions of pages are above it.
        keep: called with each version that is to be replaced, before it is, and where it was not.

    Raises:
        StoreUnavailable: some records may be written; registering again gives the same records.
        CorruptData: a stored record cannot be read.
    Cost: one round trip when all pages are new, one more when some were known, or when the version floor of
        some slot has risen since it was last seen.
    """
    if not arrivals:
        return []
    handles = [handle_of(arrival.page.id, handle_key) for arrival in arrivals]
    floors = [store.known_floor(handle) for handle in handles]
    registered: dict[int, Registered] = {}
    if known:
        pending = {row: _Pending(*each) for row, each in enumerate(zip(handles, floors, strict=True))}
    else:
        new = new_pages(arrivals, handles, floors, now_seconds, version_floor)
        pending = await _register_new(new, floors, store, registered)
    while pending:
        plans = {
            row: plan(
                arrivals[row],
                _unpack(waiting.seen),
                now_seconds,
                max(waiting.floor, version_floor),
                known.get(arrivals[row].record.position),
                was_dropped=waiting.was_dropped,
            )
            for row, waiting in pending.items()
        }
        for row, planned in plans.items():
            if planned.former is not None:
                keep(arrivals[row].record.position, pending[row].handle, planned.former)
        changes = {
            row: pending[row].change_to(planned.record) for row, planned in plans.items() if planned.is_write
        }
        answers = dict(zip(changes, await store.replace(list(changes.values())), strict=True))
        still_pending = {}
        for row, planned in plans.items():
            if row in changes and answers[row].value != changes[row].new:
                still_pending[row] = pending[row].after(answers[row], arrivals[row], store)
                if planned.former is not None:
                    keep(arrivals[row].record.position, pending[row].handle, None)
            else:
                registered[row] = Registered(
                    arrivals[row],
                    pending[row].handle,
                    planned.record,
                    planned.change,
                    planned.former,
                    planned.claimed_from,
                )
        pending = still_pending
    return [registered[row] for row in range(len(arrivals))]


async def _register_new(
    pages: Sequence[Registered], floors: Sequence[int], store: RecordStore, registered: dict[int, Registered]
) -> dict[int, "_Pending"]:
    """Write the records of pages as if none had one; add the written ones to `registered`, return the others.

    It is the first round of `register`, without a plan and a change for each page that `plan` would give.
    """
    changes = [
        RecordChange(page.handle, None, page.record.pack(), floor)
        for page, floor in zip(pages, floors, strict=True)
    ]
    pending = {}
    for row, answer in enumerate(await store.replace(changes)):
        page, change = pages[row], changes[row]
        if answer.value == change.new:
            registered[row] = page
        else:
            pending[row] = _Pending(page.handle, floors[row]).after(answer, page.arrival, store)
    return pending


class _Pending(NamedTuple):
    """A page that is not registered yet: where its record belongs, and what was seen there."""

    handle: Handle
    floor: int
    seen: bytes | None = None
    was_dropped: bool = False

    def change_to(self, record: PageRecord) -> RecordChange:
        return RecordChange(self.handle, self.seen, record.pack(), self.floor, self.was_dropped)

    def after(self, answer: RecordAnswer, arrival: Arrival, store: RecordStore) -> "_Pending":
        record = _unpack(answer.value)
        if record is not None and record.id != arrival.page.id:
            handle = next_handle(self.handle)
            return _Pending(handle, store.known_floor(handle))
        return _Pending(self.handle, answer.floor, answer.value, answer.was_dropped)


def _unpack(packed: bytes | None) -> PageRecord | None:
    return None if packed is None else PageRecord.unpack(packed)


def _is_same_content(new: PageRecord, stored: PageRecord) -> bool:
    """Return whether nothing changed; a page that is expiring or gone never counts as the same.

    A page that is in the index stays there though an archive has its like by now.
    """
    is_same_state = new.state == stored.state or (new.state, stored.state) == ("archived", "live")
    return is_same_state and new.text_fingerprint == stored.text_fingerprint and new.scope == stored.scope


def _is_of_another_input(page: Registered) -> bool:
    """Return whether another input of the same kind, topic or file, made the version."""
    own, maker = page.arrival.record.position.partition.input_id, page.record.maker.partition.input_id
    return own != maker and is_topic(own) == is_topic(maker)
