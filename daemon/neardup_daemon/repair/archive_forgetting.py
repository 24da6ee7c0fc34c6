"""Forgets pages of archives, and writes archives without them: for `archive forget` and `archive rewrite`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from neardup_daemon.inspect.page_lookup import named_ids
from neardup_stream.archive.gone import ReplacedMeanwhile, read_gone, write_gone
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.rewriting import rewrite_archive
from neardup_stream.archive.steps import OnStep, no_step
from neardup_stream.archive.writing import ArchiveWriter

__all__ = ["Forgotten", "forget_in_archive", "rewrite_without"]

_MOST_REPLACEMENTS: Final = 3
"""While pages are forgotten; the archive that is there then is read again."""


class Forgotten(NamedTuple):
    """The result of a forget.

    Attributes:
        new_count: pages that were not forgotten before.
        known_count: pages that were.
        unknown: names of which the archive has no page.
    """

    new_count: int
    known_count: int
    unknown: list[str]


def forget_in_archive(names: Sequence[str], path: Path, on_step: OnStep = no_step) -> Forgotten:
    """Note pages of an archive as forgotten; readers see it as soon as they look again.

    Args:
        names: ids, or URLs in any spelling for pages without ids of their own.
        path: of the archive.
        on_step: called before each step of writing.

    Raises:
        ConfigError: there is no such archive, we may not write beside it, a name is no id, or the archive is
            replaced again and again.
        CorruptData: the archive or its forgets are damaged.
        StreamUnavailable: the disk is full or failed.
    """
    replacement_count = 0
    while True:
        try:
            return _forget(names, path, on_step)
        except ReplacedMeanwhile:
            replacement_count += 1
            if replacement_count > _MOST_REPLACEMENTS:
                raise


def _forget(names: Sequence[str], path: Path, on_step: OnStep) -> Forgotten:
    index = LoggedArchive(path)
    spelled = {name: named_ids(name) for name in names}
    rows = index.log.find([page_id for page_ids in spelled.values() for page_id in page_ids])
    found = {
        name: next((rows[each] for each in page_ids if each in rows), None)
        for name, page_ids in spelled.items()
    }
    wanted = {row for row in found.values() if row is not None}
    new_count = write_gone(path, index.header, wanted, on_step)
    unknown = [name for name, row in found.items() if row is None]
    return Forgotten(new_count, len(wanted) - new_count, unknown)


def rewrite_without(path: Path, output: Path, *, replaces: bool, on_step: OnStep = no_step) -> int:
    """Write an archive without what is forgotten of it; return how many pages that is.

    Raises:
        ConfigError: there is no such archive, or the name of the new one is taken, or has forgets of others.
        CorruptData: the archive or its forgets are damaged.
        StreamUnavailable: the disk is full or failed.
    """
    index = LoggedArchive(path)
    gone = read_gone(path, index.header)
    rows_id = index.header.rows_id
    with ArchiveWriter(output, replaces=replaces, rewritten_from=rows_id, on_step=on_step) as writer:
        rewrite_archive(index, gone, writer, writer.directory)
    return int(gone.sum())
