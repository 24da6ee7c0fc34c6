"""`rebuild`: the index from the page records."""

import asyncio
import sys
from pathlib import Path

import click

from neardup_daemon.commands.options import with_settings, with_state
from neardup_daemon.logs import configure_logs
from neardup_daemon.progress import share_progress
from neardup_daemon.settings.settings import Settings
from neardup_daemon.terminal import counted

__all__ = ["rebuild"]


@click.command()
@with_settings("redis.url", "redis.namespace")
@with_state
def rebuild(settings: Settings, state_dir: Path | None) -> None:
    """Fill the index again from the page records, for when Redis lost writes or keys of it.

    Safe beside running daemons, and to repeat: what is there stays. Pages that came while entries were
    missing are not judged again, and the layout (index.*) stays what it is.

        neardup-stream rebuild --config neardup.toml
    """
    from neardup_daemon.repair.rebuilding import rebuild_index  # noqa: PLC0415 - Redis is not for --help

    configure_logs(settings.log.level, settings.log.format if not sys.stderr.isatty() else "text")
    with share_progress("filling the index") as on_slots:
        counts = asyncio.run(rebuild_index(settings, state_dir, on_slots))
    click.echo(
        f"{counted(counts.total(), 'record')}: {counted(counts['indexed'], 'page')} in the index,"
        f" {counts['short']:,} too short for it, {counts['gone']:,} stubs"
    )
