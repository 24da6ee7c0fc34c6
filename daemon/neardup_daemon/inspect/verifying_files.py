"""Read runs of `dedup` back from their files and their index, for `verify`."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import starmap
from pathlib import Path
from typing import NamedTuple

import msgspec

from neardup_daemon.inspect.verifying import Reading, expectations_of, read_stores
from neardup_daemon.preparing import build_preparation
from neardup_daemon.progress import OnPart, unseen
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stored_index import open_stored_index
from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.invariants.history import History
from neardup_stream.invariants.inputs import Input, read_inputs
from neardup_stream.invariants.spilled import spilled_inputs, spilled_messages
from neardup_stream.message import Message, Partition
from neardup_stream.meters import NoMeters
from neardup_stream.streams.files.digests import FILE
from neardup_stream.streams.files.source import FileSource
from neardup_stream.wire.dead_letters import DeadLetterHeader, DeadLetterLine
from neardup_stream.wire.events import input_of_source

__all__ = ["FilesOfRuns", "read_files"]

_BATCH_RECORDS = 500
_BATCH_BYTES = 8 << 20


class FilesOfRuns(NamedTuple):
    """What finished runs of `dedup` over one index were given and have written.

    Attributes:
        pages: paths of regular files: a pipe is never the same input again.
        events: paths, in the order of the runs.
        dead_letters: paths; none where they were not kept.
        state_dir: what `--state` keeps; None for the Redis in the settings.
    """

    pages: tuple[str, ...]
    events: tuple[Path, ...]
    dead_letters: tuple[Path, ...]
    state_dir: Path | None


async def read_files(files: FilesOfRuns, settings: Settings, on_part: OnPart = unseen) -> Reading:
    """Read the files, and everything that the index holds.

    Raises:
        ConfigError: a file cannot be read, an event is of none of them, or there is no such index.
        StoreUnavailable: Redis cannot be reached.
        CorruptData: a file is damaged, or what is stored is not ours.
    """
    inputs = await _inputs(files.pages, settings)
    committed: dict[Partition, int] = {}
    for each in inputs:
        partition, offset = each.position.partition, each.position.offset
        committed[partition] = max(offset + 1, committed.get(partition, 0))
    files_history = History(
        inputs=inputs,
        committed=committed,
        events=spilled_messages(_events(files.events, {one.input_id for one in committed})),
        dead_letters=spilled_messages(starmap(_letter, _lines(files.dead_letters))),
        records={},
        clusters={},
    )
    async with open_stored_index(settings, files.state_dir, is_walked=True) as stores:
        history = await read_stores(files_history, stores, on_part)
        in_force = await stores.tables.settings_in_force()
    letters_since_ms = 0 if files.dead_letters else None
    return Reading(
        history,
        expectations_of(in_force, is_quiet=True, events_since_ms=0, dead_letters_since_ms=letters_since_ms),
    )


async def _inputs(paths: tuple[str, ...], settings: Settings) -> Sequence[Input]:
    inputs = spilled_inputs()
    async with FileSource(paths, settings.limits.max_page_bytes) as source:
        preparation = build_preparation(settings, NoMeters())
        async for records in source.batches(_BATCH_RECORDS, _BATCH_BYTES):
            inputs.extend(await asyncio.to_thread(read_inputs, records, preparation))
    return inputs


def _lines(paths: Sequence[Path]) -> Iterator[tuple[Path, int, bytes]]:
    """Yield the lines of files, each behind its file and its number from 1; empty ones are left out."""
    for path in paths:
        try:
            with path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if content := line.rstrip(b"\n"):
                        yield path, number, content
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {error.strerror}") from error


class _Heading(msgspec.Struct):
    """What says which file an event is of."""

    source: str = ""


def _events(paths: Sequence[Path], input_ids: set[str]) -> Iterator[Message]:
    """Yield the events, which all have to be of these inputs; lines that are none are judged elsewhere."""
    heading = msgspec.json.Decoder(_Heading)
    for path, number, line in _lines(paths):
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            input_id = input_of_source(heading.decode(line).source)
            if input_id.startswith(FILE) and input_id not in input_ids:
                raise ConfigError(
                    f"{path}:{number}: this event is of a file that is not among --pages: name every file"
                    " that 'dedup' read, compressed as it was then"
                )
        yield Message(key=None, value=line)


def _letter(path: Path, number: int, line: bytes) -> Message:
    """Return a dead letter with its headers, which is all that is looked at."""
    try:
        headers = msgspec.json.decode(line, type=DeadLetterLine).headers
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptData(f"{path}:{number}: this is no dead letter: {error}") from error
    return Message(key=None, value=None, headers=[(each.name, _content(each)) for each in headers])


def _content(header: DeadLetterHeader) -> bytes:
    if isinstance(header.value, str):
        return header.value.encode()
    return header.value_base64 if isinstance(header.value_base64, bytes) else b""
