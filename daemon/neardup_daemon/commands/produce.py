"""`produce`: publish pages of files to Kafka."""

import asyncio
from typing import TYPE_CHECKING

import click

from neardup_daemon.commands.completion import FILE_NAME
from neardup_daemon.commands.options import with_settings
from neardup_daemon.progress import count_progress
from neardup_daemon.settings.settings import Settings
from neardup_daemon.tally import (
    by_reason,
    dead_letter_complaint,
    missing_preset,
    missing_texts,
    unseen_pages,
)
from neardup_daemon.terminal import counted, print_warnings, printable
from neardup_stream.errors import ConfigError

if TYPE_CHECKING:
    from neardup_daemon.producing import Produced

__all__ = ["produce"]


@click.command()
@with_settings(
    "kafka.bootstrap_servers", "kafka.pages_topic", "kafka.partitioner", "kafka.compression", "page.preset"
)
@click.option(
    "--skip-too-large",
    "skips_too_large",
    is_flag=True,
    help="Leave out pages that are too large for the topic, and count them, instead of stopping.",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=FILE_NAME)
def produce(settings: Settings, files: tuple[str, ...], *, skips_too_large: bool) -> None:
    """Publish the pages of files to the pages topic, each under its id or URL as key.

    Lines of .jsonl files go as they are, right or wrong: the daemon judges them. With page.preset or
    [page.fields] a crawler's names become those of docs/pages.md, and a header says so: the daemon reads such
    records whatever its own settings are. Pages of .warc and .wet files become JSON; their other
    records, and bad pages, are counted and left out.

    \b
        neardup-stream produce crawl.jsonl.gz --config neardup.toml
        neardup-stream produce pages.jsonl extraPages.jsonl --page-preset browsertrix --config neardup.toml
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    from neardup_daemon.producing import Produced, produce_files  # noqa: PLC0415 - Kafka is not for --help

    produced = Produced()
    try:
        with count_progress("records") as on_records:
            asyncio.run(produce_files(files, settings, produced, on_records, skips_too_large=skips_too_large))
    except BaseException:
        if produced != Produced():
            _report(produced, settings)
        raise
    _report(produced, settings)
    bad = produced.bad.total()
    if complaint := dead_letter_complaint(bad, produced.published + bad, files):
        raise ConfigError(complaint)


def _report(produced: "Produced", settings: Settings) -> None:
    """Print how many records had each outcome, and what that may mean."""
    topic, skipped = settings.kafka.pages_topic, produced.skipped
    click.echo(f"{counted(produced.published, 'record')} published to {topic}", err=True)
    for what, where, counts in (
        ("bad page", "", produced.bad),
        ("record", " without a page", skipped),
    ):
        if counts:
            click.echo(f"{counted(counts.total(), what)}{where} left out: {by_reason(counts)}", err=True)
    for bad in produced.first_bad.lines:
        click.echo(f"bad page: {printable(bad)}", err=True)
    print_warnings(
        missing_preset(skipped["header"], settings.page.preset),
        missing_texts(skipped, produced.published + produced.bad.total() + skipped.total()),
        unseen_pages(skipped["revisit"]),
    )
