"""Look up the two pages that `explain` compares: given, stored or frozen."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from stat import S_ISCHR, S_ISFIFO, S_ISREG

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from neardup_daemon.inspect.frozen_lookup import find_frozen
from neardup_daemon.inspect.page_lookup import STDIN, AskedPage, NotStored, find_stored, read_given
from neardup_daemon.settings.settings import Settings
from neardup_stream.errors import ConfigError
from neardup_stream.pipeline.archive_lookup import OpenArchive
from neardup_stream.pipeline.asked_keys import FoundRows, keys_in_common
from neardup_stream.pipeline.freezing import keyed_record
from neardup_stream.pipeline.indexed import scope_hash
from neardup_stream.pipeline.stores import PageStores

__all__ = ["common_keys", "find_anywhere", "frozen_pages", "given_pages", "in_one_scope"]


def given_pages(names: Sequence[str], settings: Settings) -> Mapping[str, AskedPage]:
    """Read those of the pages that are files, or standard input.

    Raises:
        ConfigError: one is no page, or both are standard input.
    """
    if list(names).count(STDIN) > 1:
        raise ConfigError("both pages are '-': only one of them can come from standard input")
    given = [name for name in dict.fromkeys(names) if name == STDIN or _is_file(name)]  # a pipe is read once
    return {name: read_given(name, settings) for name in given}


def frozen_pages(names: Sequence[str], archives: Sequence[OpenArchive]) -> Mapping[str, AskedPage]:
    """Find those of the pages that are no files and that an archive has.

    Raises:
        ConfigError: a name is empty, or not UTF-8.
        CorruptData: an archive is damaged.
    """
    named = [name for name in names if name != STDIN and not _is_file(name)]
    return {name: page for name in named if (page := find_frozen(name, archives)) is not None}


async def find_anywhere(name: str, stores: PageStores, archives: Sequence[OpenArchive]) -> AskedPage:
    """Find a page that is no file in the index, or else in archives.

    Raises:
        ConfigError: neither has it.
        StoreUnavailable: the store is unavailable.
        CorruptData: an archive is damaged.
    """
    try:
        return await find_stored(name, stores)
    except NotStored:
        if (frozen := find_frozen(name, archives)) is not None:
            return frozen
    places = ["is no file", "is not stored in the index"]
    if archives:
        places.append(f"is not in {' or '.join(archive.name for archive in archives)}")
    raise ConfigError(
        f"{name!r} {', '.join(places[:-1])} and {places[-1]}; name a page by its URL, or by its id if it"
        " has one of its own, or give it as JSON in a file or on standard input (-)"
    )


def in_one_scope(page: AskedPage, other: AskedPage) -> AskedPage:
    """Return a frozen page with the scope of the other one where the hash in the archive is of that."""
    if page.frozen is None or other.frozen is not None or page.frozen.scope != scope_hash(other.record.scope):
        return page
    return page._replace(record=replace(page.record, scope=other.record.scope))


def common_keys(first: AskedPage, second: AskedPage) -> tuple[str, ...] | UnsetType:
    """Return by which keys its archive finds a frozen page for the other one.

    Absent where neither page is frozen, or both are: an archive keeps no keys by which a page could ask.

    Raises:
        CorruptData: the archive is damaged.
    """
    for page, other in ((first, second), (second, first)):
        keyed = keyed_record(*other.asking)
        if page.frozen is not None and other.frozen is None and keyed is not None:
            archive, row = page.frozen.archive, page.frozen.row
            (found,) = keys_in_common([FoundRows(keyed, [row])], archive.index, archive.reference)
            return found.get(row, ())
    return UNSET


def _is_file(name: str) -> bool:
    """Return whether a page can be read there: a file, a pipe or a character device, such as /dev/stdin.

    It is False also for an id that no file could have as its name.
    """
    try:
        mode = Path(name).stat().st_mode
    except OSError:
        return False
    return S_ISREG(mode) or S_ISFIFO(mode) or S_ISCHR(mode)
