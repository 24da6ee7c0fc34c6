"""`tail`: print the events as they are published."""

import asyncio
import sys

import click

from neardup_daemon.commands.answers import is_for_people
from neardup_daemon.commands.options import Number, WholeNumber, with_settings
from neardup_daemon.settings.settings import Settings
from neardup_daemon.terminal import printable

__all__ = ["tail"]


@click.command()
@with_settings("kafka.bootstrap_servers", "kafka.events_topic")
@click.option("--from-start", is_flag=True, help="Begin with the oldest event kept, not with the next one.")
@click.option("--max-events", type=WholeNumber(min=1), metavar="N", help="Stop after so many events.")
@click.option(
    "--idle-seconds",
    type=Number(min=0),
    metavar="S",
    help="Stop this long after the last event, once all partitions are read to their ends.",
)
@click.option("--json", "as_json", is_flag=True, help="Lines of JSON on a terminal too.")
def tail(
    settings: Settings, max_events: int | None, idle_seconds: float | None, *, from_start: bool, as_json: bool
) -> int:
    """Follow the events topic: readable on a terminal, one CloudEvent a line otherwise.

    \b
        neardup-stream tail --from-start --idle-seconds 5 > events.jsonl
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    from neardup_daemon.inspect.following import Follow, follow_events  # noqa: PLC0415 - Kafka is not for --help

    if sys.stderr.isatty():
        start = "from the oldest one" if from_start else "the next ones; --from-start shows all"
        topic = printable(settings.kafka.events_topic)
        click.echo(f"waiting for events on {topic}, {start}; Ctrl-C ends it", err=True)
    follow = Follow(from_start, max_events, idle_seconds, is_readable=is_for_people(as_json=as_json))
    return asyncio.run(follow_events(follow, settings))
