"""Hard shapes for clusters: long chains of pages, and oversized buckets of equal ones."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
import pytest

from neardup_stream.clusters.rules import Rule, anchored, components, linked
from neardup_stream.events import DuplicateFound
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_texts
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.page import Handle
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.stores.cluster_store import CellAddress, Member, MemberRange, Transaction
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.protocol import ProbeAnswer, ProbeLimits, TableEntries
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.doubles.tables import MemoryTables
from tests.page_histories import Content, Op, PageHistory, page_url, sharp_pipeline, text_of
from tests.pipelines import Pipeline, essay, page_json

CHAIN = [Op(step, Content(1, step)) for step in range(22)]


async def clusters_of_chain(rule: Rule) -> list[int]:
    history = PageHistory(sharp_pipeline(rule=rule))
    await history.live(CHAIN, batch_pages=5)
    return sorted(len(members) for _, members in (await history.clusters()).values())


async def test_a_chain_in_which_each_page_matches_only_the_next_is_one_component() -> None:
    pipeline = sharp_pipeline(rule=components)
    await PageHistory(pipeline).live(CHAIN, batch_pages=5)

    assert pipeline.pairs() == [(page_url(step), [page_url(step - 1)]) for step in range(1, 22)]
    assert await clusters_of_chain(components) == [22]


async def test_every_page_of_a_chain_says_how_far_it_is_from_the_representative() -> None:
    pipeline = sharp_pipeline(rule=components)
    await PageHistory(pipeline).live(CHAIN, batch_pages=5)

    events = [
        msgspec.json.decode(message.value or b"", type=DuplicateFound) for message in pipeline.events.messages
    ]
    text = text_of(Content(1, 0))
    first = int(fingerprint_texts([text], SimhashConfig()).fingerprints[0])
    assert [event.representative_distance_bits for event in events] == [
        (int(event.page.fingerprint) ^ first).bit_count() for event in events
    ]
    assert (
        max(event.representative_distance_bits or 0 for event in events) > events[0].matches[0].distance_bits
    )


@pytest.mark.parametrize("rule", [anchored, linked(0.9)], ids=["anchored", "linked-firmly"])
async def test_such_a_chain_does_not_become_one_cluster_with_rules_that_do_not_drift(rule: Rule) -> None:
    assert max([*await clusters_of_chain(rule), 1]) <= 3


class CountingTables(MemoryTables):
    def __init__(self, work: Counter[str]) -> None:
        super().__init__()
        self._work = work

    async def probe_and_insert(self, entries: TableEntries, limits: ProbeLimits) -> ProbeAnswer:
        answer = await super().probe_and_insert(entries, limits)
        self._work["entries found"] += len(answer.entries)
        self._work["probes"] += len(entries.rows)
        return answer


class CountingRecords(MemoryRecords):
    def __init__(self, work: Counter[str]) -> None:
        super().__init__()
        self._work = work

    async def fetch(self, handles: Sequence[Handle]) -> list[bytes | None]:
        self._work["records fetched"] += len(handles)
        return await super().fetch(handles)


class CountingClusters(MemoryClusters):
    def __init__(self, work: Counter[str]) -> None:
        super().__init__()
        self._work = work

    async def read(
        self, addresses: Sequence[CellAddress], ranges: Sequence[MemberRange] = ()
    ) -> tuple[list[bytes | None], list[list[Member]]]:
        values, members = await super().read(addresses, ranges)
        self._work["cells read"] += len(addresses)
        self._work["members read"] += sum(map(len, members))
        return values, members

    async def commit(self, transaction: Transaction) -> int | None:
        self._work["cells written"] += len(transaction.writes)
        self._work["members moved"] += len(transaction.joined) + len(transaction.left)
        return await super().commit(transaction)


def equal(number: int) -> str:
    del number
    return essay(404)


def nearly_equal(number: int) -> str:
    return essay(404).replace("word404x100", f"request{number}")


TABLES = IndexLayout(IndexConfig(bands=SketchConfig().bands)).table_count
MOST_WORK_A_PAGE = {
    "entries found": 16 * TABLES,
    "records fetched": 10,
    "cells read": 12,
    "cells written": 3,
    "members read": 0,
    "members moved": 1,
}
"""Each table gives at most sixteen candidates; most of them are the same few pages."""


@pytest.mark.parametrize("text", [equal, nearly_equal])
async def test_the_work_for_a_page_does_not_grow_with_the_size_of_its_buckets(
    text: Callable[[int], str],
) -> None:
    """The memory tables read on where Redis jumps; what they answer, and all that follows, is the same."""
    work: Counter[str] = Counter()
    pipeline = Pipeline(CountingTables(work), CountingRecords(work), clusters=CountingClusters(work))
    pipeline.limits = InFlightLimits(max_batch_pages=50, max_in_flight_pages=100)
    steps: list[Counter[str]] = []
    for first in range(0, 1000, 200):
        work.clear()
        pages = [page_json(f"error{number}", text(number)) for number in range(first, first + 200)]
        source = MemorySource(numbered(pages, first_offset=first))
        async with source:
            await pipeline.loop(source).run(asyncio.Event())
        steps.append(Counter(work))

    assert pipeline.meters.outcomes == {"unique": 1, "duplicate": 999}
    for done, most in MOST_WORK_A_PAGE.items():
        assert steps[-1][done] / 200 <= most, done
        assert steps[-1][done] <= 1.2 * steps[-3][done], done


async def test_every_page_that_may_have_missed_matches_in_an_oversized_bucket_is_counted() -> None:
    pipeline = Pipeline()
    pages = [page_json(f"error{number}", equal(number)) for number in range(200)]
    source = MemorySource(numbered([page_json("other", essay(1)), *pages]))
    async with source:
        await pipeline.loop(source).run(asyncio.Event())

    first_of_an_oversized_bucket = pipeline.layout.config.bucket_cap + 1
    assert pipeline.meters.truncated_probe_count == 200 - first_of_an_oversized_bucket
