"""`verify`: check that the delivery guarantees held."""

import asyncio
from pathlib import Path

import click

from neardup_daemon.commands.answers import print_answer
from neardup_daemon.commands.completion import NamedPath
from neardup_daemon.commands.options import Number, is_given, with_json, with_settings, with_state
from neardup_daemon.exit_codes import CORRUPT_DATA, OK
from neardup_daemon.progress import part_progress
from neardup_daemon.settings.settings import Settings

__all__ = ["verify"]

_FILE = NamedPath(exists=True, dir_okay=False, path_type=Path)


@click.command()
@with_settings("kafka.bootstrap_servers", "kafka.group_id", "redis.url", "redis.namespace")
@click.option(
    "--wait",
    "wait_seconds",
    type=Number(min=0),
    default=0.0,
    metavar="SECONDS",
    help="Wait so long at most for the group to finish what is on the pages topic.",
)
@click.option(
    "--pages",
    type=_FILE,
    multiple=True,
    metavar="FILE",
    help="Judge runs of 'dedup': what they were given; may be repeated.",
)
@click.option(
    "--events",
    type=_FILE,
    multiple=True,
    metavar="FILE",
    help="The events of these runs, and of 'forget --state'; may be repeated.",
)
@click.option(
    "--dead-letters",
    type=_FILE,
    multiple=True,
    metavar="FILE",
    help="What they refused, if that was kept; may be repeated.",
)
@with_state
@with_json
def verify(
    settings: Settings,
    wait_seconds: float,
    pages: tuple[Path, ...],
    events: tuple[Path, ...],
    dead_letters: tuple[Path, ...],
    state_dir: Path | None,
    *,
    as_json: bool,
) -> int:
    """Read the topics and Redis, and judge whether every promise was kept.

    Takes the settings of the daemons, disturbs no daemon and changes nothing. Beside running daemons it
    judges what is committed; three of the promises need a moment in which no record is in flight. Exits
    with 0 if they held, with 4 if one is violated, with 2 if the index was lost or went back. Readable on
    a terminal, one line of JSON otherwise. Writes what it reads to temporary files
    (TMPDIR), some 1 KB a page and an event.

    \b
        neardup-stream verify --config neardup.toml --wait 60
        neardup-stream verify --pages crawl.jsonl --events duplicates.jsonl --state ./index
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    from neardup_daemon.inspect.verification import readable, verified  # noqa: PLC0415 - Kafka and Redis are not for --help
    from neardup_daemon.inspect.verifying import read_history  # noqa: PLC0415 - the same
    from neardup_daemon.inspect.verifying_files import FilesOfRuns, read_files  # noqa: PLC0415 - the same

    if bool(pages) != bool(events) or ((dead_letters or state_dir) and not pages):
        raise click.UsageError("--pages and --events go together, and --dead-letters and --state with them")
    if pages and is_given("wait_seconds"):
        raise click.UsageError("--wait is for a group that reads the pages topic, not for runs of 'dedup'")
    with part_progress() as on_part:
        if events:
            files = FilesOfRuns(tuple(map(str, pages)), events, dead_letters, state_dir)
            reading = asyncio.run(read_files(files, settings, on_part))
        else:
            reading = asyncio.run(read_history(settings, wait_seconds, on_part))
        verification = verified(reading, on_part)
    print_answer(verification, readable, as_json=as_json)
    return OK if verification.is_held else CORRUPT_DATA
