"""`produce`: pages of files, published to Kafka."""

import asyncio

import click

from daemon.commands.options import with_settings
from daemon.progress import page_progress
from daemon.settings import Settings

__all__ = ["produce"]


@click.command()
@with_settings("kafka.bootstrap_servers", "kafka.pages_topic", "kafka.compression")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
def produce(settings: Settings, files: tuple[str, ...]) -> None:
    """Publish the pages of files to the pages topic, each under its id or URL as key.

    Lines of .jsonl files go as they are, right or wrong: the daemon judges them. Pages of .warc and .wet
    files become JSON; their other records are left out. Keys, and pages made of WARC records, use the names
    of docs/pages.md: [page.fields] is for the daemon that reads them.

        neardup-stream produce crawl.jsonl.gz --config neardup.toml
    """
    from daemon.producing import produce_files  # noqa: PLC0415 - Kafka is not for --help

    with page_progress() as on_pages:
        count = asyncio.run(produce_files(files, settings, on_pages))
    click.echo(f"{count:,} records published to {settings.kafka.pages_topic}", err=True)
