"""`replay`: publish dead letters to the pages topic again."""

import asyncio
from pathlib import Path
from typing import get_args

import click

from neardup_daemon.commands.completion import FILE_NAME, NamedPath
from neardup_daemon.commands.options import WholeNumber, with_settings
from neardup_daemon.settings.settings import Settings
from neardup_daemon.terminal import counted
from neardup_stream.errors import BadPageReason

__all__ = ["replay"]


@click.command()
@with_settings("kafka.bootstrap_servers", "kafka.pages_topic", "kafka.dead_letters_topic")
@click.option(
    "--reason",
    "reasons",
    multiple=True,
    type=click.Choice(get_args(BadPageReason)),
    help="Only letters with this reason; may be repeated.",
)
@click.option(
    "--max-attempts",
    default=3,
    show_default=True,
    type=WholeNumber(min=1),
    metavar="N",
    help="Leave records that were put back so often.",
)
@click.option(
    "--from-start", is_flag=True, help="Begin with the oldest letter kept, not behind the last run."
)
@click.option(
    "--save",
    "save_path",
    type=NamedPath(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the letters there instead, to be corrected and put back from it.",
)
@click.argument("files", nargs=-1, metavar="[FILE…]", type=FILE_NAME)
def replay(
    settings: Settings,
    files: tuple[str, ...],
    reasons: tuple[str, ...],
    max_attempts: int,
    save_path: Path | None,
    *,
    from_start: bool,
) -> None:
    """Put dead letters back into the pages topic, with the key, value and headers the records came with.

    Without FILE, all letters of the topic that no earlier run has dealt with: after a limit was raised, say.
    Each record carries how often it was put back in the header neardup.attempts, and so does its next dead
    letter. Letters of which only the beginning is kept are left where they are.

    With FILE, the letters in it, one a line: those that --save or 'dedup --dead-letters' wrote, corrected.
    Where you complete a cut value, take its header neardup.error.truncated_from_bytes out.

    \b
        neardup-stream replay --reason over_limit --config neardup.toml
        neardup-stream replay --save letters.jsonl && $EDITOR letters.jsonl
        neardup-stream replay letters.jsonl
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    from neardup_daemon.repair.replaying import (  # noqa: PLC0415 - Kafka is not for --help
        Choice,
        replay_files,
        replay_topic,
        save_topic,
    )

    if files and (save_path is not None or from_start):
        raise click.UsageError(
            "--save and --from-start are for the letters of the topic, not for those of files"
        )
    choice = Choice(frozenset(reasons), max_attempts)
    if files:
        fates = replay_files(settings, choice, files)
    elif save_path is not None:
        fates = asyncio.run(save_topic(settings, choice, save_path, from_start=from_start))
    else:
        fates = asyncio.run(replay_topic(settings, choice, from_start=from_start))
    done = f"saved to {save_path}" if save_path is not None else f"put back into {settings.kafka.pages_topic}"
    left = {
        "with another reason": fates["other_reason"],
        f"put back {counted(max_attempts, 'time')} before (--max-attempts)": fates["exhausted"],
        "of which only the beginning is kept": fates["truncated"],
    }
    click.echo(f"{counted(fates['replayed'], 'dead letter')} {done}", err=True)
    for why, count in left.items():
        if count:
            click.echo(f"{count:,} left, {why}", err=True)
