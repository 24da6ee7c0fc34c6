import asyncio
import gzip
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from backports import zstd

from neardup_stream.message import Partition, Record
from neardup_stream.streams.files.jsonl import JsonLinesSink
from neardup_stream.streams.files.source import FileSource
from neardup_stream.streams.memory.streams import Gap, MemorySink, MemorySource, numbered
from neardup_stream.streams.protocol import Sink, Source
from tests.contracts.sinks import SINK_CHECKS, MakeSink, ReadBack
from tests.contracts.streams import (
    FINITE_SOURCE_CHECKS,
    GAP_CHECKS,
    GAP_END,
    RESUMABLE_SOURCE_CHECKS,
    SOURCE_CHECKS,
    MakeGap,
    MakeSource,
)
from tests.unit.streams.archives import resource

MAX_PAGE_BYTES = 1 << 20


@pytest.fixture(params=["memory", "jsonl", "jsonl.gz", "jsonl.zst", "warc", "warc.gz", "warc.zst"])
def make_source(request: pytest.FixtureRequest, tmp_path: Path) -> MakeSource:
    kind: str = request.param
    return (
        _memory_source
        if kind == "memory"
        else lambda values: _file_source(tmp_path / f"pages.{kind}", values)
    )


@pytest.fixture(params=["memory", "jsonl"])
def make_sink(request: pytest.FixtureRequest, tmp_path: Path) -> MakeSink:
    return _memory_sink if request.param == "memory" else lambda: _file_sink(tmp_path / "events.jsonl")


@pytest.mark.parametrize("check", [*SOURCE_CHECKS, *FINITE_SOURCE_CHECKS])
async def test_finite_source(check: Callable[[MakeSource], Awaitable[None]], make_source: MakeSource) -> None:
    await check(make_source)


@pytest.mark.parametrize("check", RESUMABLE_SOURCE_CHECKS)
async def test_resumable_source(check: Callable[[MakeSource], Awaitable[None]]) -> None:
    await check(_memory_source)


@pytest.mark.parametrize("check", GAP_CHECKS)
async def test_source_with_a_gap(check: Callable[[MakeGap], Awaitable[None]]) -> None:
    await check(_memory_gap)


@pytest.mark.parametrize("check", SINK_CHECKS)
async def test_sink(check: Callable[[MakeSink], Awaitable[None]], make_sink: MakeSink) -> None:
    await check(make_sink)


async def _memory_gap() -> tuple[Source, Callable[[], Awaitable[None]]]:
    before, behind = numbered([b"0", b"1"]), numbered([b"8", b"9"], first_offset=GAP_END)

    async def deleted_from_the_start() -> None:
        pass

    return MemorySource([*before, Gap(Partition("memory", 0), GAP_END), *behind]), deleted_from_the_start


async def _memory_source(values: Sequence[bytes]) -> Callable[[], Source]:
    runs = [numbered(values[number::3], partition=Partition("memory", number)) for number in range(3)]
    interleaved: list[Record] = [record for run in runs for record in run]
    source = MemorySource(interleaved)
    return lambda: source


async def _file_source(path: Path, values: Sequence[bytes]) -> Callable[[], Source]:
    content = _archive(values) if ".warc" in path.name else _lines(values)
    compress = _COMPRESS.get(path.suffix, bytes)
    await asyncio.to_thread(path.write_bytes, compress(content))
    return lambda: FileSource([str(path)], MAX_PAGE_BYTES)


_COMPRESS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zstd.compress}


def _lines(values: Sequence[bytes]) -> bytes:
    return b"".join(value + b"\n" for value in values)


def _archive(values: Sequence[bytes]) -> bytes:
    return b"".join(resource(f"http://site.example/{number}", value) for number, value in enumerate(values))


def _memory_sink() -> tuple[Sink, ReadBack]:
    sink = MemorySink()

    async def read_back() -> list[tuple[bytes | None, bytes | None]]:
        return [(message.key, message.value) for message in sink.messages]

    return sink, read_back


def _file_sink(path: Path) -> tuple[Sink, ReadBack]:
    sink = JsonLinesSink(str(path))

    async def read_back() -> list[tuple[bytes | None, bytes | None]]:
        written = await asyncio.to_thread((sink.partial_path or path).read_bytes)
        return [(None, line) for line in written.split(b"\n")[:-1]]

    return sink, read_back
