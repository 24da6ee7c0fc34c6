"""What a page matches does not depend on the records that come after it."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from neardup_stream.errors import StoreUnavailable
from neardup_stream.events import DuplicateFound
from neardup_stream.message import Partition, Position
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordAnswer, RecordChange
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.doubles.tables import MemoryTables
from tests.pipelines import Pipeline, SlowFetches, essay, in_arrays, page_json
from tests.unit.pipeline.swept_stores import SweptStore

PARTITION = Partition("pages", 0)

Crawl = Sequence[tuple[str, int | None]]
"""Names of pages, each with the topic of its text, or TOO_SHORT; None: the page is forgotten."""

TOO_SHORT = 0

FORGOTTEN: Crawl = [("copy", 1), ("page", None)]
CHANGED: Crawl = [("copy", 1), ("page", 2)]
CHANGED_TWICE: Crawl = [("copy", 1), ("page", 2), ("page", 3)]
CHANGED_AND_COPIED: Crawl = [("copy", 1), ("page", 2), ("other", 2)]
CHANGED_TO_SHORT: Crawl = [("copy", 1), ("page", TOO_SHORT)]
GROWN: Crawl = [("copy", 1), ("brief", 2)]
CHANGED_AND_LATE: Crawl = [("copy", 1), ("page", 2), ("late", 1)]


class UnansweredChange(SlowFetches):
    """Loses the answer to the first change of a stored record."""

    was_lost = False

    async def replace(self, changes: Sequence[RecordChange]) -> list[RecordAnswer]:
        answers = await super().replace(changes)
        if not self.was_lost and any(change.expected for change in changes):
            self.was_lost = True
            raise StoreUnavailable("no answer", "timeout")
        return answers


class OvertakenChange(UnansweredChange):
    """Another daemon forgets the pages of the change that loses its answer."""

    async def replace(self, changes: Sequence[RecordChange]) -> list[RecordAnswer]:
        try:
            return await super().replace(changes)
        except StoreUnavailable:
            records = [
                PageRecord.unpack(change.new).forgotten_by(Position(PARTITION, 99), 0) for change in changes
            ]
            await super().replace(
                [
                    RecordChange(change.handle, change.new, record.pack())
                    for change, record in zip(changes, records, strict=True)
                ]
            )
            raise


class Forestalled(SlowFetches):
    """Another daemon changes a page first, and the answer to the second change of ours is lost.

    Args:
        theirs: the record that it makes of the stored one and of the one that this daemon would write.
    """

    def __init__(self, theirs: Callable[[PageRecord, PageRecord], PageRecord]) -> None:
        super().__init__()
        self._theirs = theirs
        self._change_count = 0

    async def replace(self, changes: Sequence[RecordChange]) -> list[RecordAnswer]:
        known = [change for change in changes if change.expected]
        self._change_count += bool(known)
        if known and self._change_count == 1:
            await super().replace([self._their_change(change) for change in known])
        answers = await super().replace(changes)
        if known and self._change_count == 2:
            raise StoreUnavailable("no answer", "timeout")
        return answers

    def _their_change(self, change: RecordChange) -> RecordChange:
        stored, ours = PageRecord.unpack(change.expected or b""), PageRecord.unpack(change.new)
        return RecordChange(change.handle, change.expected, self._theirs(stored, ours).pack())


def forgets_it(stored: PageRecord, _ours: PageRecord) -> PageRecord:
    return stored.forgotten_by(Position(Partition("pages", 7), 99), 0)


def changes_it_alike(_stored: PageRecord, ours: PageRecord) -> PageRecord:
    return msgspec.structs.replace(ours, made_by=("pages", 7, 99), later=(), rank=5)


class SweptLate(SweptStore):
    """Lets everything else that runs go on before tombstones are swept."""

    async def meanwhile(self) -> None:
        for _ in range(200):
            await asyncio.sleep(0)


def url(name: str) -> str:
    return f"https://example.com/{name}"


async def run(pipeline: Pipeline, crawl: Crawl, first_offset: int) -> None:
    values = [
        None if topic is None else page_json(name, essay(topic) if topic else "short")
        for name, topic in crawl
    ]
    keys = [url(name).encode() for name, _ in crawl]
    source = MemorySource(numbered(values, keys=keys, partition=PARTITION, first_offset=first_offset))
    async with source:
        await pipeline.loop(source).run(asyncio.Event())
    assert not any(vars(pipeline.former).values()), "versions are kept after their runs are decided"


@pytest.mark.parametrize("batch_pages", [1, 2, 4])
@pytest.mark.parametrize("crawl", [CHANGED, CHANGED_TWICE, CHANGED_AND_COPIED, FORGOTTEN])
@pytest.mark.parametrize(
    "stores",
    [
        Pipeline,
        lambda: Pipeline(records=SlowFetches()),
        lambda: Pipeline(records=UnansweredChange()),
        in_arrays,
    ],
    ids=["quick", "slow", "unanswered", "in arrays"],
)
async def test_a_copy_matches_what_the_page_was_when_the_copy_came(
    stores: Callable[[], Pipeline], crawl: Crawl, batch_pages: int
) -> None:
    pipeline = stores()
    pipeline.limits = InFlightLimits(batch_pages, max_in_flight_pages=16)
    await run(pipeline, [("page", 1)], first_offset=0)

    await run(pipeline, crawl, first_offset=1)

    assert dict(pipeline.pairs()).pop(url("copy")) == [url("page")]
    assert pipeline.meters.outcomes["duplicate"] == 1 + (crawl is CHANGED_AND_COPIED)


@pytest.mark.parametrize("batch_pages", [1, 4])
@pytest.mark.parametrize("crawl", [CHANGED, CHANGED_TWICE, CHANGED_AND_COPIED, CHANGED_AND_LATE, FORGOTTEN])
@pytest.mark.parametrize("is_unavailable", [False, True], ids=["available", "unavailable-meanwhile"])
@pytest.mark.parametrize("times", [1, 5])
async def test_a_run_that_is_looked_at_again_matches_what_pages_were_when_it_came(
    crawl: Crawl, batch_pages: int, times: int, *, is_unavailable: bool
) -> None:
    clusters, tables = SweptLate(0), MemoryTables()
    limits = InFlightLimits(batch_pages, max_in_flight_pages=16)
    pipeline = Pipeline(clusters=clusters, tables=tables, limits=limits)
    await run(pipeline, [("page", 1)], first_offset=0)

    clusters.times, clusters.is_unavailable = times, is_unavailable
    await run(pipeline, crawl, first_offset=1)

    assert clusters.times == 0
    assert dict(pipeline.pairs()).pop(url("copy")) == [url("page")]
    assert stored_versions(tables) == await versions_without_disturbance(crawl)


@pytest.mark.parametrize("batch_pages", [1, 4])
@pytest.mark.parametrize("crawl", [CHANGED, CHANGED_AND_COPIED, FORGOTTEN, CHANGED_TO_SHORT, GROWN])
@pytest.mark.parametrize(
    "stores",
    [
        lambda: {"records": UnansweredChange()},
        lambda: {"clusters": SweptLate(1)},
        lambda: {"records": UnansweredChange(), "clusters": SweptLate(1)},
    ],
    ids=["unanswered", "stale", "unanswered-and-stale"],
)
async def test_a_run_that_is_registered_twice_says_and_removes_what_its_pages_were(
    stores: Callable[[], dict[str, Any]], crawl: Crawl, batch_pages: int
) -> None:
    limits = InFlightLimits(batch_pages, max_in_flight_pages=16)
    disturbed, quiet = MemoryTables(), MemoryTables()

    events = await published(Pipeline(tables=disturbed, limits=limits, **stores()), crawl)

    assert events == await published(Pipeline(tables=quiet, limits=limits), crawl)
    assert stored_versions(disturbed) == stored_versions(quiet)


@pytest.mark.parametrize("crawl", [CHANGED, FORGOTTEN])
async def test_what_a_superseded_record_replaced_is_removed(crawl: Crawl) -> None:
    tables = MemoryTables()
    pipeline = Pipeline(tables=tables, records=OvertakenChange())
    await run(pipeline, [("page", 1)], first_offset=0)
    (of_page,) = stored_versions(tables)

    await run(pipeline, crawl, first_offset=1)

    assert pipeline.meters.outcomes["superseded"] == 1
    assert of_page not in stored_versions(tables)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("last", [3, None], ids=["changes twice", "changes and is forgotten"])
async def test_a_page_leaves_the_version_that_was_decided_where_the_next_one_was_superseded(
    last: int | None, times: int
) -> None:
    """Both come in one batch, so that the second one is registered before the first is looked at again."""
    tables = MemoryTables()
    pipeline = Pipeline(tables=tables, clusters=SweptLate(times))

    of_page, *_, event = await published(pipeline, [("page", 2), ("page", last)])

    assert pipeline.meters.outcomes["superseded"] == 1
    left = event["previous"]["cluster"] if last else event["cluster"]["id"]
    assert left == of_page["cluster"]["id"]
    assert {version for _, version in stored_versions(tables)} == ({1, 3} if last else {1})


@pytest.mark.parametrize(
    ("theirs", "crawl"),
    [(forgets_it, [("page", 2)]), (forgets_it, [("page", None)]), (changes_it_alike, [("page", 2)])],
    ids=["forgotten and returns", "forgotten twice", "changed alike"],
)
async def test_a_record_that_another_daemon_forestalls_has_replaced_nothing(
    theirs: Callable[[PageRecord, PageRecord], PageRecord], crawl: Crawl
) -> None:
    """The daemon that did replace the version says so in its events, and removes the entries."""
    tables = MemoryTables()

    of_page, _, _, *events = await published(Pipeline(tables=tables, records=Forestalled(theirs)), crawl)

    assert of_page["cluster"]["id"] not in str(events)
    assert [version for _, version in stored_versions(tables)].count(1) == 2


async def published(pipeline: Pipeline, crawl: Crawl) -> list[dict[str, Any]]:
    """Return the events of three pages and then of a crawl, while the clusters remember no former version."""
    pipeline.tombstone_ttl_seconds = 0
    pipeline.event_config = EventConfig(unique=True, undecided=True)
    swept = pipeline.clusters if isinstance(pipeline.clusters, SweptLate) else SweptLate(0)
    times, swept.times = swept.times, 0
    await run(pipeline, [("page", 1), ("copy", 4), ("brief", TOO_SHORT)], first_offset=0)

    swept.times = times
    await run(pipeline, crawl, first_offset=3)
    assert swept.times == 0
    return [msgspec.json.decode(message.value or b"") for message in pipeline.events.messages]


def stored_versions(tables: MemoryTables) -> set[tuple[int, int]]:
    """Return the handle and the version byte of each page version that has entries."""
    return {(handle, version) for group in tables.groups() for _, handle, version in group}


async def versions_without_disturbance(crawl: Crawl) -> set[tuple[int, int]]:
    tables = MemoryTables()
    pipeline = Pipeline(tables=tables)
    await run(pipeline, [("page", 1)], first_offset=0)
    await run(pipeline, crawl, first_offset=1)
    return stored_versions(tables)


@pytest.mark.parametrize("batch_pages", [1, 4])
async def test_a_copy_that_comes_after_the_change_matches_nothing(batch_pages: int) -> None:
    pipeline = Pipeline(records=SlowFetches(), limits=InFlightLimits(batch_pages, max_in_flight_pages=16))
    await run(pipeline, [("page", 1)], first_offset=0)

    await run(pipeline, [("page", 2), ("copy", 1)], first_offset=1)

    assert pipeline.pairs() == []


@pytest.mark.parametrize("batch_pages", [1, 3])
@pytest.mark.parametrize("stores", [Pipeline, in_arrays])
@pytest.mark.parametrize("successor", [2, 1, None], ids=["changes", "stays", "is forgotten"])
async def test_the_distance_from_a_representative_is_that_from_its_version_that_was_decided(
    stores: Callable[[], Pipeline], successor: int | None, batch_pages: int
) -> None:
    pipeline = stores()
    pipeline.limits = InFlightLimits(batch_pages, max_in_flight_pages=16)
    await run(pipeline, [("first", 1), ("successor", 1)], first_offset=0)

    await run(pipeline, [("first", 3), ("copy", 1), ("successor", successor)], first_offset=2)

    (copy,) = (event for event in duplicates(pipeline) if event.page.id == url("copy"))
    assert copy.cluster
    assert (copy.cluster.representative.id, copy.cluster.representative.version) == (url("successor"), 1)
    assert copy.representative_distance_bits == 0


def duplicates(pipeline: Pipeline) -> list[DuplicateFound]:
    values = [message.value or b"" for message in pipeline.events.messages]
    return [msgspec.json.decode(value, type=DuplicateFound) for value in values if b'"matches"' in value]
