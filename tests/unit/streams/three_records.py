"""Three responses, of which the second may be damaged, and what is read of an archive."""

import asyncio
from pathlib import Path

from neardup_stream.errors import BadPage, CorruptData
from neardup_stream.message import Record
from neardup_stream.page import Page
from neardup_stream.streams.files.source import FileSource
from neardup_stream.streams.protocol import EndOfStream
from tests.unit.streams.archives import response

__all__ = ["BOTH", "FIRST", "HTML", "LAST", "MAX_PAGE_BYTES", "SECOND", "URL", "read", "reasons", "urls"]

MAX_PAGE_BYTES = 100_000
URL = "http://site.example/page"
HTML = b"<p>some words of a page</p>" * 20
FIRST, SECOND, LAST = (response(f"{URL}/{number}", HTML) for number in range(3))


async def read(path: Path, content: bytes) -> tuple[list[Record], CorruptData | None]:
    """Return all records, and the damage that is reported behind them."""
    await asyncio.to_thread(path.write_bytes, content)
    records: list[Record] = []
    async with FileSource([str(path)], MAX_PAGE_BYTES) as source:
        while True:
            try:
                records += await source.read(100, 1 << 30)
            except EndOfStream:
                return records, None
            except CorruptData as damage:
                return records, damage


def urls(records: list[Record]) -> list[str]:
    return [record.decoded.url for record in records if isinstance(record.decoded, Page)]


def reasons(records: list[Record]) -> list[str]:
    return [record.decoded.reason for record in records if isinstance(record.decoded, BadPage)]


BOTH = [f"{URL}/0", f"{URL}/2"]
