"""`search`: find the pages of archives that hold given words."""

from pathlib import Path

import click

from neardup_daemon.commands.answers import print_answer
from neardup_daemon.commands.completion import NamedPath
from neardup_daemon.commands.options import WholeNumber, is_given, with_json, with_settings
from neardup_daemon.settings.settings import Settings
from neardup_daemon.terminal import print_warnings

__all__ = ["search"]


@click.command()
@with_settings()
@with_json
@click.argument("query", metavar="QUERY")
@click.argument("files", nargs=-1, required=True, type=NamedPath(path_type=Path), metavar="FILE…")
@click.option(
    "--settle",
    is_flag=True,
    help="Read texts, so that no page is a maybe: those that the archives keep, or those of the files of"
    " pages that are named beside the archives.",
)
@click.option("--count", "is_count", is_flag=True, help="Show how many pages there are, and none of them.")
@click.option(
    "--limit",
    type=WholeNumber(min=0),
    default=100,
    show_default=True,
    metavar="N",
    help="Pages to show at most.",
)
def search(
    settings: Settings,
    query: str,
    files: tuple[Path, ...],
    limit: int,
    *,
    settle: bool,
    is_count: bool,
    as_json: bool,
) -> None:
    """Show which pages of archives hold these words.

    QUERY is made of words, "phrases in quotation marks", AND, OR, NOT and parentheses; words side by side
    mean AND. FILE is an archive that was frozen with search. A page holds the words (yes) or may hold them
    (maybe); the output says how many of the maybes are expected not to, without regard to the order of the
    words of phrases. No page is missed. Readable on a terminal, one line of JSON otherwise.

    \b
        neardup-stream freeze october-*.warc.gz -o october.nda --with search,texts
        neardup-stream search 'cold AND (war OR peace) AND NOT "press release"' october.nda --settle
        neardup-stream search 'cold war' october.nda --settle october-*.warc.gz
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    if is_count and is_given("limit"):
        raise click.UsageError("--count shows no pages, so there is nothing to --limit")
    from neardup_daemon.inspect.searching import SearchRun, operator_hint, readable, search_archives  # noqa: PLC0415 - arrays are not for --help

    found = search_archives(SearchRun(query, files, settle, 0 if is_count else limit), settings)
    print_answer(found, readable, as_json=as_json)
    print_warnings(operator_hint(query, found))
