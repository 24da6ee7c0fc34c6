"""`explain`: show why two pages match, or do not."""

from pathlib import Path

import click
import msgspec
from msgspec.structs import replace

from neardup_daemon.commands.answers import print_answer
from neardup_daemon.commands.completion import FILE_NAME
from neardup_daemon.commands.options import with_json, with_settings, with_state
from neardup_daemon.settings.settings import Settings
from neardup_daemon.terminal import printable

__all__ = ["explain"]


@click.command()
@with_settings("redis.url", "redis.namespace")
@with_state
@click.option(
    "--with-index", is_flag=True, help="Ask the index for the frames of two given pages too; --state does so."
)
@click.option(
    "--archive",
    "archives",
    multiple=True,
    metavar="NAME.nda",
    type=FILE_NAME,
    help="Look for A and B in this archive before the index; may be repeated. Over archive.files.",
)
@with_json
@click.argument("first", metavar="A", type=FILE_NAME)
@click.argument("second", metavar="B", type=FILE_NAME)
def explain(
    settings: Settings,
    first: str,
    second: str,
    state_dir: Path | None,
    archives: tuple[str, ...],
    *,
    with_index: bool,
    as_json: bool,
) -> None:
    """Say why two pages match, or do not.

    A and B are each a file with one page as JSON, - for standard input, or else the id or URL of a stored
    page, or of a page of the archives (--archive or archive.files). Pages that are given or found with
    --archive need no index. Two given pages are compared exactly as well; the frames of their sites are
    taken out only with --with-index or --state. A stored or frozen page is compared as it was when it came.
    In words on a terminal, one line of JSON otherwise.

    \b
        neardup-stream explain one.json other.json
        neardup-stream explain https://example.com/a https://example.com/b --state ./index
        neardup-stream explain one.json https://example.com/news --archive october.nda
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    from neardup_daemon.inspect.explaining import explain_named  # noqa: PLC0415 - Redis is not for --help
    from neardup_daemon.inspect.explanation_words import sentences  # noqa: PLC0415 - the same

    if archives:
        settings = replace(settings, archive=replace(settings.archive, files=archives))
    explanation = explain_named(
        (first, second), settings, state_dir, with_index=with_index, archives_first=bool(archives)
    )
    words = sentences(explanation)

    def readable(_answer: object) -> str:
        pages = (("first", explanation.first), ("second", explanation.second))
        names = (f"{name:>6}  {click.style(printable(page.id), bold=True)}" for name, page in pages)
        return "\n".join([*names, *map(printable, words)])

    print_answer({**msgspec.to_builtins(explanation), "words": words}, readable, as_json=as_json)
