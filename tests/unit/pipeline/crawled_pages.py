"""Crawls of a few pages, and their way through the loop."""

import asyncio

from neardup_stream.message import Partition
from neardup_stream.streams.memory.streams import MemorySource
from tests.pipelines import Pipeline, essay, page_json

__all__ = ["FIRST", "crawl", "run", "url"]

FIRST = Partition("memory", 0)


def url(name: str) -> str:
    return f"https://example.com/{name}"


def crawl(count: int, topics: int) -> list[bytes | None]:
    """`count` pages about `topics` topics, one after the other."""
    return [page_json(f"p{number}", essay(number % topics)) for number in range(count)]


async def run(pipeline: Pipeline, source: MemorySource) -> None:
    async with source:
        await pipeline.loop(source).run(asyncio.Event())
