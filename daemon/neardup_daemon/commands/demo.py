"""`demo`: send a generated crawl through the whole pipeline, and compare the result with the truth."""

import asyncio
from pathlib import Path

import click

from neardup_daemon.commands.completion import NamedPath
from neardup_daemon.commands.options import WholeNumber, with_settings
from neardup_daemon.settings.settings import Settings
from neardup_daemon.terminal import counted, printable
from neardup_stream.streams.files.outputs import buffered_output

__all__ = ["demo"]


@click.command()
@with_settings("index.distance_bits", "index.blocks")
@click.option(
    "--pages",
    type=WholeNumber(80, 1_000_000),  # MIN_PAGES, which --help does not wait for
    default=1_800,
    show_default=True,
    help="How many records to generate.",
)
@click.option("--seed", default=1, show_default=True, help="Another seed is another crawl.")
@click.option(
    "--write",
    type=NamedPath(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Write the crawl's pages to this .jsonl file as well, to try other commands on.",
)
def demo(settings: Settings, pages: int, seed: int, write: Path | None) -> None:
    """Find the near-duplicates of a sample crawl, before your eyes.

    The crawl is invented: several sites and languages, with mirrors, print versions, edited re-posts and
    look-alikes; a site whose pages are mostly navigation; and a few pages to which everything happens that
    can. Which pages are near-duplicates is known, so what was found can be judged. Everything runs as it
    would in production, on a private Redis.

        neardup-stream demo --seed 2
    """
    if settings.clusters.rule == "off":
        raise click.UsageError("the demo shows clusters: clusters.rule is off")
    from neardup_daemon.demo.console import PlainlyEndingConsole  # noqa: PLC0415 - rich is not for --help
    from neardup_daemon.demo.report import build_report, print_report  # noqa: PLC0415 - the same
    from neardup_daemon.demo.run import run_demo  # noqa: PLC0415 - the same
    from neardup_daemon.demo.sample_crawl.crawl import generate_crawl  # noqa: PLC0415 - the same

    console = PlainlyEndingConsole()
    console.print(f"Inventing a crawl of {pages:,} records …")
    crawl = generate_crawl(pages, seed)
    if write is not None:
        values = [record.value for record in crawl.records if record.value is not None]
        with buffered_output(str(write)) as file:
            file.write(b"".join(value + b"\n" for value in values))
        console.print(
            f"Written to {printable(write)}: {len(values):,} lines, one of them broken on purpose; the"
            f" {counted(len(crawl.records) - len(values), 'record')} without a value, which forget pages, are"
            " for Kafka only.",
            highlight=False,
        )
    console.print("Sending it through the pipeline: text, sketches, clusters in a private Redis …")
    print_report(build_report(crawl, asyncio.run(run_demo(crawl, settings))), console)
