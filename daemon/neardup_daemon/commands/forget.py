"""`forget`: remove pages by id."""

import asyncio
from pathlib import Path

import click

from neardup_daemon.commands.completion import FILE_NAME
from neardup_daemon.commands.options import used_files, with_settings, with_state
from neardup_daemon.logs import configure_command_logs
from neardup_daemon.settings.settings import Settings
from neardup_daemon.tally import Tally, by_outcome
from neardup_daemon.terminal import counted
from neardup_stream.streams.files.outputs import STANDARD_OUTPUT, check_outputs, check_outside

__all__ = ["forget"]


@click.command()
@with_settings("kafka.bootstrap_servers", "kafka.pages_topic", "kafka.partitioner")
@with_state
@click.option(
    "--events",
    metavar="FILE",
    type=FILE_NAME,
    help="Where events go with --state.  [default: standard output]",
)
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
def forget(settings: Settings, ids: tuple[str, ...], state_dir: Path | None, events: str | None) -> int:
    """Remove pages by their ids, or URLs for pages without id.

    For each, a record without value is published to the pages topic. The daemon removes the page when it
    reads that record, after the pages published before it, and publishes a "gone" event. The record must
    reach the partition of the page's own records, so give exactly the key under which they were published:
    'produce' takes the id, else the URL as it was crawled. Where producers are over librdkafka, set
    kafka.partitioner to crc32.

    With --state the pages are removed at once from the index that 'dedup --state' keeps. Pages of an
    index that 'dedup --redis' keeps, and no daemon works on, leave only by 'expire'.

    \b
        neardup-stream forget https://example.com/old --config neardup.toml
        neardup-stream forget page-17 page-18 --state ./index > gone.jsonl
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    if state_dir is not None:
        configure_command_logs(settings.log.level, settings.log.format)
    from neardup_daemon.inspect.page_lookup import named_ids  # noqa: PLC0415 - the same
    from neardup_daemon.repair.forgetting import forget_in_state, publish_forgets  # noqa: PLC0415 - Kafka is not for --help

    for each in ids:
        named_ids(each)  # refuses all of them before any is published
    if state_dir is None:
        if events is not None:
            raise click.UsageError("--events needs --state: otherwise the daemon publishes the events")
        asyncio.run(publish_forgets(ids, settings))
        click.echo(f"{counted(len(ids), 'forget')} published to {settings.kafka.pages_topic}", err=True)
        return 0
    output = events or STANDARD_OUTPUT
    check_outputs(used_files(settings), [output])
    check_outside(state_dir, [output])
    tally = Tally()
    code = asyncio.run(forget_in_state(ids, settings, state_dir, output, tally))
    outcomes = by_outcome(tally.outcomes.items(), tally.skipped)
    click.echo(f"{counted(tally.outcomes.total(), 'page')}: {outcomes}", err=True)
    return code
