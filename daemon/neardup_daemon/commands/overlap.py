"""`overlap`: find the pages of archives that share passages with given pages."""

import asyncio
from functools import partial
from pathlib import Path

import click

from neardup_daemon.commands.answers import print_answer, print_dead_letters
from neardup_daemon.commands.completion import FILE_NAME, NamedPath
from neardup_daemon.commands.options import WholeNumber, with_json, with_settings
from neardup_daemon.settings.settings import Settings

__all__ = ["overlap"]


@click.command()
@with_settings("text.extraction", has_logs=True)
@with_json
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=FILE_NAME)
@click.option(
    "--against",
    "archives",
    multiple=True,
    required=True,
    type=NamedPath(path_type=Path),
    metavar="NAME.nda",
    help="An archive that was frozen with passages; may be repeated.",
)
@click.option(
    "--min-tokens",
    type=WholeNumber(min=1),
    default=30,
    show_default=True,
    metavar="TOKENS",
    help="Leave out passages with fewer; with less than 8 the same as 8.",
)
@click.option(
    "--common",
    "common_pages",
    type=WholeNumber(min=1),
    metavar="PAGES",
    help="Set aside what more pages have in common.  [default: as 'freeze --common' said]",
)
@click.option(
    "--min-hits",
    type=WholeNumber(min=1),
    default=2,
    show_default=True,
    metavar="HITS",
    help="Look only at pages with so many chosen shingles in common; with 1 more short passages are found,"
    " and without texts some that are none.",
)
def overlap(
    settings: Settings,
    files: tuple[str, ...],
    archives: tuple[Path, ...],
    min_tokens: int,
    common_pages: int | None,
    min_hits: int,
    *,
    as_json: bool,
) -> None:
    """Find the archived pages that share passages with given ones, and mark the passages.

    FILE is a crawl (.jsonl, .warc or .wet, also .gz or .zst; .wacz; - for standard input), of which every
    page is looked for, or one page: .txt, .md, .html. Archives are made by 'freeze --with passages,texts';
    where one keeps no texts, passages are estimated. Readable on a terminal, one line of JSON for each page
    otherwise.

    \b
        neardup-stream freeze training-*.jsonl.gz -o training.nda --with passages,texts
        neardup-stream overlap benchmark.jsonl --against training.nda
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    from neardup_daemon.inspect.overlapping import (  # noqa: PLC0415 - the kernel is not for --help
        OverlapRequest,
        find_overlaps,
        readable,
    )
    from neardup_daemon.prepared_tally import PreparedTally  # noqa: PLC0415 - the same

    async def show() -> None:
        request = OverlapRequest(files, archives, min_tokens, common_pages, min_hits)
        tally = PreparedTally()
        async for answer in find_overlaps(request, settings, tally):
            if isinstance(answer, str):
                print_dead_letters([answer])
            else:
                overlap, text = answer
                print_answer(overlap, partial(readable, text=text), as_json=as_json)
        click.echo(tally, err=True)

    asyncio.run(show())
