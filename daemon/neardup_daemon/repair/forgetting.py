"""Forget pages by records without a value: on the pages topic, or for a private index from a list."""

import secrets
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from time import time

from neardup_daemon.kafka_wiring import kafka_sink
from neardup_daemon.loop_wiring import build_loop, build_retries, line_publication, loop_config
from neardup_daemon.no_output import NoOutput
from neardup_daemon.preparing import build_preparation
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stopping import Stop
from neardup_daemon.stored_index import open_stored_index
from neardup_stream.message import FORGETS, Message, Partition, Position, Record
from neardup_stream.meters import PipelineMeters
from neardup_stream.pipeline.stages import Runtime
from neardup_stream.streams.files.jsonl import JsonLinesSink
from neardup_stream.streams.memory.streams import MemorySource

__all__ = ["forget_in_state", "publish_forgets"]


async def publish_forgets(page_ids: Sequence[str], settings: Settings) -> None:
    """Put the forgets behind everything that was published before; a daemon does the work.

    Raises:
        StreamUnavailable: Kafka cannot be reached.
        ConfigError: the topic does not exist, or cannot be written.
    """
    now_ms = int(time() * 1000)
    async with kafka_sink(settings, settings.kafka.pages_topic) as sink:
        await sink.send([Message(key=each.encode(), value=None, timestamp_ms=now_ms) for each in page_ids])


async def forget_in_state(
    page_ids: Sequence[str], settings: Settings, state_dir: Path, events: str, meters: PipelineMeters
) -> int:
    """Take the forgets through the pipeline over a private index.

    Args:
        page_ids: of the pages, or their URLs.
        settings: those of the index.
        state_dir: what `dedup --state` keeps.
        events: path of a file, or `-` for standard output.
        meters: counts the outcomes.

    Returns:
        The exit code: 0, or 128 + signal after a second signal.

    Raises:
        ConfigError: there is no such index, or the events cannot be written.
        DependencyLost: the store stayed unavailable.
        CorruptData: what is stored is not ours.
    """
    stop = Stop()
    with stop.on_signals():
        async with AsyncExitStack() as stack:
            events_sink = await stack.enter_async_context(JsonLinesSink(events))
            stores = await stack.enter_async_context(open_stored_index(settings, state_dir))
            source = await stack.enter_async_context(_forgets(page_ids))
            retries = build_retries(settings, meters)
            stop.is_watched = True
            publication = line_publication(events_sink, NoOutput())
            preparation = build_preparation(settings, meters)
            runtime = Runtime(loop_config(settings), retries, meters)
            loop = build_loop(settings, stores, source, publication, preparation, runtime)
            await loop.run(stop.requested)
    return stop.exit_code


def _forgets(page_ids: Sequence[str]) -> MemorySource:
    """Return the forgets as an input with a new id: the same page may return, and be forgotten again."""
    partition = Partition(f"{FORGETS}{secrets.token_hex(8)}", 0)
    now_ms = int(time() * 1000)
    return MemorySource(
        Record(position=Position(partition, offset), key=each.encode(), value=None, timestamp_ms=now_ms)
        for offset, each in enumerate(page_ids)
    )
