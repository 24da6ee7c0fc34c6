"""Publish dead letters again: from their topic, or corrected from files."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import time

import numpy as np

from neardup_daemon.kafka_wiring import SENT_BYTES, kafka_sink
from neardup_daemon.repair.dead_letters_topic import open_dead_letters
from neardup_daemon.settings.settings import Settings
from neardup_stream.chunks import in_chunks, in_runs
from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.message import Message, Partition
from neardup_stream.pipeline.offsets import next_offsets
from neardup_stream.streams.files.inputs import STDIN
from neardup_stream.streams.files.jsonl import JsonLinesSink
from neardup_stream.streams.protocol import Sink
from neardup_stream.wire.dead_letters import to_json_line
from neardup_stream.wire.replays import Fate, fate, from_json_line, reason_of, replayed

__all__ = ["Choice", "in_batches", "replay_files", "replay_topic", "save_topic"]

_BATCH_RECORDS = 500


@dataclass(frozen=True, slots=True)
class Choice:
    """Which dead letters are put back.

    Attributes:
        reasons: only letters with one of these; empty for all.
        max_attempts: letters whose record was put back so often stay.
    """

    reasons: frozenset[str]
    max_attempts: int


async def replay_topic(settings: Settings, choice: Choice, *, from_start: bool) -> Counter[Fate]:
    """Replay the letters that the topic has now; the next run continues after them.

    A record that becomes a dead letter again meanwhile is left to the next run.

    Returns:
        How many letters met each fate.

    Raises:
        StreamUnavailable: Kafka cannot be reached, or another replay is at work. What was put back may be
            put back again.
        ConfigError: a topic does not exist, or refuses us or a record's size.
    """
    fates: Counter[Fate] = Counter()
    async with (
        kafka_sink(settings, settings.kafka.pages_topic) as sink,
        open_dead_letters(settings, from_start=from_start) as topic,
    ):
        async for records in topic.records():
            letters = [record.message() for record in records]
            fates += await _put_back(letters, choice, sink, settings.kafka.pages_topic)
            await topic.commit(next_offsets(records), f"put back into {settings.kafka.pages_topic}")
    return fates


async def save_topic(settings: Settings, choice: Choice, path: Path, *, from_start: bool) -> Counter[Fate]:
    """Write the letters of the topic into a file instead, to be corrected; later runs continue after them.

    They are dealt with once the file has its name: where a run ends earlier, the next one saves them again.

    Raises:
        StreamUnavailable: as above, or the disk is full. The next run saves again what the error names.
        ConfigError: the topic does not exist or refuses us; the file cannot be written, or holds letters.
    """
    _check_is_new(path)
    fates: Counter[Fate] = Counter()
    offsets: dict[Partition, int] = {}
    async with open_dead_letters(settings, from_start=from_start) as topic:
        async with JsonLinesSink(str(path)) as sink:
            async for records in topic.records():
                wanted = [
                    letter
                    for letter in (record.message() for record in records)
                    if not choice.reasons or reason_of(letter) in choice.reasons
                ]
                await sink.send([Message(key=None, value=to_json_line(letter)) for letter in wanted])
                offsets |= next_offsets(records)
                fates["replayed"] += len(wanted)
                fates["other_reason"] += len(records) - len(wanted)
        await topic.commit(offsets, f"saved to {path}")
    return fates


def replay_files(settings: Settings, choice: Choice, files: Sequence[str]) -> Counter[Fate]:
    """Put the letters of files back, once all are read.

    They are awaited without an event loop, which would keep a signal until they have come.

    Raises:
        StreamUnavailable: Kafka cannot be reached.
        ConfigError: a file cannot be read, or the topic refuses us or a record's size.
        CorruptData: a line is no dead letter; nothing was put back.
    """
    letters = [letter for file in files for letter in _read(file)]
    return asyncio.run(_put_all_back(letters, settings, choice))


async def _put_all_back(letters: Sequence[Message], settings: Settings, choice: Choice) -> Counter[Fate]:
    fates: Counter[Fate] = Counter()
    async with kafka_sink(settings, settings.kafka.pages_topic) as sink:
        for some in in_batches(letters):
            fates += await _put_back(some, choice, sink)
    return fates


def in_batches(letters: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Yield all in order, as many as one send has the time for."""
    for some in in_chunks(letters, _BATCH_RECORDS):
        sizes = np.array([letter.size_bytes for letter in some], dtype=np.int64)
        for start, end in in_runs(sizes, SENT_BYTES):
            yield some[start:end]


async def _put_back(
    letters: Sequence[Message], choice: Choice, sink: Sink, topic: str | None = None
) -> Counter[Fate]:
    fates = [fate(letter, choice.reasons, choice.max_attempts) for letter in letters]
    now_ms = int(time() * 1000)
    records = [
        replayed(letter, now_ms, topic)
        for letter, decided in zip(letters, fates, strict=True)
        if decided == "replayed"
    ]
    largest_bytes = max((record.size_bytes for record in records), default=0)
    if sink.max_message_bytes is not None and largest_bytes > sink.max_message_bytes:
        raise ConfigError(
            f"a record of {largest_bytes} bytes does not fit into the pages topic, which takes"
            f" {sink.max_message_bytes}: raise its max.message.bytes, and limits.max_page_bytes where that is"
            " smaller"
        )
    await sink.send(records)
    return Counter(fates)


def _check_is_new(path: Path) -> None:
    try:
        has_letters = path.is_file() and path.stat().st_size > 0
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    if has_letters:
        raise ConfigError(
            f"{path} exists, and may hold letters that no later run saves again: put them back with"
            f" 'replay {path}' and remove it, or name another file"
        )


def _read(file: str) -> list[Message]:
    path = Path("/dev/stdin") if file == STDIN else Path(file)
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error
    letters = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                letters.append(from_json_line(line))
            except CorruptData as error:
                raise CorruptData(f"{file}, line {number}: {error}") from error
    return letters
