"""Run the pipeline over files: with stores of its own or the shared ones, and lines of JSON as output."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import NamedTuple
from uuid import uuid4

from neardup_daemon.cluster_files import ClusterOutput, cluster_output, cluster_rows
from neardup_daemon.exit_codes import OK
from neardup_daemon.files_run_notes import FilesRunNotes
from neardup_daemon.files_run_options import FilesRun
from neardup_daemon.gc_tuning import keep_what_is_loaded
from neardup_daemon.kept_rows import kept_rows
from neardup_daemon.local_stores import local_stores
from neardup_daemon.logs import log_event
from neardup_daemon.loop_wiring import (
    LoopStores,
    build_consultation,
    build_loop,
    build_retries,
    files_loop_config,
    line_publication,
)
from neardup_daemon.policy import policy
from neardup_daemon.preparing import open_spread_preparation
from neardup_daemon.reports.findings import Findings, PageRecords
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stopping import Stop
from neardup_daemon.warc_output import check_warc_inputs, write_warc
from neardup_stream.cut_short import in_thread
from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.fingerprints.simhash import load_kernel
from neardup_stream.message import Record
from neardup_stream.meters import PipelineMeters
from neardup_stream.pipeline.consulting import Consultation
from neardup_stream.pipeline.forked_parent import ForkedParent
from neardup_stream.pipeline.preparation import Prepares
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.stages import Runtime
from neardup_stream.streams.files.corpus import check_corpus, copy_rows
from neardup_stream.streams.files.digests import Identify
from neardup_stream.streams.files.jsonl import JsonLinesSink
from neardup_stream.streams.files.outputs import OutputFile, check_outputs, is_written_directly
from neardup_stream.streams.files.source import FileSource
from neardup_stream.streams.files.waiting_file import WaitingFile
from neardup_stream.streams.files.warc_revisits import RevisitTally
from neardup_stream.streams.protocol import EndOfStream

__all__ = ["FilesRunEnd", "OutputRefusedError", "run_over_files"]

_logger = logging.getLogger(__name__)


class OutputRefusedError(ConfigError):
    """The files were read, and what came of them is worth no output but the dead letters.

    Args:
        reason: for the user.
        first_dead_letters: what they were about.
    """

    def __init__(self, reason: str, first_dead_letters: Sequence[str]) -> None:
        super().__init__(reason)
        self.first_dead_letters = first_dead_letters


class FilesRunEnd(NamedTuple):
    """How a run ended.

    Attributes:
        exit_code: of a stop: 0, or 128 + signal after a second signal, or if it left out what the same run
            cannot add.
        first_dead_letters: what they were about.
        damage: which files could not be read in full; None if all could.
        revisits: what `warc` holds; None where it was not written.
        is_complete: whether every file was read to its end, and every output is complete.
        has_read_all: whether every record that can be read was read.
        unwritten: outputs that are not complete.
        is_cut_short: whether a signal cut it short; then no output has its name but those that were complete.
    """

    exit_code: int
    first_dead_letters: list[str]
    damage: CorruptData | None
    revisits: RevisitTally | None = None
    is_complete: bool = True
    has_read_all: bool = True
    unwritten: Sequence[str] = ()
    is_cut_short: bool = False


class _ReadableSource(FileSource):
    """Files as far as they can be read: where they are damaged the pipeline finishes what came before.

    Attributes:
        damage: of files, once all were read.
        run_name: as it was given.
    """

    damage: CorruptData | None = None

    def __init__(self, paths: Sequence[str], max_page_bytes: int, run_name: str, identify: Identify) -> None:
        super().__init__(paths, max_page_bytes, run_name, identify)
        self.run_name = run_name

    async def read(self, max_records: int, max_bytes: int) -> Sequence[Record]:
        """Return the next records; a damaged file ends like others."""
        try:
            return await super().read(max_records, max_bytes)
        except CorruptData as error:
            self.damage = error
            raise EndOfStream from error


class _Outputs(NamedTuple):
    events: JsonLinesSink
    dead_letters: JsonLinesSink
    clusters: ClusterOutput


class _Opened(NamedTuple):
    archives: Consultation | None
    preparation: Prepares
    stores: LoopStores
    files: AsyncExitStack
    report: WaitingFile | None


WritesReport = Callable[[WaitingFile, Findings, bool], None]
"""Writes a report to a file; the flag says whether every file was read to its end."""

Objects = Callable[[], str]
"""Returns why no output but the dead letters may get its name, once all records were read; else nothing."""


async def run_over_files(
    run: FilesRun,
    settings: Settings,
    meters: PipelineMeters,
    write_report: WritesReport,
    objects: Objects,
    forked: Sequence[ForkedParent],
    identify: Identify,
) -> FilesRunEnd:
    """Take every record of the files through the pipeline; the first workers are `forked`.

    SIGTERM, SIGINT or SIGHUP ends reading; what was read is finished. Where the store is kept, the next run
    over the same files publishes all events again until every output of this one is complete.

    Raises:
        OutputRefusedError: `objects` has a reason; of the outputs only the dead letters are written.
        ConfigError: a file cannot be read or written, an output is an input or another output, or the stored
            index has another schema.
        CorruptData: the stored index is damaged.
        DependencyLost: the store stayed unavailable.
    """
    _check_paths(run)
    outputs = _outputs(run)
    source = _ReadableSource(
        run.files, settings.limits.max_page_bytes, uuid4().hex if run.is_kept else "", identify
    )
    notes = FilesRunNotes(source.place_of, for_report=bool(run.report), for_warc=bool(run.warc))
    retries = build_retries(settings, meters)
    runtime = Runtime(files_loop_config(settings, is_kept=run.is_kept), retries, meters)
    stop, has_read_all, revisits = Stop(), False, None
    unwritten = _gathered_outputs(run)
    with stop.on_signals():
        async with _open(run, settings, runtime, (source, *outputs), forked) as opened:
            stores = opened.stores
            pages = PageRecords(stores.judged.records, stores.judged.handle_key)
            publication = notes.noting(line_publication(outputs.events, outputs.dead_letters), pages)
            stop.is_watched = True
            keep_what_is_loaded()
            loop = build_loop(
                settings, stores, source, publication, opened.preparation, runtime, archives=opened.archives
            )
            await loop.run(stop.requested)
            has_read_all = source.is_exhausted or not stop.requested.is_set()
            if run.clusters or run.report:
                await _write_clusters(stores, outputs.clusters, notes.findings)
            if objection := objects():
                raise _refused(objection, outputs.dead_letters, source.damage, notes)
            if has_read_all:
                await _keep_representatives(run, stores, source, settings, unwritten)
            if has_read_all and source.damage is None:
                revisits = await _write_revisits(run, notes, source, settings, unwritten)
            if opened.report is not None and notes.findings is not None:
                is_whole = has_read_all and source.damage is None
                await in_thread(partial(write_report, opened.report, notes.findings, is_whole))
            await opened.files.aclose()
            unwritten.intersection_update(filter(None, (run.corpus, run.warc)))
            if has_read_all and not unwritten:
                stop.let_finish(settings.pipeline.drain_seconds)  # half an end would lose half of the events
                await loop.end()
    is_complete = has_read_all and stop.exit_code == OK
    _report_unwritten(unwritten, "input damaged" if is_complete else "stopped early")
    return FilesRunEnd(
        stop.exit_code if is_complete or (run.continues and not stop.is_cut_short) else stop.unfinished_code,
        notes.first_dead_letters,
        source.damage,
        revisits,
        is_complete=is_complete and source.damage is None,
        has_read_all=has_read_all,
        unwritten=sorted(unwritten),
        is_cut_short=stop.is_cut_short or stop.exit_code != OK,
    )


def _refused(
    objection: str, dead_letters: JsonLinesSink, damage: CorruptData | None, notes: FilesRunNotes
) -> OutputRefusedError:
    """Write the dead letters, and return what to raise."""
    dead_letters.finish()
    reason = f"{objection}; {damage}" if damage else objection
    return OutputRefusedError(reason, notes.first_dead_letters)


def _check_paths(run: FilesRun) -> None:
    check_outputs(run.files, run.outputs)
    if run.corpus is not None:
        check_corpus(run.files, run.corpus)
    if run.warc is not None:
        check_warc_inputs(run.files)
    for path in filter(None, (run.corpus, run.warc)):
        OutputFile(path).check_writable()


def _gathered_outputs(run: FilesRun) -> set[str]:
    """Return the outputs that are complete at the end only, unlike a pipe to which each event is written."""
    direct = {path for path in (run.events, run.dead_letters) if path and is_written_directly(path)}
    return set(run.outputs) - direct


def _report_unwritten(paths: Iterable[str], reason: str) -> None:
    for path in sorted(paths):
        log_event(_logger, "output_not_written", level=logging.WARNING, path=path, reason=reason)


def _outputs(run: FilesRun) -> _Outputs:
    events, dead_letters = (JsonLinesSink(path or os.devnull) for path in (run.events, run.dead_letters))
    return _Outputs(events, dead_letters, cluster_output(run.clusters or os.devnull))


@asynccontextmanager
async def _open(
    run: FilesRun,
    settings: Settings,
    runtime: Runtime,
    files: Sequence[AbstractAsyncContextManager[object]],
    forked: Sequence[ForkedParent],
) -> AsyncIterator[_Opened]:
    """Open the files, then everything else that a run needs, with its kernels loaded.

    Files get their names when their stack is closed, before the stores are, or else when the block ends.
    """
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(AsyncExitStack())
        for file in files:
            await opened.enter_async_context(file)
        report = None
        if run.report:
            output = OutputFile(run.report)
            report = await output.enter_in_thread()
            opened.push(output)
        archives = await asyncio.to_thread(build_consultation, settings, runtime.meters, policy(settings))
        text_parts = archives.text_parts if archives else frozenset[str]()
        preparation = await stack.enter_async_context(
            open_spread_preparation(
                settings, runtime.meters, text_parts, run.workers, forked, in_columns=True
            )
        )
        stores = await stack.enter_async_context(_open_stores(run, settings, runtime.retries))
        await asyncio.to_thread(load_kernel)
        await asyncio.to_thread(preparation.wait_until_ready)
        yield _Opened(archives, preparation, stores, opened, report)


async def _write_clusters(stores: LoopStores, output: ClusterOutput, findings: Findings | None) -> None:
    if stores.clusters is None:
        return
    async for rows in cluster_rows(stores.clusters, stores.judged.records):
        await output.write(rows)
        if findings is not None:
            findings.add_clusters(rows)
    await stores.require_index()


async def _keep_representatives(
    run: FilesRun, stores: LoopStores, source: _ReadableSource, settings: Settings, unwritten: set[str]
) -> None:
    if (path := run.corpus) is None or stores.clusters is None:
        return
    kept = await kept_rows(stores.clusters, stores.judged.records, source.partitions)
    await stores.require_index()
    max_page_bytes, is_damaged = settings.limits.max_page_bytes, source.damage is not None

    def copy() -> None:
        copy_rows(run.files, kept, path, max_page_bytes, source.run_name, is_damaged=is_damaged)
        unwritten.discard(path)  # here, because a signal that comes now makes nothing of it incomplete

    await in_thread(copy)


async def _write_revisits(
    run: FilesRun, notes: FilesRunNotes, source: FileSource, settings: Settings, unwritten: set[str]
) -> RevisitTally | None:
    if (path := run.warc) is None or (duplicates := notes.duplicates) is None:
        return None
    inputs = list(zip(run.files, source.partitions, strict=True))

    def write() -> RevisitTally:
        revisits = write_warc(inputs, path, duplicates, settings)
        unwritten.discard(path)
        return revisits

    return await in_thread(write)


@asynccontextmanager
async def _open_stores(run: FilesRun, settings: Settings, retries: Retries) -> AsyncIterator[LoopStores]:
    """Open the stores of a run; clients and servers are loaded only for those that are kept."""
    if not run.is_kept:
        yield await asyncio.to_thread(local_stores, settings)
        return
    from neardup_daemon.redis_url import redis_url  # noqa: PLC0415 - half a second less for other runs
    from neardup_daemon.wiring import open_stores  # noqa: PLC0415

    async with (
        redis_url(settings, run.state_dir) as url,
        open_stores(settings, url, retries) as stores,
    ):
        yield stores
