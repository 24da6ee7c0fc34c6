"""Forgets pages: what a record without value does to the record of the page that it names.

Nothing is removed: a stub stays, with a version of its own and the offsets, so that a page that returns has a
higher version, and a replay finds its former decision.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from neardup_stream.clusters.protocol import KnownVersion
from neardup_stream.message import Position
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.arrival import Forget
from neardup_stream.pipeline.page_places import PagePlace, find_places
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordAnswer, RecordChange, RecordStore

__all__ = [
    "ForgetPlan",
    "ForgetResult",
    "Forgotten",
    "KeepFormer",
    "forget",
    "keep_nothing",
    "plan_forget",
]

KeepFormer = Callable[[Position, Handle, PageRecord | None], None]
"""Called with the position of a record, the handle of its page, and the version that it is to replace.

Called with None where it did not replace that version, because another process changed the page before it.
"""


def keep_nothing(_position: Position, _handle: Handle, _former: PageRecord | None) -> None:
    """Keep no version."""


ForgetResult = Literal["forgotten", "replayed", "superseded", "unknown"]
"""What a forget is to its page; replayed: this very position made the stub. superseded: it is older than what
is known of the page. unknown: no page has any of the ids."""


class ForgetPlan(NamedTuple):
    """What a forget does to a page.

    Attributes:
        result: in a word.
        record: the new record of the page.
        is_write: whether that must be written.
        former: the living version that it replaces, whose index entries are to go.
    """

    result: ForgetResult
    record: PageRecord
    is_write: bool
    former: PageRecord | None = None


class Forgotten(NamedTuple):
    """A forget and its result.

    Attributes:
        forget: as it came.
        result: in a word.
        handle: of the page, None for an unknown one.
        places: of an unknown page, the handles that it would have.
        record: the present record of the page: the stub, or what is newer than the forget.
        former: the living version that this forget replaced; None where it replaced none, or where another
            process did so for it.
        decided_before: the last version before `former` that was decided, where `former` was not yet.
    """

    forget: Forget
    result: ForgetResult
    handle: Handle | None = None
    record: PageRecord | None = None
    former: PageRecord | None = None
    places: tuple[Handle, ...] = ()
    decided_before: PageRecord | None = None


def plan_forget(
    position: Position, stored: PageRecord, now_seconds: int, known_version: int = 0
) -> ForgetPlan:
    """Return what a forget changes in the stored record of its page.

    A page that has expired is forgotten too: expiry published no event, and the forget asks for one.

    Args:
        position: of the forget.
        stored: the page's record.
        now_seconds: epoch seconds.
        known_version: the version that the stub must exceed.
    """
    planned = _plan(position, stored, now_seconds)
    if planned.result == "superseded" or planned.record.version > known_version:
        return planned
    stub = planned.record.raised_above(known_version)
    return planned._replace(result="forgotten", record=stub, is_write=True)


def _plan(position: Position, stored: PageRecord, now_seconds: int) -> ForgetPlan:
    if stored.state == "gone" and stored.is_made_by(position):
        return ForgetPlan("replayed", stored, is_write=False)
    if stored.has_passed(position):
        return ForgetPlan("superseded", stored, is_write=False)
    former = None if stored.state == "gone" else stored
    return ForgetPlan("forgotten", stored.forgotten_by(position, now_seconds), is_write=True, former=former)


async def forget(
    forgets: Sequence[Forget],
    store: RecordStore,
    handle_key: bytes,
    now_seconds: int,
    known: Mapping[Position, KnownVersion] = MappingProxyType({}),
    keep: KeepFormer = keep_nothing,
) -> list[Forgotten]:
    """Turn the records of pages into stubs.

    Of the ids that a forget may mean, the first one whose page lives counts, else the first known one.

    Args:
        forgets: in the order they came; several may name one page.
        store: keeps the records.
        handle_key: secret of this index.
        now_seconds: when they are processed, epoch seconds.
        known: what the clusters know of pages whose records they have found behind.
        keep: called with each version that is to be replaced, before it is, and where it was not.

    Raises:
        StoreUnavailable: some stubs may be written; forgetting again gives the same ones.
        CorruptData: a stored record cannot be read.
    Cost: two round trips, two more for what others change meanwhile.
    """
    forgotten: dict[int, Forgotten] = {}
    seen: dict[int, RecordAnswer] = {}
    pending = list(range(len(forgets)))
    while pending:
        page_ids = {each for row in pending for each in forgets[row].page_ids}
        places = await find_places(page_ids, store, handle_key)
        changes: dict[int, RecordChange] = {}
        for row in pending:
            position = forgets[row].record.position
            candidates = {each: places[each] for each in forgets[row].page_ids}
            found = _plan_among(position, candidates, now_seconds, known.get(position))
            if found is None:
                handles = tuple(place.handle for place in candidates.values())
                forgotten[row] = Forgotten(forgets[row], "unknown", places=handles)
                continue
            place, (result, record, is_write, former) = found
            forgotten[row] = Forgotten(forgets[row], result, place.handle, record, former)
            if former is not None:
                keep(position, place.handle, former)
            if is_write:
                answer = seen.get(row, RecordAnswer(None, store.known_floor(place.handle)))
                changes[row] = RecordChange(
                    place.handle, place.packed, record.pack(), answer.floor, answer.was_dropped
                )
        answers = dict(zip(changes, await store.replace(list(changes.values())), strict=True))
        pending = [row for row, change in changes.items() if answers[row].value != change.new]
        seen.update((row, answers[row]) for row in pending)
        for row in pending:
            if forgotten[row].former is not None:
                keep(forgets[row].record.position, changes[row].handle, None)
    return [forgotten[row] for row in range(len(forgets))]


def _plan_among(
    position: Position,
    candidates: Mapping[PageId, PagePlace],
    now_seconds: int,
    known: KnownVersion | None,
) -> tuple[PagePlace, ForgetPlan] | None:
    """Return which page a forget means, and what it changes; None where no page is known."""
    known_handle, known_version = (known.handle, known.version) if known is not None else (None, 0)
    there = [
        (page_id, place)
        for page_id, place in candidates.items()
        if place.record is not None or place.handle == known_handle
    ]
    if not there:
        return None
    page_id, place = min(there, key=lambda each: _preference(position, each[1].record))
    if place.record is not None:
        return place, plan_forget(position, place.record, now_seconds, known_version)
    stub = PageRecord.stub(page_id, position, now_seconds, known_version)
    return place, ForgetPlan("forgotten", stub, is_write=True)


def _preference(position: Position, record: PageRecord | None) -> int:
    """Return which of the pages comes first, the lowest.

    The stub of this very forget; else one that has passed it, because the forget is read again, and was of
    that page; else a page that lives.
    """
    if record is None or record.state != "gone":
        return 2
    if record.is_made_by(position):
        return 0
    return 1 if record.has_passed(position) else 3
