"""`status`: show the state of the installation on one screen."""

import asyncio

import click

from neardup_daemon.commands.answers import print_answer
from neardup_daemon.commands.options import with_json, with_settings
from neardup_daemon.exit_codes import DEPENDENCY_LOST, OK
from neardup_daemon.settings.settings import Settings

__all__ = ["status"]


@click.command()
@with_settings("kafka.bootstrap_servers", "redis.url", "redis.namespace")
@with_json
def status(settings: Settings, *, as_json: bool) -> int:
    """Show how full the index is, who reads the pages topic, and how far behind.

    Nothing is written, and running daemons are not disturbed. Readable on a terminal, one line of JSON
    otherwise. Where Kafka does not answer, its error stands in the place of the group, and the exit code is
    3. A daemon's own view is at its port: /readyz and /metrics.

        neardup-stream status --config neardup.toml
    """
    from neardup_daemon.inspect.status import (  # noqa: PLC0415 - Kafka and Redis are not for --help
        GroupUnavailable,
        readable,
        take_status,
    )

    answer = asyncio.run(take_status(settings))
    print_answer(answer, readable, as_json=as_json)
    return DEPENDENCY_LOST if isinstance(answer.group, GroupUnavailable) else OK
