"""`expire`: run one round of retention now."""

import asyncio
from pathlib import Path

import click

from neardup_daemon.commands.options import with_settings, with_state
from neardup_daemon.progress import share_progress
from neardup_daemon.settings.settings import Settings
from neardup_daemon.terminal import counted

__all__ = ["expire"]


@click.command()
@with_settings("redis.url", "redis.namespace", "retention.seconds", "retention.stub_seconds", has_logs=True)
@with_state
def expire(settings: Settings, state_dir: Path | None) -> None:
    """Expire pages that were not seen for retention.seconds, and drop stubs after retention.stub_seconds.

    The daemon does the same continuously; this is one full round at once, and safe beside it. Expiry
    publishes no event. The representative of a cluster stays until all other members have expired. What a
    killed run of 'dedup' decided for a pipe is removed too, by a second call at least
    retention.stub_seconds later.

        neardup-stream expire --state ./index --retention-seconds 2592000
    """
    from neardup_daemon.repair.expiring import expire_now  # noqa: PLC0415 - Redis is not for --help

    if not settings.retention.seconds:
        click.echo("retention.seconds is 0, so all pages are kept and only old stubs dropped", err=True)
    with share_progress("looking at page records") as on_slots:
        counts, dead_inputs = asyncio.run(expire_now(settings, state_dir, on_slots))
    click.echo(
        f"{counted(counts['scanned'], 'record')}: {counted(counts['expired'], 'page')} expired,"
        f" {counts['representative']:,} due but kept as representatives,"
        f" {counted(counts['dropped'], 'stub')} dropped"
    )
    if dead_inputs:
        click.echo(f"decisions of {dead_inputs:,} pipes that were cut and did not come again are removed")
