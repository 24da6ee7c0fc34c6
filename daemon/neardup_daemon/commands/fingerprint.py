"""`fingerprint`: print what the pipeline computes of each page, without a store."""

import asyncio
import sys

import click
import msgspec
from msgspec import UNSET, UnsetType

from neardup_daemon.commands.answers import print_dead_letters
from neardup_daemon.commands.completion import FILE_NAME
from neardup_daemon.commands.options import with_settings
from neardup_daemon.prepared_tally import PreparedTally
from neardup_daemon.preparing import build_preparation
from neardup_daemon.progress import count_progress
from neardup_daemon.settings.settings import Settings
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.arrival import Arrival, Prepared
from neardup_stream.streams.files.inputs import STDIN
from neardup_stream.streams.files.outputs import STANDARD_OUTPUT, check_outputs
from neardup_stream.streams.files.source import FileSource

__all__ = ["fingerprint"]


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    """One line of output; a 64-bit number is a decimal string, because JSON numbers lose bits."""

    id: str
    url: str
    simhash: str | None
    tokens: int
    undecided: str | UnsetType = UNSET


@click.command()
@with_settings(
    "text.extraction", "text.window_tokens", "verdict.min_tokens", "limits.max_page_bytes", has_logs=True
)
@click.argument("files", nargs=-1, metavar="[FILE…]", type=FILE_NAME)
def fingerprint(settings: Settings, files: tuple[str, ...]) -> None:
    """Print the simhash of each page, one JSON object a line.

    Files are .jsonl, .jl, .ndjson, .warc or .wet (also .gz, .zst), .wacz, or .parquet; none, or -, is
    standard input. A page with too few tokens has no simhash, and "undecided" says why. The hashes go
    straight into find-all:

    \b
        neardup-stream fingerprint crawl.jsonl.gz |
            jq -r '.simhash // empty' | neardup-stream find-all -b 6 -d 3
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    check_outputs(files or (STDIN,), (STANDARD_OUTPUT,))
    asyncio.run(_print_fingerprints(settings, files or (STDIN,)))


async def _print_fingerprints(settings: Settings, files: tuple[str, ...]) -> None:
    limits = settings.pipeline.limits()
    tally = PreparedTally()
    with count_progress("records", STANDARD_OUTPUT) as show_progress:
        async with FileSource(files, settings.limits.max_page_bytes) as source:
            preparation = build_preparation(settings, NoMeters())  # compiles kernels: not for a mistyped name
            async for records in source.batches(limits.max_batch_pages, limits.max_batch_bytes):
                _print_batch(preparation.prepare(records), tally, source)
                if show_progress is not None:
                    show_progress(tally.outcomes.total())
    click.echo(tally, err=True)


def _print_batch(prepared: Prepared, tally: PreparedTally, source: FileSource) -> None:
    lines = (msgspec.json.encode(_line(arrival)) for arrival in prepared.arrivals)
    sys.stdout.buffer.write(b"".join(line + b"\n" for line in lines))
    sys.stdout.buffer.flush()
    decided = sum(arrival.has_enough_tokens for arrival in prepared.arrivals)
    outcomes = {"fingerprinted": decided, "undecided": len(prepared.arrivals) - decided}
    print_dead_letters(tally.add(prepared, outcomes, source.place_of))


def _line(arrival: Arrival) -> _Line:
    page = arrival.page
    return _Line(
        id=page.id,
        url=page.url,
        simhash=str(arrival.fingerprint) if arrival.has_enough_tokens else None,
        tokens=arrival.token_count,
        undecided=UNSET if arrival.has_enough_tokens else "too_short",
    )
