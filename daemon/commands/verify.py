"""`verify`: whether the daemon's promises held."""

import asyncio
import sys

import click
import msgspec

from daemon.commands.options import with_json, with_settings
from daemon.exit_codes import CORRUPT_DATA, OK
from daemon.settings import Settings

__all__ = ["verify"]


@click.command()
@with_settings("kafka.bootstrap_servers", "kafka.group_id", "redis.url", "redis.namespace")
@click.option(
    "--wait",
    "wait_seconds",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="Wait so long at most for the group to finish what is on the pages topic.",
)
@with_json
def verify(settings: Settings, wait_seconds: float, *, as_json: bool) -> int:
    """Read the topics and Redis, and judge whether every promise was kept.

    Takes the settings of the daemons, disturbs nobody and changes nothing. Beside running daemons it judges
    what is committed; two of the invariants need a moment in which nothing is under way. Exits with 0 if
    they held, with 4 if one is violated. Readable on a terminal, one line of JSON otherwise. Takes some
    5 KB of memory a page and 3 KB an event.

        neardup-stream verify --config neardup.toml --wait 60
    """
    from daemon.verification import readable, verified  # noqa: PLC0415 - Kafka and Redis are not for --help
    from daemon.verifying import read_history  # noqa: PLC0415 - the same

    verification = verified(asyncio.run(read_history(settings, wait_seconds)))
    is_readable = sys.stdout.isatty() and not as_json
    click.echo(readable(verification) if is_readable else msgspec.json.encode(verification))
    return OK if verification.is_held else CORRUPT_DATA
