"""Forgets pages: what a record without value does to the record of the page that it names.

Nothing is removed: a stub stays, with a version of its own and the offsets, so that a page that comes back
comes back with a higher version, and a replay finds what it did.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from neardup_stream.hashing.handles import handle_of, next_handle
from neardup_stream.message import Position
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.arrival import Forget
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordChange, RecordStore

__all__ = ["ForgetPlan", "ForgetVerdict", "Forgotten", "forget", "plan_forget"]

ForgetVerdict = Literal["forgotten", "replayed", "superseded", "unknown"]
"""What a forget is to its page; replayed: this very position made the stub. superseded: it is older than what
is known of the page. unknown: no page has any of the ids."""


class ForgetPlan(NamedTuple):
    """What a forget does to a page.

    Attributes:
        verdict: in a word.
        record: what is to stand for the page.
        is_write: whether that must be written.
        former: the living version that it replaces, whose index entries are to go.
    """

    verdict: ForgetVerdict
    record: PageRecord
    is_write: bool
    former: PageRecord | None = None


class Forgotten(NamedTuple):
    """A forget and what it came to.

    Attributes:
        forget: as it came.
        verdict: in a word.
        handle: of the page, None for an unknown one.
        record: what stands for the page now: the stub, or what is newer than the forget.
        former: the living version that this forget replaced; None where it replaced none, or did so earlier.
    """

    forget: Forget
    verdict: ForgetVerdict
    handle: Handle | None = None
    record: PageRecord | None = None
    former: PageRecord | None = None


def plan_forget(position: Position, stored: PageRecord, now_seconds: int) -> ForgetPlan:
    """Judge a forget against what is stored of its page.

    A page that has expired is forgotten too: it went silently, and now somebody wants it told.
    """
    if stored.state == "gone" and stored.is_made_by(position):
        return ForgetPlan("replayed", stored, is_write=False)
    last_applied = stored.last_applied(position.partition)
    if last_applied is not None and position.offset <= last_applied:
        return ForgetPlan("superseded", stored, is_write=False)
    former = None if stored.state == "gone" else stored
    return ForgetPlan("forgotten", stored.forgotten_by(position, now_seconds), is_write=True, former=former)


async def forget(
    forgets: Sequence[Forget], store: RecordStore, handle_key: bytes, now_seconds: int
) -> list[Forgotten]:
    """Turn the records of pages into stubs. Of the ids that a forget may mean, the first known one counts.

    Args:
        forgets: in the order they came; several may name one page.
        store: keeps the records.
        handle_key: secret of this index.
        now_seconds: when they are processed, epoch seconds.

    Raises:
        StoreUnavailable: some stubs may be written; forgetting again gives the same ones.
        CorruptData: a stored record cannot be read.
    Cost: two round trips, two more for what others change meanwhile.
    """
    forgotten: dict[int, Forgotten] = {}
    pending = list(range(len(forgets)))
    while pending:
        found = await _find({each for row in pending for each in forgets[row].page_ids}, store, handle_key)
        changes: dict[int, RecordChange] = {}
        for row in pending:
            position = forgets[row].record.position
            known = next((found[each] for each in forgets[row].page_ids if each in found), None)
            if known is None:
                forgotten[row] = Forgotten(forgets[row], "unknown")
                continue
            verdict, record, is_write, former = plan_forget(position, known.record, now_seconds)
            forgotten[row] = Forgotten(forgets[row], verdict, known.handle, record, former)
            if is_write:
                changes[row] = RecordChange(known.handle, known.packed, record.pack())
        answers = await store.replace(list(changes.values()))
        pending = [
            row
            for (row, change), answer in zip(changes.items(), answers, strict=True)
            if answer.value != change.new
        ]
    return [forgotten[row] for row in range(len(forgets))]


class _Known(NamedTuple):
    """A page that has a record, and where."""

    handle: Handle
    packed: bytes
    record: PageRecord


async def _find(page_ids: Iterable[PageId], store: RecordStore, handle_key: bytes) -> dict[PageId, _Known]:
    """The records of those pages that have one."""
    known: dict[PageId, _Known] = {}
    places = {page_id: handle_of(page_id, handle_key) for page_id in page_ids}
    while places:
        values = await store.fetch(list(places.values()))
        taken: dict[PageId, Handle] = {}
        for (page_id, handle), packed in zip(places.items(), values, strict=True):
            if packed is None:
                continue
            record = PageRecord.unpack(packed)
            if record.id == page_id:
                known[page_id] = _Known(handle, packed, record)
            else:
                taken[page_id] = handle
        places = {page_id: next_handle(handle) for page_id, handle in taken.items()}
    return known
