"""Broken variants of the protocol: each has the real parts and one that lacks what makes it safe.

They show that the runs find such defects. What is missing here is what `docs/delivery.md` argues from.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup_stream.clusters import planning
from neardup_stream.clusters.cells import PageCell
from neardup_stream.events import Event, Gone
from neardup_stream.fingerprints.framed import WholeOverlaps, whole_overlaps
from neardup_stream.message import Message, Partition, Record
from neardup_stream.pipeline import classification, event_building, pair_figures, register
from neardup_stream.pipeline.arrival import Arrival, Registered
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.former_epochs import FormerEpochs
from neardup_stream.pipeline.offsets import next_offsets
from neardup_stream.pipeline.pair_figures import WholeFigures
from neardup_stream.pipeline.register import Plan
from neardup_stream.stores.cluster_store import AGED, PAGES, SWEPT, TRIMMED, Aged, CellAddress, Transaction
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import ProbeAnswer, ProbeLimits, TableEntries, TableMembers
from neardup_stream.wire.events import event_id, merge_event_id, to_message
from tests.schedules.broker import Broker
from tests.schedules.shared import Protocol, Stores

__all__ = ["BROKEN"]


class _Part:
    """A part with some methods of its own; whatever else is asked for is the real one's."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _Claiming(_Part):
    """Commits what it reads before it is processed."""

    async def read(self, max_records: int, max_bytes: int) -> Sequence[Record]:
        records: Sequence[Record] = await self._real.read(max_records, max_bytes)
        await self._real.commit(next_offsets(records))
        return records


class _NotesNothing(_Part):
    """Sends what was decided without a note beside the committed offset."""

    async def note_decided(self, next_offsets: Mapping[Partition, int]) -> Collection[Partition]:
        return next_offsets.keys()


class _Lazy(_Part):
    """Says that messages are delivered as soon as it is asked to, so the commit comes before."""

    def __init__(self, real: Any) -> None:
        super().__init__(real)
        self._sending: set[asyncio.Task[None]] = set()

    async def send(self, messages: Sequence[Message]) -> None:
        task = asyncio.create_task(self._send(messages))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send(self, messages: Sequence[Message]) -> None:
        await asyncio.sleep(1)
        await self._real.send(messages)


async def _take_for_unchanged(
    *arguments: Any, register: Callable[..., Awaitable[list[Registered]]] = register.register
) -> list[Registered]:
    """Takes the version that this very position made, and that is not decided yet, for unchanged."""
    return [
        msgspec.structs.replace(each, change="unchanged") if each.change == "replayed" else each
        for each in await register(*arguments)
    ]


@contextmanager
def _swapped(owner: Any, name: str, broken: Any) -> Iterator[None]:
    """Something of a module or a class is another for a while."""
    real = getattr(owner, name)
    setattr(owner, name, broken)
    try:
        yield
    finally:
        setattr(owner, name, real)


def _plan_again(
    arrival: Arrival,
    stored: PageRecord | None,
    *rest: Any,
    plan: Callable[..., Plan] = register.plan,
    **named: bool,
) -> Plan:
    """Applies an offset that was applied already, unless it made the living version."""
    if stored is not None:
        position = arrival.record.position
        applied = position.partition.input_id, position.partition.number, position.offset
        later = tuple(each for each in stored.later if each != applied)
        stored = msgspec.structs.replace(stored, later=later)
    return plan(arrival, stored, *rest, **named)


def _plan_with_new_views(
    arrival: Arrival,
    stored: PageRecord | None,
    *rest: Any,
    plan: Callable[..., Plan] = register.plan,
    **named: bool,
) -> Plan:
    """Writes the views of a redelivered page anew, with what is known of its site's frame by now."""
    planned = plan(arrival, stored, *rest, **named)
    if planned.change != "replayed" or planned.record.state != "live":
        return planned
    record = msgspec.structs.replace(
        planned.record,
        sketch=arrival.sketch,
        shingle_count=arrival.shingle_count,
        bands=arrival.bands,
        whole=arrival.whole,
        whole_count=arrival.whole_count,
        whole_bands=arrival.whole_bands if arrival.is_whole_indexed else b"",
    )
    return planned._replace(record=record, is_write=True)


def _near_by_no_whole(wholes: WholeFigures, _inside: object, _config: VerdictConfig) -> NDArray[np.bool_]:
    """Compares contents only, so a page whose frame was not known matches no page without its frame."""
    return np.zeros(wholes.counts.shape[1], np.bool_)


def _overlap_wholes(
    *arguments: Any, overlaps: Callable[..., WholeOverlaps] = whole_overlaps
) -> WholeOverlaps:
    """Compares whole texts without asking whether what they share is content."""
    whole = overlaps(*arguments)
    everything = np.ones(len(whole.own))
    return whole._replace(own_content=everything, other_content=everything)


def _take_for_decided(*_arguments: object) -> None:
    """Takes an unchanged page for one that was decided."""


def _unguarded(store: Any, _token: str) -> Any:
    """Writes to whatever index is there."""
    return store


@contextmanager
def _ids_of_every_index() -> Iterator[None]:
    """Makes event ids of positions, and of absorbed clusters, alone."""
    with (
        _swapped(event_building, "event_id", lambda name, position, *_: event_id(name, position)),
        _swapped(event_building, "merge_event_id", lambda absorbed, at, *_: merge_event_id(absorbed, at)),
    ):
        yield


async def _open_to_all(broker: Broker, partitions: Sequence[Partition]) -> dict[Partition, tuple[int, int]]:
    """Fences no producer."""
    return {each: (0, broker.committed[each]) for each in partitions}


class _ForgetsRows(_Part):
    """Does not look whether an outcome was set before."""

    async def read(self, addresses: Sequence[CellAddress], *rest: Any) -> Any:
        values, members = await self._real.read(addresses, *rest)
        return [
            None if _is_row(address) else value for address, value in zip(addresses, values, strict=True)
        ], members

    async def commit(self, transaction: Transaction) -> int | None:
        expected = {address: value for address, value in transaction.expected.items() if not _is_row(address)}
        base: int | None = await self._real.commit(transaction._replace(expected=expected))
        return base


class _WithoutFence(_Part):
    """Knows nothing of what was trimmed."""

    async def read(self, addresses: Sequence[CellAddress], *rest: Any) -> Any:
        values, members = await self._real.read(addresses, *rest)
        return [
            None if address.table == TRIMMED and address not in (AGED, SWEPT) else value
            for address, value in zip(addresses, values, strict=True)
        ], members

    async def commit(self, transaction: Transaction) -> int | None:
        base: int | None = await self._real.commit(transaction._replace(floors={}))
        return base


async def _deliver_nothing(_former: FormerEpochs, partitions: Sequence[Partition]) -> None:
    """Begin an epoch without what the former one has not sent."""
    del partitions


class _WithoutTombstones(_Part):
    """Removes what has left as soon as its row is trimmed."""

    async def due(self, tombstone_ttl_seconds: float, limit: int) -> list[Aged]:
        del tombstone_ttl_seconds
        aged: list[Aged] = await self._real.due(0.0, limit)
        return aged

    async def read(self, addresses: Sequence[CellAddress], *rest: Any) -> Any:
        values, members = await self._real.read(addresses, *rest)
        return [
            None if address == SWEPT else value for address, value in zip(addresses, values, strict=True)
        ], members

    async def commit(self, transaction: Transaction) -> int | None:
        """Nor does it ask whether what a decision rests on may be out of date: that would be found out."""
        base: int | None = await self._real.commit(transaction._replace(aged_count=None))
        return base


class _WithoutEdges(_Part):
    """Forgets the matches that wait for a page that is not decided yet."""

    async def commit(self, transaction: Transaction) -> int | None:
        writes = {
            address: _without_edges(value) if address.table == PAGES else value
            for address, value in transaction.writes.items()
        }
        base: int | None = await self._real.commit(transaction._replace(writes=writes))
        return base


class _WithoutVersions(_Part):
    """Keeps entries that say whose they are, and not of which version; so whatever version lives is meant."""

    def __init__(self, real: Any, records: MemoryRecords) -> None:
        super().__init__(real)
        self._records = records

    async def probe_and_insert(self, entries: TableEntries, limits: ProbeLimits) -> ProbeAnswer:
        bare = entries._replace(members=_bare(entries.members))
        return await self._as_living(await self._real.probe_and_insert(bare, limits))

    async def probe(self, entries: TableEntries, limits: ProbeLimits) -> ProbeAnswer:
        bare = entries._replace(members=_bare(entries.members))
        return await self._as_living(await self._real.probe(bare, limits))

    async def remove(self, members: TableMembers) -> None:
        await self._real.remove(_bare(members))

    async def _as_living(self, answer: ProbeAnswer) -> ProbeAnswer:
        version_bytes = answer.members.version_bytes.copy()
        for row, packed in enumerate(await self._records.fetch(answer.members.handles.tolist())):
            version_bytes[row] = packed[6] if packed else 0
        return answer._replace(members=answer.members._replace(version_bytes=version_bytes))


def _bare(members: TableMembers) -> TableMembers:
    return members._replace(version_bytes=members.version_bytes * 0)


def _gone_as_it_was(event: Event) -> Message:
    """Publishes `gone` under the version with which the page lived."""
    if isinstance(event.data, Gone):
        page = msgspec.structs.replace(event.data.page, version=event.data.page.version - 1)
        event = msgspec.structs.replace(event, data=msgspec.structs.replace(event.data, page=page))
    return to_message(event)


def _is_row(address: CellAddress) -> bool:
    return address.table.startswith("rows:")


def _without_edges(packed: bytes | None) -> bytes | None:
    return msgspec.structs.replace(PageCell.unpack(packed), edges=()).pack()


def _with_clusters(part: Callable[[Any], Any]) -> Protocol:
    return Protocol(stores=lambda stores: replace(stores, clusters=part(stores.clusters)))


def _with_tables(stores: Stores) -> Stores:
    return replace(stores, tables=_WithoutVersions(stores.tables, stores.records))


BROKEN: Final[Mapping[str, Protocol]] = {
    "claim before work": Protocol(source=_Claiming),
    "commit before produce": Protocol(events=_Lazy),
    "an undecided version taken for unchanged": Protocol(
        sabotage=lambda: _swapped(register, "register", _take_for_unchanged)
    ),
    "an equal offset applied twice": Protocol(sabotage=lambda: _swapped(register, "plan", _plan_again)),
    "outcomes not set once": _with_clusters(_ForgetsRows),
    "trim without the fence": _with_clusters(_WithoutFence),
    "no tombstones": _with_clusters(_WithoutTombstones),
    "no pending edges": _with_clusters(_WithoutEdges),
    "entries without versions": Protocol(stores=_with_tables),
    "gone without a version of its own": Protocol(render=_gone_as_it_was),
    "views made anew on redelivery": Protocol(
        sabotage=lambda: _swapped(register, "plan", _plan_with_new_views)
    ),
    "no comparison of whole texts": Protocol(
        sabotage=lambda: _swapped(classification, "_near_by_whole", _near_by_no_whole)
    ),
    "whole texts that share only their frame": Protocol(
        sabotage=lambda: _swapped(pair_figures, "whole_overlaps", _overlap_wholes)
    ),
    "unchanged without decided": Protocol(sabotage=lambda: _swapped(planning, "_confirm", _take_for_decided)),
    "commit without the token": Protocol(guard=_unguarded),
    "events without a note": Protocol(source=_NotesNothing),
    "rows of a former epoch left": Protocol(
        sabotage=lambda: _swapped(FormerEpochs, "deliver", _deliver_nothing)
    ),
    "ids without the index": Protocol(sabotage=_ids_of_every_index),
    "retention by the clock of the host": Protocol(clocks=lambda seen: seen._replace(store=seen.host)),
    "transactions without a fence": Protocol(sabotage=lambda: _swapped(Broker, "open", _open_to_all)),
}
