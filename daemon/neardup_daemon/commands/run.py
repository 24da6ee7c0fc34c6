"""`run`: start the daemon."""

import asyncio
import logging
import os
from collections.abc import Sequence

import click

from neardup_daemon.commands.options import is_given, with_settings
from neardup_daemon.logs import log_event
from neardup_daemon.settings.environment import ignored_variables
from neardup_daemon.settings.known import known_settings
from neardup_daemon.settings.settings import Settings

__all__ = ["run"]

_logger = logging.getLogger(__name__)

_FLAGS: Sequence[str] = (
    "kafka.bootstrap_servers",
    "kafka.pages_topic",
    "kafka.events_topic",
    "kafka.dead_letters_topic",
    "kafka.group_id",
    "redis.url",
    "redis.namespace",
    "http.port",
    "log.level",
    "log.format",
)


@click.command()
@with_settings(*_FLAGS, has_logs=True)
@click.option(
    "--embedded",
    is_flag=True,
    help="Start a private Redis for this run, and stop it at the end. The next such run needs another"
    " kafka.group_id.",
)
def run(settings: Settings, *, embedded: bool) -> int:
    """Read pages from Kafka, publish duplicate events to Kafka.

    SIGTERM, SIGINT or SIGHUP finishes what was read, delivers, commits and exits 0; a second one stops at
    once.

        neardup-stream run --config neardup.toml
    """
    if embedded and is_given("redis_url"):
        raise click.UsageError("--embedded starts a private Redis, --redis-url names another one: choose")
    if ignored := ignored_variables(os.environ, known_settings(Settings)):
        log_event(_logger, "environment_ignored", level=logging.WARNING, variables=ignored)
    from neardup_daemon.forked_workers import forked_workers  # noqa: PLC0415 - Kafka, Redis and Numba load only for a valid run
    from neardup_daemon.service import run_service  # noqa: PLC0415 - the same

    with forked_workers(settings) as forked:
        return asyncio.run(run_service(settings, forked, embedded=embedded))
