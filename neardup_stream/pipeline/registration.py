"""Registers arriving pages: is this page new, changed, unchanged, or older than what we know?

The decision is `plan`, a pure function of the arrival and the stored record. Writing is compare and set: most
pages are new, so the first round assumes so and learns what is stored where that was wrong.
"""

from collections.abc import Sequence
from typing import NamedTuple

from neardup_stream.hashing.handles import handle_of, next_handle
from neardup_stream.page import Handle
from neardup_stream.pipeline.arrival import Arrival, Registered, Verdict
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordChange, RecordStore

__all__ = ["Plan", "plan", "register"]


class Plan(NamedTuple):
    """What an arrival is, the record that stands for its page, and whether that must be written."""

    verdict: Verdict
    record: PageRecord
    is_write: bool


def plan(arrival: Arrival, stored: PageRecord | None) -> Plan:
    """Judge an arrival against what is stored of its page.

    A position that was applied already, or lies before one that was, changes nothing, unless it made the
    live version: then its decision is taken again.
    """
    new = _first_record(arrival)
    if stored is None:
        return Plan("new", new, is_write=True)
    position = arrival.record.position
    if stored.is_made_by(position):
        return Plan("replayed", stored, is_write=False)
    is_same = _same_content(new, stored)
    last_applied = stored.last_applied(position.partition)
    if last_applied is not None and position.offset <= last_applied:
        is_repeat = is_same and position.offset == last_applied
        return Plan("unchanged" if is_repeat else "superseded", stored, is_write=False)
    if is_same:
        return Plan("unchanged", stored.seen_again(position), is_write=True)
    return Plan("changed", stored.changed_by(position, new), is_write=True)


async def register(arrivals: Sequence[Arrival], store: RecordStore, handle_key: bytes) -> list[Registered]:
    """Bring the stored records up to date with a batch in which no page id comes twice.

    Raises:
        StoreUnavailable: some records may be written; registering again gives the same records.
        CorruptData: a stored record cannot be read.
    Cost: one round trip when all pages are new, one more when some were known.
    """
    registered: dict[int, Registered] = {}
    pending = {
        row: _Pending(handle_of(arrival.page.id, handle_key), None) for row, arrival in enumerate(arrivals)
    }
    while pending:
        plans = {row: plan(arrivals[row], _unpack(waiting.seen)) for row, waiting in pending.items()}
        changes = {
            row: RecordChange(pending[row].handle, pending[row].seen, planned.record.pack())
            for row, planned in plans.items()
            if planned.is_write
        }
        stored = dict(zip(changes, await store.replace(list(changes.values())), strict=True))
        still_pending = {}
        for row, planned in plans.items():
            if row in changes and stored[row] != changes[row].new:
                still_pending[row] = pending[row].after(stored[row], arrivals[row])
            else:
                registered[row] = Registered(
                    arrivals[row], pending[row].handle, planned.record, planned.verdict
                )
        pending = still_pending
    return [registered[row] for row in range(len(arrivals))]


class _Pending(NamedTuple):
    """A page that is not registered yet: where its record belongs, and what was seen there."""

    handle: Handle
    seen: bytes | None

    def after(self, stored: bytes | None, arrival: Arrival) -> "_Pending":
        record = _unpack(stored)
        if record is not None and record.id != arrival.page.id:
            return _Pending(next_handle(self.handle), None)
        return _Pending(self.handle, stored)


def _unpack(packed: bytes | None) -> PageRecord | None:
    return None if packed is None else PageRecord.unpack(packed)


def _first_record(arrival: Arrival) -> PageRecord:
    return PageRecord.first(
        page_id=arrival.page.id,
        url=arrival.page.url,
        fingerprint=arrival.fingerprint,
        text_fingerprint=arrival.text_fingerprint,
        position=arrival.record.position,
        is_decided=arrival.is_decided,
    )


def _same_content(one: PageRecord, other: PageRecord) -> bool:
    return one.text_fingerprint == other.text_fingerprint and one.is_decided == other.is_decided
