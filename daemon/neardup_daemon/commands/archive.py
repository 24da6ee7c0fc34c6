"""`archive`: show, check and query archives, and forget pages of them."""

from collections.abc import Callable
from pathlib import Path

import click

from neardup_daemon.commands.answers import print_answer
from neardup_daemon.commands.completion import NamedPath
from neardup_daemon.commands.options import settings_files, with_json, with_settings
from neardup_daemon.exit_codes import OK, USAGE
from neardup_daemon.settings.settings import Settings
from neardup_daemon.terminal import PROGRAM, counted, printable
from neardup_stream.streams.files.outputs import check_outputs

__all__ = ["archive"]

_PATH = NamedPath(path_type=Path)


@click.group()
def archive() -> None:
    """Show what archives hold, check and query them, forget pages of them, and rewrite them.

    An archive is a file that 'freeze' wrote. It never changes: pages to be forgotten are noted in a small
    file beside it, NAME.nda.gone, until 'rewrite' writes an archive without them.
    """


@archive.command()
@with_json
@click.argument("file", type=_PATH, metavar="FILE")
def info(file: Path, *, as_json: bool) -> None:
    """Show what an archive holds, and what its bytes are spent on.

    Readable on a terminal, one line of JSON otherwise.

        neardup-stream archive info october.nda
    """
    from neardup_daemon.inspect.archive_facts import archive_facts, readable  # noqa: PLC0415 - the kernel is not for --help

    print_answer(archive_facts(file), readable, as_json=as_json)


@archive.command()
@click.argument("files", nargs=-1, required=True, type=_PATH, metavar="FILE…")
def check(files: tuple[Path, ...]) -> None:
    """Read archives to their last byte; a damaged one ends it with exit code 4.

    \b
        neardup-stream archive check october.nda
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    from neardup_daemon.inspect.archive_facts import check_archive  # noqa: PLC0415 - the kernel is not for --help

    for file in files:
        click.echo(check_archive(file))


@archive.command()
@with_settings()
@with_json
@click.argument("page", metavar="PAGE")
@click.argument("files", nargs=-1, required=True, type=_PATH, metavar="FILE…")
def query(settings: Settings, page: str, files: tuple[Path, ...], *, as_json: bool) -> None:
    """Show which frozen pages a page matches, or what archives hold under an id.

    PAGE is - for a page as JSON on standard input, which is compared with the frozen ones, or the id of a
    frozen page, its URL if it came without one, of which only the entry is shown; 'explain' compares two
    pages. Readable on a terminal, one line of JSON otherwise.

    \b
        head -1 crawl.jsonl | neardup-stream archive query - october.nda september.nda
        neardup-stream archive query https://example.com/news october.nda
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    if not any(_is(Path.exists, file) for file in files) and _is(Path.is_file, Path(page)):
        raise click.UsageError(f"give the page first, then the archives: archive query PAGE {page}")
    from neardup_daemon.inspect.archive_asking import query_archives, readable  # noqa: PLC0415 - the same

    print_answer(query_archives(page, files, settings), readable, as_json=as_json)


@archive.command()
@with_settings()
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@click.argument("file", type=_PATH, metavar="FILE")
def forget(settings: Settings, ids: tuple[str, ...], file: Path) -> int:
    """Forget pages of an archive, so that they match nothing from then on.

    ID is the id of a page, or its URL if it came without one: pages with ids of their own are not found by
    their URLs. FILE, the archive, comes after all IDs. The pages are noted beside the archive; daemons that
    use it look every archive.reload_seconds. An ID that the archive does not have is printed, and the exit
    code is 2, once the others are forgotten.

        neardup-stream archive forget https://example.com/withdrawn october.nda
    """
    files = (each for each in ids if _is(Path.is_file, Path(each)))
    if not _is(Path.exists, file) and (misplaced := next(files, None)) is not None:
        raise click.UsageError(f"give the archive after the pages: archive forget ID… {misplaced}")
    from neardup_daemon.failpoints import failing_steps  # noqa: PLC0415 - the same
    from neardup_daemon.repair.archive_forgetting import forget_in_archive  # noqa: PLC0415 - the kernel is not for --help

    forgotten = forget_in_archive(ids, file, failing_steps(settings.failpoints.points()))
    click.echo(f"{forgotten.new_count:,} forgotten, {forgotten.known_count:,} were before")
    for name in forgotten.unknown:
        click.echo(f"{PROGRAM}: {printable(str(file))} has no page {printable(name)!r}", err=True)
    return USAGE if forgotten.unknown else OK


@archive.command()
@with_settings()
@click.argument("file", type=_PATH, metavar="FILE")
@click.option(
    "--output",
    "-o",
    required=True,
    type=_PATH,
    metavar="NAME.nda",
    help="The archive to write; with --force the same file.",
)
@click.option("--force", is_flag=True, help="Replace a file of that name; its readers keep the old one.")
def rewrite(settings: Settings, file: Path, output: Path, *, force: bool) -> None:
    """Write an archive again, without the bytes of the pages that are forgotten.

    \b
        neardup-stream archive rewrite october.nda -o october-2.nda
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    from neardup_daemon.failpoints import failing_steps  # noqa: PLC0415 - the same
    from neardup_daemon.repair.archive_forgetting import rewrite_without  # noqa: PLC0415 - the kernel is not for --help

    check_outputs(settings_files(settings), [str(output)])
    steps = failing_steps(settings.failpoints.points())
    removed = rewrite_without(file, output, replaces=force, on_step=steps)
    click.echo(f"{printable(str(output))}: without {counted(removed, 'page')}")


def _is(looks: Callable[[Path], bool], word: Path) -> bool:
    """Return what is seen of a word of the command line as a path; an id can be too long for one."""
    try:
        return looks(word)
    except (OSError, ValueError):
        return False
