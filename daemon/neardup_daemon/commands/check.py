"""Connect to every server, and report faults with their remedies."""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

import click

from neardup_daemon.commands.options import WholeNumber, report_ignored_variables, with_settings
from neardup_daemon.settings.settings import Settings
from neardup_daemon.terminal import printable

if TYPE_CHECKING:
    from neardup_daemon.inspect.findings import Finding

__all__ = ["check"]

_MARKS: Final = {"good": ("ok", "green"), "warning": ("warn", "yellow"), "bad": ("BAD", "red")}


@click.command()
@with_settings("kafka.bootstrap_servers", "redis.url")
@click.option("--create-topics", is_flag=True, help="Create the topics that are missing.")
@click.option(
    "--partitions",
    default=4,
    show_default=True,
    type=WholeNumber(1, 100_000),
    help="Of a pages or events topic created.",
)
def check(settings: Settings, partitions: int, *, create_topics: bool) -> int:
    """Connect to Kafka and Redis, and report faults with their remedies.

    Exits with 0 if the daemon could start now, with 2 if a fault prevents it.

        neardup-stream check --config neardup.toml --create-topics
    """
    from neardup_daemon.inspect.checks import run_checks  # noqa: PLC0415 - Kafka and Redis are not for --help

    report_ignored_variables()
    is_sound = asyncio.run(_print(run_checks(settings, partitions if create_topics else None)))
    return 0 if is_sound else 2


async def _print(findings: AsyncIterator["Finding"]) -> bool:
    """Print each finding as it is made, since a hanging server takes a while; return whether none is bad."""
    is_sound = True
    async for finding in findings:
        mark, color = _MARKS[finding.grade]
        click.echo(f"{click.style(f'{mark:>4}', fg=color, bold=True)}  {printable(finding.sentence)}")
        is_sound &= finding.grade != "bad"
    return is_sound
