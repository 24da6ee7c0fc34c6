"""`freeze`: write the pages of a crawl to one read-only file."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, TypedDict, Unpack, cast, get_args

import click

from neardup_daemon.commands.answers import print_dead_letters
from neardup_daemon.commands.completion import FILE_NAME, NamedPath, complete_list
from neardup_daemon.commands.options import (
    Number,
    WholeNumber,
    is_given,
    settings_files,
    with_settings,
    with_state,
    with_workers,
)
from neardup_daemon.cores import check_workers
from neardup_daemon.progress import count_progress
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stopping import Stopped
from neardup_daemon.tally import by_reason, missing_texts, unseen_pages
from neardup_daemon.terminal import counted, print_warnings, printable
from neardup_stream.streams.files.outputs import check_outputs, check_outside
from neardup_stream.streams.files.source import check_inputs

if TYPE_CHECKING:
    from neardup_daemon.freezing import Frozen, Origin
    from neardup_stream.archive.keys import KeyKind

__all__ = ["freeze"]

_MIB = 1 << 20


class _Options(TypedDict):
    """Options that are fields of `FreezeRun`, under the same names."""

    output: Path
    common_pages: int
    workers: int
    state_dir: Path | None
    unseen_days: float
    replaces: bool


def _all_parts() -> Sequence[str]:
    from neardup_daemon.freezing import PARTS  # noqa: PLC0415 - Redis is not for --help

    return PARTS


def _all_key_kinds() -> Sequence[str]:
    from neardup_stream.archive.keys import KeyKind  # noqa: PLC0415 - the kernel is not for --help

    return get_args(KeyKind)


@click.command()
@with_settings("redis.url", "redis.namespace", "frames.scope", has_logs=True)
@with_state
@click.argument("files", nargs=-1, metavar="[FILE…]", type=FILE_NAME)
@click.option("--index", "is_index", is_flag=True, help="Freeze what an index knows, instead of files.")
@click.option(
    "--unseen-days",
    type=Number(min=0),
    default=0.0,
    metavar="DAYS",
    help="Of an index only pages that were not seen for so long.  [default: all]",
)
@click.option("--kafka", "is_kafka", is_flag=True, help="Freeze what the pages topic holds now.")
@click.option(
    "--output",
    "-o",
    required=True,
    type=NamedPath(dir_okay=False, path_type=Path),
    metavar="NAME.nda",
    help="The archive to write.",
)
@click.option(
    "--with",
    "parts",
    default="archive",
    show_default=True,
    metavar="PART,…",
    shell_complete=complete_list(_all_parts),
    help="What to freeze: archive (finds near-duplicates), passages (finds pages that share a part of their"
    " texts), search (finds words), texts (visible texts, to be read again).",
)
@click.option(
    "--keys",
    "keys",
    default="bands",
    show_default=True,
    metavar="KIND,…",
    shell_complete=complete_list(_all_key_kinds),
    help="By which keys 'archive' finds pages beside their exact texts: bands (of sketches), fuzzy (of words;"
    " fewer bytes, and fewer matches are found).",
)
@click.option(
    "--common",
    "common_pages",
    type=WholeNumber(min=1),
    default=1000,
    show_default=True,
    metavar="PAGES",
    help="Of passages: what more pages have in common is boilerplate, and set apart.",
)
@click.option(
    "--force", "replaces", is_flag=True, help="Replace a file of that name; its readers keep the old one."
)
@click.option(
    "--memory",
    "memory_mib",
    type=WholeNumber(min=64),
    default=1024,
    show_default=True,
    metavar="MIB",
    help="Memory to take, in MiB; what needs more is sorted on the disk beside the archive.",
)
@with_workers
def freeze(
    settings: Settings,
    files: tuple[str, ...],
    parts: str,
    keys: str,
    memory_mib: int,
    *,
    is_index: bool,
    is_kafka: bool,
    **options: Unpack[_Options],
) -> int:
    """Keep the pages of a crawl in an archive, to compare later pages with.

    Files are .jsonl, .jl, .ndjson, .warc or .wet (also .gz, .zst), .wacz, or .parquet; - is standard input,
    of any but the last two. An archive keeps URLs, times and sketches, some 160 bytes a page; --with says
    what else, or what instead. Of pages with one id the last stays. The same files give the same bytes.

    With --index (or --state) the pages come from the page records of an index, which need no text; their
    times are when they were last seen. Once the archive is deployed, let them 'expire' at a greater age than
    --unseen-days: both count from their own present (docs/archives.md). So they age from Redis to disk. With
    --kafka they are those that the pages topic holds now; no group is joined.

    \b
        neardup-stream freeze october-*.warc.gz -o october.nda
        neardup-stream dedup november.warc.gz --archive october.nda
        neardup-stream freeze --index --unseen-days 30 -o old.nda --config neardup.toml
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    has_index = is_index or options["state_dir"] is not None
    origin = _origin(is_index=has_index, is_kafka=is_kafka, has_files=bool(files))
    check_inputs(files)  # before kernels are compiled
    from neardup_daemon.freezing import FreezeRun, forked_for_freezing, write_archive  # noqa: PLC0415 - Redis is not for --help

    check_workers(options["workers"])
    check_outputs(settings_files(settings), [str(options["output"])])
    if options["state_dir"] is not None:
        check_outside(options["state_dir"], [str(options["output"])])
    if options["unseen_days"] and origin != "index":
        raise click.UsageError("--unseen-days is for --index")
    chosen, key_kinds = _parts(parts), _key_kinds(keys)
    _require_texts_enough(origin, chosen, key_kinds)
    run = FreezeRun(
        origin=origin,
        files=files,
        memory_bytes=memory_mib * _MIB,
        parts=chosen,
        key_kinds=key_kinds,
        **options,
    )
    start = perf_counter()
    with forked_for_freezing(run, settings) as forked, count_progress("pages") as on_pages:
        frozen = asyncio.run(write_archive(run, settings, on_pages or (lambda _count: None), forked))
    if isinstance(frozen, Stopped):
        click.echo("stopped: no archive was written", err=True)
        return frozen.exit_code
    _report(run.output, frozen, perf_counter() - start)
    return 0


def _origin(*, is_index: bool, is_kafka: bool, has_files: bool) -> "Origin":
    if is_index + is_kafka + has_files != 1:
        raise click.UsageError("name files, or --index, or --kafka, and one of them only")
    return "index" if is_index else "kafka" if is_kafka else "files"


def _parts(written: str) -> frozenset[str]:
    parts = _all_parts()
    chosen = frozenset(written.split(","))
    if unknown := sorted(chosen - set(parts)):
        raise click.UsageError(f"--with: no part is called {unknown[0]!r}; choose of {', '.join(parts)}")
    return chosen


def _key_kinds(written: str) -> "frozenset[KeyKind]":
    kinds = _all_key_kinds()
    chosen = written.split(",")
    if unknown := [each for each in chosen if each not in kinds]:
        raise click.UsageError(
            f"--keys: no kind of keys is called {unknown[0]!r}; choose of {', '.join(kinds)}"
        )
    return frozenset(cast("list[KeyKind]", chosen))


def _require_texts_enough(origin: "Origin", parts: frozenset[str], key_kinds: "frozenset[KeyKind]") -> None:
    """Refuse options of parts that are left out, and what an index, which keeps no texts, cannot give."""
    if key_kinds != {"bands"} and "archive" not in parts:
        raise click.UsageError("--keys is for the part 'archive', which --with leaves out")
    if is_given("common_pages") and "passages" not in parts:
        raise click.UsageError("--common is for the part 'passages', which --with does not name")
    if origin != "index":
        return
    if "fuzzy" in key_kinds:
        raise click.UsageError("--keys: an index keeps no texts, so its pages have no fuzzy keys")
    if parts != {"archive"}:
        raise click.UsageError("--with: an index keeps no texts, so only 'archive' can be made of it")


def _report(output: Path, frozen: "Frozen", seconds: float) -> None:
    """Print how many pages had each outcome."""
    built, filled, size = frozen.built, frozen.filled, frozen.built.header.file_bytes
    archived = (
        f" {filled.archived_count:,} without sketches as they match an archive (archive.on_match is skip),"
        if filled.archived_count
        else ""
    )
    a_page = f" ({size / built.page_count:.0f} a page)" if built.page_count else ""
    click.echo(
        f"{printable(str(output))}: {counted(built.page_count, 'page')}, {counted(size, 'byte')}"
        f"{a_page}, in {seconds:.1f} s;"
        f" {built.repeat_count:,} replaced by later ones,{archived}"
        f" {built.unindexed_count - filled.archived_count:,} too short to be compared,"
        f" {counted(filled.dead_letter_count, 'dead letter')}, {filled.skipped.total():,} skipped"
        + (f" ({by_reason(filled.skipped)})" if filled.skipped else ""),
        err=True,
    )
    print_dead_letters(filled.first_dead_letters, filled.dead_letter_count)
    print_warnings(
        missing_texts(filled.skipped, filled.record_count + filled.skipped.total()),
        unseen_pages(filled.skipped["revisit"]),
    )
