"""`frames`: learn, show and forget the frames of sites."""

import asyncio
from pathlib import Path

import click

from neardup_daemon.commands.answers import print_answer
from neardup_daemon.commands.completion import FILE_NAME, NamedPath
from neardup_daemon.commands.options import with_json, with_settings, with_state
from neardup_daemon.progress import count_progress
from neardup_daemon.settings.settings import Settings
from neardup_daemon.tally import dead_letter_complaint
from neardup_daemon.terminal import counted, printable
from neardup_stream.errors import ConfigError

__all__ = ["frames"]

_CACHE_NOTE = "daemons that run keep their copy for at most 10 seconds"


@click.group()
def frames() -> None:
    """Learn, show or forget the frames of sites.

    The frame of a site is what it repeats on its pages: navigation, footers, sidebars. It is learned from
    the pages as they come, and not compared.
    """


@frames.command()
@with_settings("redis.url", "redis.namespace", "frames.scope", "index.expected_pages", has_logs=True)
@click.option(
    "--state",
    "state_dir",
    type=NamedPath(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Learn for the index that 'dedup --state DIR' keeps, not the one in the Redis of redis.url.",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=FILE_NAME)
def learn(settings: Settings, files: tuple[str, ...], state_dir: Path | None) -> int:
    """Learn frames from the pages of an earlier crawl.

    Files are .jsonl, .warc or .wet (also .gz, .zst), or .wacz; - is standard input. The lines of each page
    are counted for its site, but for near-copies of earlier pages; the pages themselves are not stored. An
    index that does not exist is created. Read a crawl once: a second time its pages are counted again.

    \b
        neardup-stream frames learn last-month.warc.gz --config neardup.toml
        neardup-stream frames learn monday.jsonl.gz --state ./index
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    from neardup_daemon.frame_learning import learn_frames  # noqa: PLC0415 - Redis is not for --help

    with count_progress("pages") as on_pages:
        learned = asyncio.run(learn_frames(files, settings, state_dir, on_pages))
    click.echo(
        f"{counted(learned.page_count, 'page')} of {counted(learned.site_count, 'site')}:"
        f" {learned.lesson_count:,} learned from, {learned.copy_count:,} near-copies,"
        f" {learned.unused_count:,} too short or of no site;"
        f" frames have {counted(learned.frame_line_count, 'line')} now"
    )
    if learned.rejected_count:
        click.echo(f"no pages: {counted(learned.rejected_count, 'record')}", err=True)
    if learned.dropped_count:
        click.echo(f"{learned.dropped_count:,} lessons gave way to those of a daemon", err=True)
    click.echo(_CACHE_NOTE, err=True)
    records = learned.page_count + learned.rejected_count
    if complaint := dead_letter_complaint(learned.rejected_count, records):
        raise ConfigError(complaint)
    return learned.exit_code


@frames.command()
@with_settings("redis.url", "redis.namespace", "frames.scope")
@with_state
@with_json
@click.argument("site", metavar="SITE")
@click.argument("files", nargs=-1, metavar="[FILE…]", type=FILE_NAME)
def show(
    settings: Settings, site: str, files: tuple[str, ...], state_dir: Path | None, *, as_json: bool
) -> None:
    """Show what is stored of a site's frame.

    SITE is a host, a URL of its pages, or a value of frames.scope. With files, the lines of their pages of
    that site follow, each with the number of counted pages that have it; frame is marked with |. Readable
    on a terminal, lines of JSON otherwise: the site first, then one for each page.

    \b
        neardup-stream frames show www.example.com --config neardup.toml
        neardup-stream frames show www.example.com crawl.warc.gz --state ./index
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    asyncio.run(_show(settings, site, files, state_dir, as_json=as_json))


async def _show(
    settings: Settings, site: str, files: tuple[str, ...], state_dir: Path | None, *, as_json: bool
) -> None:
    from neardup_daemon.inspect.frame_showing import (  # noqa: PLC0415 - Redis is not for --help
        page_lines,
        readable,
        readable_page,
        stored_frame,
    )

    frame = await stored_frame(site, settings, state_dir)
    print_answer(frame.facts, lambda facts: "\n".join(readable(facts)), as_json=as_json)
    if files:
        async for page in page_lines(files, frame, settings):
            print_answer(page, lambda lines: "\n".join(readable_page(lines)), as_json=as_json)


@frames.command()
@with_settings("redis.url", "redis.namespace", "frames.scope")
@with_state
@click.argument("site", metavar="SITE")
def forget(settings: Settings, site: str, state_dir: Path | None) -> None:
    """Forget the frame of a site, for when content is taken for it.

    SITE is a host, a URL of its pages, or a value of frames.scope. The frame is learned anew from the pages
    that come next. Pages that are stored keep the views with which they came.

        neardup-stream frames forget www.example.com --config neardup.toml
    """
    from neardup_daemon.inspect.frame_showing import forget_site  # noqa: PLC0415 - Redis is not for --help

    was_stored = asyncio.run(forget_site(site, settings, state_dir))
    outcome = f"forgotten; {_CACHE_NOTE}" if was_stored else "nothing was stored"
    click.echo(f"{printable(site)}: {outcome}")
