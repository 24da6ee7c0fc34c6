"""Write what a run over files has once all records were read: clusters, kept pages, WARC, a report."""

import logging
from collections.abc import Callable
from functools import partial

from neardup_daemon.cluster_files import ClusterOutput, cluster_rows
from neardup_daemon.files_run_notes import FilesRunNotes
from neardup_daemon.files_run_options import FilesRun
from neardup_daemon.kept_rows import kept_rows
from neardup_daemon.logs import log_event
from neardup_daemon.loop_wiring import LoopStores
from neardup_daemon.readable_source import ReadableSource
from neardup_daemon.reports.findings import Findings
from neardup_daemon.settings.settings import Settings
from neardup_daemon.warc_output import write_warc
from neardup_stream.cut_short import in_thread
from neardup_stream.streams.files.corpus import copy_rows
from neardup_stream.streams.files.outputs import is_written_directly
from neardup_stream.streams.files.waiting_file import WaitingFile
from neardup_stream.streams.files.warc_revisits import RevisitTally

__all__ = ["FilesRunResults", "WritesReport"]

_logger = logging.getLogger(__name__)

WritesReport = Callable[[WaitingFile, Findings, bool], None]
"""Writes a report to a file; the flag says whether every file was read to its end."""


class FilesRunResults:
    """Writes the results of one run and knows which outputs are not complete yet.

    Args:
        run: what was read, and where to write.
        settings: of the pages.
        source: the files, read.
        notes: what was noted of the events.
        write_report: what makes a report of them.

    Attributes:
        unwritten: paths of outputs that are complete at the end only, unlike a pipe to which each event is
            written.
    """

    def __init__(
        self,
        run: FilesRun,
        settings: Settings,
        source: ReadableSource,
        notes: FilesRunNotes,
        write_report: WritesReport,
    ) -> None:
        self._run = run
        self._settings = settings
        self._source = source
        self._notes = notes
        self._write_report = write_report
        direct = {path for path in (run.events, run.dead_letters) if path and is_written_directly(path)}
        self.unwritten = set(run.outputs) - direct

    async def write(
        self, stores: LoopStores, clusters: ClusterOutput, report: WaitingFile | None, *, has_read_all: bool
    ) -> RevisitTally | None:
        """Write what is wanted; kept pages and WARC only once all was read. Return what the WARC file holds.

        Raises:
            ConfigError: a file cannot be written, or the index lost meanwhile what was decided.
            CorruptData: the store holds something else.
            StoreUnavailable: the store became unavailable.
        """
        run, notes, is_whole = self._run, self._notes, has_read_all and self._source.damage is None
        if run.clusters or run.report:
            await self._write_clusters(stores, clusters)
        if has_read_all:
            await self._keep_representatives(stores)
        revisits = await self._write_revisits() if is_whole else None
        if report is not None and notes.findings is not None:
            await in_thread(partial(self._write_report, report, notes.findings, is_whole))
        return revisits

    def note_named(self) -> None:
        """Note that the files that were waiting for their names have them."""
        self.unwritten.intersection_update(filter(None, (self._run.corpus, self._run.warc)))

    def report_unwritten(self, reason: str) -> None:
        """Log each output that is not complete."""
        for path in sorted(self.unwritten):
            log_event(_logger, "output_not_written", level=logging.WARNING, path=path, reason=reason)

    def shortfall(self, *, has_read_all: bool, is_cut_short: bool) -> str:
        """Return what input or outputs lack at the end of the run; empty where nothing is to be said."""
        if has_read_all and is_cut_short:
            paths = ", ".join(sorted(self.unwritten))
            return paths and f"stopped after the files were read: not complete are {paths}"
        if has_read_all and self._source.damage is None:
            return ""
        return "stopped before the files were read to their end: the output is of these records"

    async def _write_clusters(self, stores: LoopStores, output: ClusterOutput) -> None:
        if stores.clusters is None:
            return
        async for rows in cluster_rows(stores.clusters, stores.pages.records):
            await output.write(rows)
            if self._notes.findings is not None:
                self._notes.findings.add_clusters(rows)
        await stores.require_index()

    async def _keep_representatives(self, stores: LoopStores) -> None:
        if (path := self._run.corpus) is None or stores.clusters is None:
            return
        source = self._source
        kept = await kept_rows(stores.clusters, stores.pages.records, source.partitions)
        await stores.require_index()
        max_page_bytes, is_damaged = self._settings.limits.max_page_bytes, source.damage is not None

        def copy() -> None:
            copy_rows(self._run.files, kept, path, max_page_bytes, source.run_name, is_damaged=is_damaged)
            self.unwritten.discard(path)  # here: a signal that comes now makes nothing of it incomplete

        await in_thread(copy)

    async def _write_revisits(self) -> RevisitTally | None:
        if (path := self._run.warc) is None or (duplicates := self._notes.duplicates) is None:
            return None
        inputs = list(zip(self._run.files, self._source.partitions, strict=True))

        def write() -> RevisitTally:
            revisits = write_warc(inputs, path, duplicates, self._settings)
            self.unwritten.discard(path)
            return revisits

        return await in_thread(write)
