"""What pages leave behind in the tables when they change or go, and who meets whom there."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from neardup_stream.message import Partition
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.doubles.tables import MemoryTables
from tests.page_histories import SHORT, TABLES, Content, Op, PageHistory, Sweep, page_url, sharp_pipeline
from tests.pipelines import Pipeline, essay, page_json

TEXT, OTHER_TEXT = Content(1, 0), Content(2, 0)


def versions_in_tables(pipeline: Pipeline) -> list[int]:
    """Of every entry, the version byte."""
    assert isinstance(pipeline.tables, MemoryTables)
    return [member[2] for members in pipeline.tables.groups() for member in members]


@pytest.mark.parametrize(
    ("story", "versions"),
    [
        pytest.param([Op(0, TEXT)], [1] * TABLES, id="one-page-one-entry-a-table"),
        pytest.param([Op(0, TEXT), Op(0, TEXT)], [1] * TABLES, id="unchanged"),
        pytest.param([Op(0, TEXT), Op(0, OTHER_TEXT)], [2] * TABLES, id="changed"),
        pytest.param([Op(0, TEXT), Op(0, SHORT)], [], id="too-short-now"),
        pytest.param([Op(0, TEXT), Op(0, None)], [], id="forgotten"),
        pytest.param([Op(0, TEXT), Op(0, None), Op(0, TEXT)], [3] * TABLES, id="forgotten-and-back"),
        pytest.param([Op(0, TEXT), Sweep(10)], [], id="expired"),
        pytest.param([Op(0, TEXT), Sweep(10), Op(0, TEXT)], [2] * TABLES, id="expired-and-back"),
        pytest.param([Op(0, TEXT), Sweep(10), Sweep(2), Op(0, TEXT)], [2] * TABLES, id="dropped-and-back"),
    ],
)
@pytest.mark.parametrize("batch_pages", [1, 8])
async def test_the_tables_hold_the_living_version_and_nothing_else(
    batch_pages: int, story: Sequence[Op | Sweep], versions: list[int]
) -> None:
    history = PageHistory(sharp_pipeline())

    await history.live(story, batch_pages)

    assert versions_in_tables(history.pipeline) == versions


@pytest.mark.parametrize("way", [None, SHORT, OTHER_TEXT], ids=["forgotten", "too-short", "changed"])
async def test_a_page_that_returns_is_found_again_by_its_new_version(way: Content | None) -> None:
    history = PageHistory(sharp_pipeline())

    await history.live([Op(0, TEXT), Op(0, way), Op(1, TEXT), Op(0, TEXT), Op(2, TEXT)], batch_pages=2)

    assert set((await history.clusters()).values()) == {(page_url(1), frozenset(map(page_url, range(3))))}


async def test_pages_of_two_hosts_meet_in_no_table() -> None:
    pipeline = Pipeline(scope="host")
    pages = [
        page_json(name, essay(1), url=f"https://{host}.example/{name}") for name in "ab" for host in "xy"
    ]
    source = MemorySource(numbered(pages, partition=Partition("pages", 0)))

    async with source:
        await pipeline.loop(source).run(asyncio.Event())

    assert pipeline.pairs() == [(f"https://{host}.example/b", [f"https://{host}.example/a"]) for host in "xy"]
    assert isinstance(pipeline.tables, MemoryTables)
    assert {len(members) for members in pipeline.tables.groups()} == {2}


@pytest.mark.parametrize("tombstone_ttl_seconds", [0, 600], ids=["forgotten-by-the-clusters", "remembered"])
async def test_a_page_that_stood_alone_says_what_it_was_however_long_ago(
    tombstone_ttl_seconds: float,
) -> None:
    pipeline = sharp_pipeline(
        tombstone_ttl_seconds=tombstone_ttl_seconds, event_config=EventConfig(unique=True)
    )

    history = PageHistory(pipeline)
    for content in (TEXT, OTHER_TEXT, None):
        await history.live([Op(0, content)], batch_pages=1)

    first, second, gone = (msgspec.json.decode(message.value or b"") for message in pipeline.events.messages)
    assert second["previous"] == {"version": 1, "cluster": first["cluster"]["id"]}
    assert gone["cluster"] == second["cluster"]


@pytest.mark.parametrize(
    ("story", "versions"),
    [
        pytest.param([Op(0, TEXT), Op(0, None)], [2], id="once"),
        pytest.param([Op(0, TEXT), Op(0, None), Op(0, None)], [2, 3], id="forgotten-again"),
        pytest.param([Op(0, TEXT), Sweep(10), Op(0, None)], [2], id="expired-silently-before"),
        pytest.param([Op(0, TEXT), Sweep(10), Sweep(2), Op(0, None)], [], id="no-trace-is-left"),
        pytest.param([Op(0, None)], [], id="never-stored"),
    ],
)
async def test_every_forget_of_a_known_page_is_published(
    story: Sequence[Op | Sweep], versions: list[int]
) -> None:
    history = PageHistory(sharp_pipeline())

    await history.live(story, batch_pages=1)

    events = [msgspec.json.decode(message.value or b"") for message in history.pipeline.events.messages]
    assert [event["page"]["version"] for event in events] == versions
