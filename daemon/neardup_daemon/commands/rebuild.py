"""`rebuild`: fill the index from the page records."""

import asyncio
from pathlib import Path

import click

from neardup_daemon.commands.options import Count, with_settings, with_state
from neardup_daemon.progress import share_progress
from neardup_daemon.settings.settings import Settings
from neardup_daemon.terminal import counted

__all__ = ["rebuild"]


@click.command()
@with_settings("redis.url", "redis.namespace", has_logs=True)
@click.option(
    "--into",
    "expected_pages",
    type=Count(),
    metavar="PAGES",
    help="Lay the tables out anew, for so many pages: 500k, 20M, 1.5G.",
)
@with_state
def rebuild(settings: Settings, state_dir: Path | None, expected_pages: int | None) -> None:
    """Fill the index again from the page records, for when Redis lost writes or keys of it.

    Safe beside running daemons, and to repeat: what is there stays. Pages that came while entries were
    missing are not judged again, and the layout (index.*) stays what it is. Do not run it beside
    'rebuild --into'.

        neardup-stream rebuild --config neardup.toml

    With --into, fill new tables beside the old ones, laid out for another index.expected_pages, then let all
    daemons use them and remove the old ones. Daemons go on meanwhile. If it ends early, run it again. Run
    only one at a time.

        neardup-stream rebuild --config neardup.toml --into 20M
    """
    if expected_pages is None:
        _rebuild(settings, state_dir)
    else:
        _lay_out(settings, state_dir, expected_pages)


def _rebuild(settings: Settings, state_dir: Path | None) -> None:
    from neardup_daemon.repair.rebuilding import rebuild_index  # noqa: PLC0415 - Redis is not for --help

    with share_progress("filling the index") as on_slots:
        counts = asyncio.run(rebuild_index(settings, state_dir, on_slots))
    click.echo(
        f"{counted(counts.total(), 'record')}: {counted(counts['indexed'], 'page')} in the index,"
        f" {counts['short']:,} too short for it, {counts['archived']:,} left to archives,"
        f" {counts['gone']:,} stubs"
    )


def _lay_out(settings: Settings, state_dir: Path | None, expected_pages: int) -> None:
    from neardup_daemon.repair.laying_out import lay_out  # noqa: PLC0415 - Redis is not for --help

    with share_progress("filling the new tables") as on_slots:
        done = asyncio.run(lay_out(settings, state_dir, expected_pages, on_slots))
    if done.counts:
        click.echo(
            f"{counted(done.counts.total(), 'record')}: {counted(done.counts['indexed'], 'page')}"
            " in new tables"
        )
    if expected_pages != done.tables.expected_pages:
        click.echo(
            f"{expected_pages:,} pages have the same layout as {done.tables.expected_pages:,}, for which the"
            " tables are laid out: that number stays in force"
        )
    where = "of all daemons" if state_dir is None else "wherever this directory is used"
    click.echo(
        f"{counted(done.removed_count, 'bucket')} of other layouts removed; set these in the table [index] of"
        f" the settings {where}:"
    )
    click.echo("[index]")
    for name, value in done.tables._asdict().items():
        click.echo(f"{name} = {value:_}")
