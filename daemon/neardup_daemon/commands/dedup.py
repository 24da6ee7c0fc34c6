"""`dedup`: the same pipeline over files or standard input."""

import asyncio
import sys
from pathlib import Path
from time import perf_counter

import click
from msgspec.structs import replace

from neardup_daemon.commands.options import with_settings
from neardup_daemon.cores import default_workers
from neardup_daemon.files_run import FilesRun, run_over_files
from neardup_daemon.logs import configure_logs
from neardup_daemon.progress import page_progress
from neardup_daemon.settings.settings import Settings
from neardup_daemon.tally import Tally
from neardup_daemon.terminal import counted, printable
from neardup_stream.errors import ConfigError
from neardup_stream.streams.files.warc_revisits import RevisitTally

__all__ = ["dedup"]


@click.command()
@with_settings("index.expected_pages", "clusters.rule", "events.unique", "page.preset")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option("--events", default="-", metavar="FILE", help="Where events go.  [default: standard output]")
@click.option("--clusters", metavar="FILE", help="Where the clusters go, at the end: .jsonl or .parquet.")
@click.option(
    "--keep-representatives",
    "corpus",
    metavar="FILE",
    help="Write the pages of the input without their duplicates there, at the end: .jsonl or .parquet.",
)
@click.option(
    "--write-warc",
    "warc",
    metavar="OUT.warc.gz",
    help="Where the records of the WARC files go, with duplicates as revisit records.",
)
@click.option("--dead-letters", metavar="FILE", help="Where records that can never be processed go.")
@click.option(
    "--state",
    "state_dir",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep the index in this folder, so that the next run finds the pages of this one.",
)
@click.option(
    "--archive",
    "archives",
    multiple=True,
    metavar="NAME.nda",
    help="Tell which pages are like those of this archive too; may be repeated. Over archive.files.",
)
@click.option("--redis", "uses_redis", is_flag=True, help="Keep the index in the Redis that redis.url names.")
@click.option(
    "--workers",
    type=click.IntRange(1),
    metavar="N",
    help="Processes that read and fingerprint pages.  [default: one for each core]",
)
def dedup(
    settings: Settings,
    files: tuple[str, ...],
    events: str,
    clusters: str | None,
    corpus: str | None,
    warc: str | None,
    dead_letters: str | None,
    state_dir: Path | None,
    archives: tuple[str, ...],
    workers: int | None,
    *,
    uses_redis: bool,
) -> int:
    """Find the near-duplicates in files of pages.

    Files are .jsonl, .jl, .ndjson, .warc, .wet or .wacz, also compressed, or .parquet; - is standard
    input, of any but the last.
    Events are written as lines of JSON: every duplicate with its matches, and every change of a cluster.

    \b
        neardup-stream dedup crawl.jsonl.gz > duplicates.jsonl
        neardup-stream dedup tuesday.warc.gz --state ./index --clusters clusters.jsonl
        neardup-stream dedup corpus.parquet --events events.jsonl --keep-representatives kept.parquet
        neardup-stream dedup crawl.warc.gz --write-warc deduplicated.warc.gz > duplicates.jsonl
    """  # noqa: D301 - the backspace tells click to leave the lines below it as they are
    if uses_redis and state_dir is not None:
        raise click.UsageError("--state keeps a private Redis, --redis uses another one: choose")
    if clusters is not None and settings.clusters.rule == "off":
        raise click.UsageError("--clusters has nothing to write: clusters.rule is off")
    if corpus is not None and settings.clusters.rule == "off":
        raise click.UsageError("--keep-representatives needs clusters: clusters.rule is off")
    if archives:
        settings = replace(settings, archive=replace(settings.archive, files=archives))
    configure_logs(settings.log.level, settings.log.format if not sys.stderr.isatty() else "text")
    files_run = FilesRun(
        files,
        events,
        dead_letters,
        clusters,
        corpus,
        state_dir,
        uses_redis,
        workers or default_workers(),
        warc,
    )
    with page_progress() as on_pages:
        tally, start = Tally(on_pages), perf_counter()
        end = asyncio.run(run_over_files(files_run, settings, tally))
    _tell_summary(tally, perf_counter() - start)
    if end.revisits is not None:
        _print_revisits(warc or "", end.revisits)
    for letter in end.first_dead_letters:
        click.echo(f"dead letter: {printable(letter)}", err=True)
    if end.damage is not None:
        raise end.damage
    if complaint := tally.complaint():
        raise ConfigError(complaint)
    return end.exit_code


def _tell_summary(tally: Tally, seconds: float) -> None:
    pages = tally.outcomes.total()
    parts = [f"{count:,} {outcome}" for outcome, count in tally.outcomes.most_common()]
    click.echo(f"{counted(pages, 'page')} in {seconds:.1f} s: {', '.join(parts) or 'none'}", err=True)
    if tally.bucket_cap_hit_count:
        click.echo(
            f"{tally.bucket_cap_hit_count:,} ranges held more than index.bucket_cap entries;"
            " raise it to find every match",
            err=True,
        )


def _print_revisits(path: str, tally: RevisitTally) -> None:
    click.echo(
        f"{path}: {tally.copied:,} records copied, {tally.identical:,} revisits of equal payloads,"
        f" {tally.near:,} of near-duplicates, {tally.damaged:,} damaged records left out",
        err=True,
    )
