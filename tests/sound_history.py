"""A small crawl in which everything happens once, as a history: for tests that spoil one thing of it."""

import asyncio
from functools import cache
from typing import Any

import msgspec

from neardup_stream.events import Event, EventData, EventName, event_subject
from neardup_stream.invariants.history import Expectations, History
from neardup_stream.invariants.judging import judge
from neardup_stream.message import Message, Partition, Position
from neardup_stream.page import Handle
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.streams.memory.streams import MemorySource, numbered
from neardup_stream.wire.events import event_id, from_message, to_message
from tests.histories_read import expectations_of, read_pipeline
from tests.page_histories import SHORT, Content, page_url, sharp_pipeline, text_of
from tests.pipelines import page_json

__all__ = [
    "CLUSTERED",
    "PARTITION",
    "at",
    "blame",
    "cluster_id_of",
    "handle_of_page",
    "message_of",
    "record_of",
    "sound_expectations",
    "sound_history",
    "with_event",
    "with_record",
    "without_events",
    "without_record",
]

PARTITION = Partition("pages", 0)
RECORDS: tuple[tuple[int, Content | bytes | None], ...] = (
    (0, Content(1, 0)),
    (1, Content(1, 0, is_edited=True)),  # a duplicate of 0
    (2, Content(2, 4)),
    (3, Content(2, 2)),
    (4, Content(2, 3)),  # a duplicate of 2; so is 3 from now on: a merge
    (5, Content(3, 0)),  # alone
    (5, Content(3, 0)),  # unchanged
    (6, SHORT),
    (7, Content(4, 0)),
    (7, None),  # gone
    (0, Content(5, 0)),  # changed: 1 represents its cluster
    (9, b""),  # a dead letter
    (9, page_json("9", "of no use", status=404)),  # skipped
    (9, None),  # never heard of
    (10, Content(2, 3)),  # a copy of 4
    (11, Content(7, 0)),
    (12, Content(7, 0)),  # a copy of 11
)
CLUSTERED = {2: (2, 3, 4, 10), 11: (11, 12)}
"""The pages that are together in the end, by the one that represents them."""


@cache
def _sound() -> tuple[History, Expectations]:
    pipeline = sharp_pipeline(statuses=frozenset({200}))
    values = [
        page_json(str(page), text_of(what)) if isinstance(what, Content) else what for page, what in RECORDS
    ]
    keys = [page_url(page).encode() for page, _ in RECORDS]
    records = numbered(values, keys=keys, partition=PARTITION)

    async def run() -> History:
        async with MemorySource(records) as source:
            await pipeline.loop(source).run(asyncio.Event())
        return await read_pipeline(pipeline, records, source.committed)

    return asyncio.run(run()), expectations_of(pipeline)


def sound_history() -> History:
    """Nothing is wrong with it."""
    return _sound()[0]


def sound_expectations() -> Expectations:
    """Return what may be concluded from it."""
    return _sound()[1]


def blame(history: History, expectations: Expectations | None = None) -> dict[int, list[str]]:
    """Return what the judges find, by invariant."""
    found: dict[int, list[str]] = {}
    for violation in judge(history, expectations or sound_expectations()):
        found.setdefault(violation.invariant, []).append(violation.detail)
    return found


def at(offset: int) -> Position:
    """Of a record."""
    return Position(PARTITION, offset)


def record_of(history: History, page: int) -> PageRecord:
    """Return what is stored of a page."""
    return history.records[handle_of_page(history, page)]


def handle_of_page(history: History, page: int) -> Handle:
    """Return where it is stored."""
    return next(handle for handle, record in history.records.items() if record.id == page_url(page))


def cluster_id_of(page: int) -> str:
    """Return the cluster in which a page is."""
    history = sound_history()
    handle = handle_of_page(history, page)
    return next(key for key, cluster in history.clusters.items() if handle in cluster.members)


def with_record(history: History, page: int, **fields: Any) -> History:
    """Return the same, but the page's record says something else."""
    changed = msgspec.structs.replace(record_of(history, page), **fields)
    return history._replace(records={**history.records, handle_of_page(history, page): changed})


def without_record(history: History, page: int) -> History:
    """Return the same, but nothing is stored of a page."""
    gone = handle_of_page(history, page)
    return history._replace(
        records={handle: record for handle, record in history.records.items() if handle != gone}
    )


def without_events(history: History, lost: Message) -> History:
    """Return the same, but one event is not on the topic."""
    return history._replace(events=[message for message in history.events if message != lost])


def with_event(history: History, name: EventName, offset: int, data: EventData, own_id: str = "") -> History:
    """Return the same with another event, as if the record at an offset had caused it."""
    event = Event(
        id=own_id or event_id(name, at(offset)),
        name=name,
        source="/neardup/nd/pages",
        subject=event_subject(data),
        time_ms=0,
        data=data,
    )
    return history._replace(events=[*history.events, to_message(event)])


def message_of(history: History, name: EventName, offset: int) -> Message:
    """Return the event of this name that the record at an offset has caused."""
    wanted = event_id(name, at(offset))
    return next(message for message in history.events if from_message(message).id == wanted)
