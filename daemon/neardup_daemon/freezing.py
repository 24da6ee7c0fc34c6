"""Freezes the pages of files, of the pages topic or of an index into an archive: for `freeze`."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, aclosing, nullcontext, suppress
from functools import partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from neardup_daemon.archives import archive_schema, text_schema
from neardup_daemon.failpoints import failing_steps
from neardup_daemon.gc_tuning import keep_what_is_loaded
from neardup_daemon.loop_wiring import build_retries
from neardup_daemon.page_freezing import Filled, PageFreezer
from neardup_daemon.preparing import forked_parents, open_spread_preparation, sketch_config
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stopping import Stop, Stopped
from neardup_daemon.tally import dead_letter_complaint
from neardup_stream.archive.building import ArchiveBuilder, Built, sorting_bytes
from neardup_stream.archive.frozen import KEYS
from neardup_stream.archive.keys import KeyKind
from neardup_stream.archive.matching import MatchingWriter
from neardup_stream.archive.parts import PartWriter
from neardup_stream.archive.passage_lists import PASSAGES, PassagesWriter
from neardup_stream.archive.search_tiles import SEARCH
from neardup_stream.archive.steps import BuildStep, OnStep
from neardup_stream.archive.texts import TEXTS, TextsWriter
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.cut_short import in_thread_for_its_result
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.selective import stored_recipe
from neardup_stream.indexes.fuzzy_keys import FuzzyKeysWriter
from neardup_stream.indexes.slicing import SlicesWriter
from neardup_stream.message import Position, Record
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.forked_parent import ForkedParent
from neardup_stream.pipeline.freezing import TimedRecord, freeze_pages
from neardup_stream.pipeline.kept_text import PREFIXES, TextParts
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import all_records
from neardup_stream.streams.files.digests import LateDigests
from neardup_stream.streams.files.outputs import check_outputs
from neardup_stream.streams.files.source import FileSource, PlaceOf

if TYPE_CHECKING:
    from neardup_daemon.wiring import Stores

__all__ = ["PARTS", "FreezeRun", "Frozen", "Origin", "forked_for_freezing", "write_archive"]

PARTS: Final = (KEYS, PASSAGES, SEARCH, TEXTS)
"""What an archive may hold beside the log; all but the first are made of texts."""

_DAY_SECONDS = 86_400
_MS = 1000

Origin = Literal["files", "index", "kafka"]
"""Where pages come from."""

_OnPages = Callable[[int], None]


class FreezeRun(NamedTuple):
    """What to freeze, and where to.

    Attributes:
        origin: where the pages are.
        files: paths, or `-` for standard input, where they are in files.
        state_dir: what `dedup --state` keeps, for an index; None for the Redis in the settings.
        unseen_days: of an index only pages that were not seen for so long; 0 for all.
        output: of the archive.
        memory_bytes: what the process may take.
        replaces: whether a file of that name may be replaced.
        parts: of the archive, of PARTS.
        common_pages: hashes of passages on more pages are set apart.
        workers: processes that decode, extract and fingerprint; the archive is the same for any number.
        key_kinds: by which pages are found, where `archive` is among the parts.
    """

    origin: Origin
    files: tuple[str, ...]
    state_dir: Path | None
    unseen_days: float
    output: Path
    memory_bytes: int
    replaces: bool
    parts: frozenset[str]
    common_pages: int
    workers: int
    key_kinds: frozenset[KeyKind]

    @property
    def text_parts(self) -> TextParts:
        """What of the texts of pages is needed."""
        is_fuzzy = KEYS in self.parts and "fuzzy" in self.key_kinds
        return self.parts - {KEYS} | ({PREFIXES} if is_fuzzy else set())


class Frozen(NamedTuple):
    """The result of a run."""

    built: Built
    filled: Filled


class _StopRequested(Exception):  # noqa: N818 - no error
    """Ends the thread that builds, before its next step."""


def forked_for_freezing(run: FreezeRun, settings: Settings) -> AbstractContextManager[Sequence[ForkedParent]]:
    """Fork the workers that `write_archive` needs, while there is no other thread."""
    if run.origin == "index":
        return nullcontext(())
    return forked_parents(settings, run.workers, run.text_parts, in_columns=False)


async def write_archive(
    run: FreezeRun, settings: Settings, on_pages: _OnPages, forked: Sequence[ForkedParent] = ()
) -> Frozen | Stopped:
    """Write an archive.

    Args:
        run: what to do.
        settings: how pages are read, fingerprinted and compared.
        on_pages: called with the number of pages read so far.
        forked: see `forked_for_freezing`.

    Returns:
        What came of it; where a signal ended it, there is no archive.

    Raises:
        ConfigError: a file, topic or index cannot be read, the name is taken, or nearly all records are dead
            letters or without text.
        CorruptData: a file or what is stored is damaged: there is no archive.
        Unavailable: the disk is full or failed, or a server is unavailable.
    """
    check_outputs(run.files, [str(run.output)])
    schema = archive_schema(settings, run.key_kinds) if KEYS in run.parts else text_schema(settings)
    stop = Stop()
    steps = _ending_steps(stop, failing_steps(settings.failpoints.points()))
    frozen: Frozen | None = None
    async with AsyncExitStack() as stack:
        stack.enter_context(stop.on_signals())
        writer = stack.enter_context(ArchiveWriter(run.output, replaces=run.replaces, on_step=steps))
        reading = await stack.enter_async_context(AsyncExitStack())
        stores = await _open_index(run, settings, reading)  # before kernels are compiled
        parts = _part_writers(run, settings, writer.directory)
        builder = stack.enter_context(ArchiveBuilder(writer, writer.directory, run.memory_bytes, parts))
        keep_what_is_loaded()
        filled = await _fill(_Filling(builder, run, settings, stop, on_pages), forked, stores)
        await reading.aclose()  # which looks whether the index is there still
        if not stop.requested.is_set():
            facts: dict[str, Any] = {"schema": schema, "inputs": dict(filled.inputs)}
            with suppress(_StopRequested):
                built = await in_thread_for_its_result(partial(builder.finish, facts))
                frozen = Frozen(built, filled)
    return frozen or Stopped(stop.unfinished_code)


def _ending_steps(stop: Stop, on_step: OnStep) -> OnStep:
    """Return what is called before each step, and ends the building once a stop is requested."""

    def reach(step: BuildStep) -> None:
        on_step(step)
        if stop.requested.is_set() and step not in {"read", "published"}:  # nothing is built yet, or all is
            raise _StopRequested

    return reach


def _part_writers(run: FreezeRun, settings: Settings, directory: Path) -> list[PartWriter]:
    sketch, sorting = sketch_config(settings), sorting_bytes(run.memory_bytes)
    fuzzy = FuzzyKeysWriter(directory) if "fuzzy" in run.key_kinds else None
    makers: dict[str, Callable[[], PartWriter]] = {
        KEYS: lambda: MatchingWriter(directory, sketch.sketch_bytes if sketch else 0, sorting // 4, fuzzy),
        PASSAGES: lambda: PassagesWriter(directory, sorting // 8, stored_recipe(), run.common_pages),
        SEARCH: lambda: SlicesWriter(directory, sorting // 8),
        TEXTS: lambda: TextsWriter(directory),
    }
    return [make() for name, make in makers.items() if name in run.parts]


class _Filling(NamedTuple):
    """How pages are added to an archive.

    Attributes:
        builder: takes them.
        run: which pages.
        settings: how they are read, fingerprinted and compared.
        stop: ends it when it is requested.
        on_pages: called with the number of pages read so far.
    """

    builder: ArchiveBuilder
    run: FreezeRun
    settings: Settings
    stop: Stop
    on_pages: _OnPages


class _Input(NamedTuple):
    """Where records come from.

    Attributes:
        records: the batches.
        place_of: names the place of a record for a person.
        digests: of the files, computed beside the reading; none of a topic.
    """

    records: AsyncGenerator[Sequence[Record], None]
    place_of: PlaceOf
    digests: LateDigests


async def _open_index(run: FreezeRun, settings: Settings, stack: AsyncExitStack) -> "Stores | None":
    """Open the index whose pages are frozen until the stack is closed; return None for other origins."""
    if run.origin != "index":
        return None
    from neardup_daemon.stored_index import open_stored_index  # noqa: PLC0415 - files need no Redis

    return await stack.enter_async_context(open_stored_index(settings, run.state_dir, is_walked=True))


async def _fill(filling: _Filling, forked: Sequence[ForkedParent], stores: "Stores | None") -> Filled:
    """Add the pages to the archive."""
    run, settings = filling.run, filling.settings
    if stores is not None:
        return await _fill_from_index(filling, stores)
    digests = LateDigests()
    if run.origin == "kafka":
        given = _Input(_topic_records(settings), _topic_place, digests)
    else:
        source = FileSource(run.files, settings.limits.max_page_bytes, identify=digests.identify)
        given = _Input(_file_records(source, settings), source.place_of, digests)
    return await _fill_from_records(filling, given, forked)


async def _fill_from_records(filling: _Filling, given: _Input, forked: Sequence[ForkedParent]) -> Filled:
    """Freeze pages as they come, the next ones prepared meanwhile."""
    builder, run, settings, stop, on_pages = filling
    async with (
        AsyncExitStack() as stack,
        open_spread_preparation(
            settings, NoMeters(), run.text_parts, run.workers, forked, in_columns=False
        ) as preparation,
        aclosing(preparation.prepared(given.records)) as batches,
    ):
        stack.enter_context(given.digests)
        await asyncio.to_thread(preparation.wait_until_ready)
        freezer = PageFreezer(settings, builder, preparation, run.key_kinds, given.place_of)
        stop.is_watched = True
        pending: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        pending.set_result(None)
        try:
            async for prepared in batches:
                await pending
                builder.reach("read")
                on_pages(freezer.filled.page_count)
                if stop.requested.is_set():
                    break
                pending = asyncio.ensure_future(freezer.take(prepared))
            await pending
        finally:
            pending.cancel()
            await asyncio.wait([pending])
        filled = freezer.filled
        if not stop.requested.is_set():
            filled.rename_inputs(await asyncio.to_thread(given.digests.settled_ids))
    if complaint := dead_letter_complaint(filled.dead_letter_count, filled.record_count):
        raise ConfigError("; ".join([complaint, *filled.first_dead_letters[:1]]))
    return filled


async def _file_records(source: FileSource, settings: Settings) -> AsyncGenerator[Sequence[Record], None]:
    limits = settings.pipeline.limits()
    async with source:
        async for records in source.batches(limits.max_batch_pages, limits.max_batch_bytes):
            yield records


async def _topic_records(settings: Settings) -> AsyncGenerator[Sequence[Record], None]:
    """Yield the present records of the pages topic; no group is joined, so no daemon loses a partition."""
    from neardup_daemon.kafka_wiring import topic_snapshot  # noqa: PLC0415 - files need no Kafka

    topic = settings.kafka.pages_topic
    async with topic_snapshot(settings, topic) as snapshot:
        async for records in snapshot.records():
            yield records


def _topic_place(position: Position) -> str:
    return f"partition {position.partition.number}, offset {position.offset}"


async def _fill_from_index(filling: _Filling, stores: "Stores") -> Filled:
    """Freeze what the page records of an index say; their views and sketches are taken as they are."""
    builder, run, settings, stop, on_pages = filling
    filled = Filled()
    seen_before = time() - run.unseen_days * _DAY_SECONDS
    retries = build_retries(settings, NoMeters())
    async for walked in all_records(stores.pages.records, retries.retry):
        records = [PageRecord.unpack(packed) for _, packed in walked.records]
        timed = [
            TimedRecord(record, record.seen_seconds * _MS)
            for record in records
            if record.state != "gone" and record.seen_seconds <= seen_before
        ]
        for page in freeze_pages(timed):
            builder.add(page)
        filled.add_pages("index", len(timed))
        filled.archived_count += sum(page.record.state == "archived" for page in timed)
        on_pages(filled.page_count)
    stop.is_watched = True
    return filled
