"""`dedup`: find near-duplicates in files or standard input, with the daemon's pipeline."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, TypedDict, Unpack

import click
from msgspec.structs import replace

from neardup_daemon.commands.answers import print_dead_letters
from neardup_daemon.commands.completion import FILE_NAME, NamedPath
from neardup_daemon.commands.options import used_files, with_settings, with_workers
from neardup_daemon.cores import check_workers
from neardup_daemon.files_run_options import FilesRun
from neardup_daemon.preparing import forked_parents
from neardup_daemon.progress import count_progress
from neardup_daemon.reports.findings import Findings
from neardup_daemon.reports.rendering import Run
from neardup_daemon.reports.writing import write_report
from neardup_daemon.settings.settings import Settings
from neardup_daemon.tally import Tally, by_outcome, missing_preset, missing_texts, unseen_pages
from neardup_daemon.terminal import counted, print_warnings, printable
from neardup_stream.fingerprints.simhash import load_kernel
from neardup_stream.pipeline.forked_parent import ForkedParent
from neardup_stream.streams.files.digests import EarlyDigests
from neardup_stream.streams.files.inputs import is_pipe
from neardup_stream.streams.files.outputs import check_outputs, check_outside
from neardup_stream.streams.files.source import check_inputs
from neardup_stream.streams.files.waiting_file import WaitingFile
from neardup_stream.streams.files.warc_revisits import RevisitTally

if TYPE_CHECKING:
    from neardup_daemon.files_run import FilesRunEnd

__all__ = ["dedup"]


class _Options(TypedDict):
    """Options that are fields of `FilesRun`, under the same names."""

    events: str
    clusters: str | None
    corpus: str | None
    warc: str | None
    report: str | None
    dead_letters: str | None
    state_dir: Path | None
    uses_redis: bool


@click.command()
@with_settings("index.expected_pages", "clusters.rule", "events.unique", "page.preset", has_logs=True)
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=FILE_NAME)
@click.option(
    "--events",
    default="-",
    metavar="FILE",
    type=FILE_NAME,
    help="Where events go.  [default: standard output]",
)
@click.option(
    "--clusters",
    metavar="FILE",
    type=FILE_NAME,
    help="Where all clusters of the index go, at the end: .jsonl or .parquet.",
)
@click.option(
    "--keep-representatives",
    "corpus",
    metavar="FILE",
    type=FILE_NAME,
    help="Write the pages of the input without their duplicates there, at the end. FILE.jsonl (.jl, .ndjson)"
    " holds the lines and rows of JSON Lines and Parquet files, FILE.parquet those of Parquet files alone."
    " For WARC files see --write-warc.",
)
@click.option(
    "--write-warc",
    "warc",
    metavar="OUT.warc.gz",
    type=FILE_NAME,
    help="Where the records of the WARC files go, with duplicates as revisit records; gzip under any name.",
)
@click.option(
    "--report",
    metavar="OUT.html",
    type=FILE_NAME,
    help="Write what was found, by host and kind, with examples side by side, as a page to read.",
)
@click.option(
    "--dead-letters",
    metavar="FILE",
    type=FILE_NAME,
    help="Where records that can never be processed go.",
)
@click.option(
    "--state",
    "state_dir",
    type=NamedPath(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep the index in this folder, so that the next run finds the pages of this one.",
)
@click.option(
    "--archive",
    "archives",
    multiple=True,
    metavar="NAME.nda",
    type=FILE_NAME,
    help="Report pages that are like pages of this archive too; may be repeated. Overrides archive.files.",
)
@click.option("--redis", "uses_redis", is_flag=True, help="Keep the index in the Redis that redis.url names.")
@with_workers
def dedup(
    settings: Settings,
    files: tuple[str, ...],
    archives: tuple[str, ...],
    workers: int,
    **options: Unpack[_Options],
) -> int:
    """Find the near-duplicates in files of pages.

    Files are .jsonl, .jl, .ndjson, .warc or .wet (also .gz, .zst), .wacz, or .parquet; - is standard input,
    of any but the last two.
    Events are written as lines of JSON: every duplicate with its matches, and every change of a cluster.

    \b
        neardup-stream dedup crawl.jsonl.gz > duplicates.jsonl
        neardup-stream dedup tuesday.warc.gz --state ./index --clusters clusters.jsonl
        neardup-stream dedup corpus.parquet --events events.jsonl --keep-representatives kept.parquet
        neardup-stream dedup crawl.warc.gz --write-warc deduplicated.warc.gz > duplicates.jsonl
        neardup-stream dedup crawl.jsonl --events duplicates.jsonl --report report.html
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    files_run = FilesRun(files=files, workers=check_workers(workers), **options)
    if archives:
        settings = replace(settings, archive=replace(settings.archive, files=archives))
    _check(files_run, settings)
    start = perf_counter()
    with (
        EarlyDigests(path for path in files if not is_pipe(path)) as digests,
        _forked_for_dedup(settings, files_run.workers, digests) as forked,
        count_progress("records", files_run.events) as on_records,
    ):
        from neardup_daemon.files_run import OutputRefusedError, run_over_files  # noqa: PLC0415 - the first worker loads meanwhile

        tally = Tally(on_records)

        def report(output: WaitingFile, found: Findings, is_complete: bool) -> None:  # noqa: FBT001
            run = Run(files, dict(tally.outcomes), perf_counter() - start, is_complete)
            write_report(output, run, found, settings)

        objects = partial(tally.complaint, files)
        try:
            end = asyncio.run(
                run_over_files(files_run, settings, tally, report, objects, forked, digests.identify)
            )
        except OutputRefusedError as error:
            _print_outcomes(tally, perf_counter() - start)
            _print_dead_letters(error.first_dead_letters, tally, files_run)
            _print_warnings(tally, settings)
            raise
    _print_summary(tally, perf_counter() - start, end)
    if end.is_cut_short:
        raise click.exceptions.Exit(end.exit_code)
    if end.revisits is not None:
        known = tally.outcomes["superseded"] + (tally.outcomes["unchanged"] if files_run.is_kept else 0)
        _print_revisits(files_run.warc or "", end.revisits, known)
    _print_dead_letters(end.first_dead_letters, tally, files_run)
    _print_warnings(tally, settings)
    if end.damage is not None:
        raise end.damage
    return end.exit_code


@contextmanager
def _forked_for_dedup(
    settings: Settings, count: int, digests: EarlyDigests
) -> Iterator[Sequence[ForkedParent]]:
    """Fork the workers while there is no other thread; not where archives, opened later, say what they do."""
    if settings.archive.files:
        yield ()
        return
    load_kernel()  # before the digest of the first file is paused
    with ExitStack() as stack:
        with digests.paused():
            forked = stack.enter_context(forked_parents(settings, count, in_columns=True))
        yield forked


def _check(run: FilesRun, settings: Settings) -> None:
    """Refuse options that contradict each other, and outputs that would destroy what is read."""
    check_outputs(used_files(settings), run.outputs)
    if run.state_dir is not None:
        check_outside(run.state_dir, run.outputs)
    if run.uses_redis and run.state_dir is not None:
        raise click.UsageError("--state keeps a private Redis, --redis uses another one: choose")
    if run.clusters is not None and settings.clusters.rule == "off":
        raise click.UsageError("--clusters has nothing to write: clusters.rule is off")
    if run.corpus is not None and settings.clusters.rule == "off":
        raise click.UsageError("--keep-representatives needs clusters: clusters.rule is off")
    if run.warc is not None and settings.clusters.rule == "off":
        raise click.UsageError("--write-warc needs clusters: clusters.rule is off")
    check_inputs(run.files)  # before kernels are compiled


def _print_outcomes(tally: Tally, seconds: float) -> None:
    records = tally.outcomes.total()
    found = f": {by_outcome(tally.outcomes.most_common(), tally.skipped)}" if records else ""
    click.echo(f"{counted(records, 'record')} in {seconds:.1f} s{found}", err=True)


def _print_dead_letters(first: Sequence[str], tally: Tally, run: FilesRun) -> None:
    remedy = "" if run.dead_letters else "; --dead-letters FILE keeps all"
    print_dead_letters(first, tally.outcomes["dead_letter"], remedy)


def _print_warnings(tally: Tally, settings: Settings) -> None:
    skipped = tally.skipped
    print_warnings(
        missing_preset(skipped["header"], settings.page.preset),
        missing_texts(skipped, tally.outcomes.total()),
        unseen_pages(skipped["revisit"]),
    )


def _print_summary(tally: Tally, seconds: float, end: "FilesRunEnd") -> None:
    _print_outcomes(tally, seconds)
    if end.shortfall:
        click.echo(printable(end.shortfall), err=True)
    if warning := tally.missing_matches():
        click.echo(warning, err=True)


def _print_revisits(path: str, tally: RevisitTally, known: int) -> None:
    click.echo(
        f"{path}: {tally.copied:,} records copied, {tally.identical:,} revisits of equal payloads,"
        f" {tally.near:,} of near-duplicates, {tally.damaged:,} damaged records left out",
        err=True,
    )
    if known:
        click.echo(
            f"warning: {path} holds {counted(known, 'page')} in full that this index knew already,"
            " also where they are duplicates; revisits of them need an index of their own",
            err=True,
        )
