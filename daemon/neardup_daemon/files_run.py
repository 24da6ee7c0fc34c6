"""Run the pipeline over files: with stores of its own or the shared ones, and lines of JSON as output."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import NamedTuple
from uuid import uuid4

from neardup_daemon.cluster_files import ClusterOutput, cluster_output
from neardup_daemon.exit_codes import OK
from neardup_daemon.files_run_notes import FilesRunNotes
from neardup_daemon.files_run_options import FilesRun
from neardup_daemon.files_run_results import FilesRunResults, WritesReport
from neardup_daemon.gc_tuning import keep_what_is_loaded
from neardup_daemon.local_stores import local_stores
from neardup_daemon.loop_wiring import (
    LoopStores,
    asked_text_parts,
    build_consultation,
    build_loop,
    build_retries,
    files_loop_config,
    line_publication,
)
from neardup_daemon.no_output import NoOutput
from neardup_daemon.policy import policy
from neardup_daemon.preparing import open_spread_preparation
from neardup_daemon.readable_source import ReadableSource
from neardup_daemon.reports.findings import PageRecords
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stopping import Stop, run_until_stopped
from neardup_daemon.warc_output import check_warc_inputs
from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.fingerprints.simhash import load_kernel
from neardup_stream.meters import PipelineMeters
from neardup_stream.pipeline.consult import Consultation
from neardup_stream.pipeline.forked_parent import ForkedParent
from neardup_stream.pipeline.preparation import Prepares
from neardup_stream.pipeline.retries import Retries
from neardup_stream.pipeline.stages import Runtime
from neardup_stream.streams.files.corpus import check_corpus
from neardup_stream.streams.files.digests import Identify
from neardup_stream.streams.files.jsonl import JsonLinesSink
from neardup_stream.streams.files.outputs import OutputFile, check_outputs
from neardup_stream.streams.files.waiting_file import WaitingFile
from neardup_stream.streams.files.warc_revisits import RevisitTally

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
        shortfall: what the input or the outputs lack, for the user; empty where nothing is to be said.
        is_cut_short: whether a signal cut it short; then no output has its name but those that were complete.
    """

    exit_code: int
    first_dead_letters: list[str]
    damage: CorruptData | None
    revisits: RevisitTally | None
    shortfall: str
    is_cut_short: bool


class _Outputs(NamedTuple):
    events: JsonLinesSink
    dead_letters: JsonLinesSink | NoOutput
    clusters: ClusterOutput


class _Opened(NamedTuple):
    archives: Consultation | None
    preparation: Prepares
    stores: LoopStores
    files: AsyncExitStack
    report: WaitingFile | None


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
        DependencyLost: the store or an output stayed unavailable, or a stop could not finish what was read.
    """
    _check_paths(run)
    outputs = _outputs(run)
    source = ReadableSource(
        run.files, settings.limits.max_page_bytes, uuid4().hex if run.is_kept else "", identify
    )
    notes = FilesRunNotes(source.place_of, for_report=bool(run.report), for_warc=bool(run.warc))
    results = FilesRunResults(run, settings, source, notes, write_report)
    retries = build_retries(settings, meters)
    runtime = Runtime(files_loop_config(settings, is_kept=run.is_kept), retries, meters)
    stop, has_read_all, revisits = Stop(), False, None
    with stop.on_signals():
        async with _open(run, settings, runtime, (source, *outputs), forked) as opened:
            stores = opened.stores
            pages = PageRecords(stores.pages.records, stores.pages.handle_key)
            publication = notes.noting(line_publication(outputs.events, outputs.dead_letters), pages)
            stop.is_watched = True
            keep_what_is_loaded()
            loop = build_loop(
                settings, stores, source, publication, opened.preparation, runtime, archives=opened.archives
            )
            drain_seconds = settings.pipeline.drain_seconds
            await run_until_stopped(loop.run, stop, drain_seconds, _rest(run), lambda: retries.latest_error)
            has_read_all = source.is_exhausted or not stop.requested.is_set()
            if objection := objects():
                raise _refused(objection, outputs.dead_letters, source.damage, notes)
            revisits = await results.write(stores, outputs.clusters, opened.report, has_read_all=has_read_all)
            await opened.files.aclose()
            results.note_named()
            if has_read_all and not results.unwritten:
                stop.let_finish(drain_seconds)  # half an end would lose half of the events
                await loop.end()
    is_cut_short = stop.is_cut_short or stop.exit_code != OK
    is_complete = has_read_all and not is_cut_short
    results.report_unwritten("input damaged" if is_complete else "stopped early")
    return FilesRunEnd(
        OK if is_complete or (run.continues and not is_cut_short) else stop.unfinished_code,
        notes.first_dead_letters,
        source.damage,
        revisits,
        results.shortfall(has_read_all=has_read_all, is_cut_short=is_cut_short),
        is_cut_short,
    )


def _rest(run: FilesRun) -> str:
    """Return what becomes of what a stop could not finish, for the error."""
    return "the same command continues there" if run.continues else "the same command begins again"


def _refused(
    objection: str, dead_letters: JsonLinesSink | NoOutput, damage: CorruptData | None, notes: FilesRunNotes
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


def _outputs(run: FilesRun) -> _Outputs:
    return _Outputs(
        JsonLinesSink(run.events),
        JsonLinesSink(run.dead_letters) if run.dead_letters else NoOutput(),
        cluster_output(run.clusters) if run.clusters else NoOutput(),
    )


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
        preparation = await stack.enter_async_context(
            open_spread_preparation(
                settings, runtime.meters, asked_text_parts(archives), run.workers, forked, in_columns=True
            )
        )
        stores = await stack.enter_async_context(_open_stores(run, settings, runtime.retries))
        await asyncio.to_thread(load_kernel)
        await asyncio.to_thread(preparation.wait_until_ready)
        yield _Opened(archives, preparation, stores, opened, report)


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
