"""Look up the pages that an operator asks about: stored ones by id or URL, others given as JSON."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from stat import S_ISDIR
from typing import NamedTuple

from neardup_daemon.preparing import build_preparation, build_viewer, sketch_config
from neardup_daemon.settings.settings import Settings
from neardup_stream.archive.texts import TEXTS
from neardup_stream.errors import BadPage, ConfigError, StoreUnavailable
from neardup_stream.frames.table import FrameTable
from neardup_stream.hashing.handles import KEY_BYTES, handle_of
from neardup_stream.message import Headers, Partition, Position, Record, Skipped
from neardup_stream.meters import NoMeters
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.archive_lookup import AskingPage, OpenArchive
from neardup_stream.pipeline.arrival import Arrival
from neardup_stream.pipeline.batch_views import Viewed
from neardup_stream.pipeline.first_record import arrival_record
from neardup_stream.pipeline.frames import site_hash
from neardup_stream.pipeline.kept_text import NOTHING_KEPT, PREFIXES
from neardup_stream.pipeline.page_places import find_places
from neardup_stream.pipeline.preparation import Prepares, ReadsLandmarks
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.stores.frame_store import FrameStore
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.streams.files.inputs import STDIN
from neardup_stream.wire.pages import forget_ids

__all__ = [
    "STDIN",
    "AskedPage",
    "FrozenOrigin",
    "NotStored",
    "find_stored",
    "given_record",
    "named_ids",
    "place_given",
    "prepared_page",
    "read_given",
    "reporting_no_file",
]

_FILE_BEGINNINGS = ("./", "../", "/", "~")
_FILE_ENDINGS = (".gz", ".htm", ".html", ".json", ".jsonl", ".parquet", ".txt", ".warc", ".wet", ".zst")

_NOWHERE = Position(Partition("given", 0), 0)


class NotStored(ConfigError):  # noqa: N818 - a statement about the index
    """No page is stored under a name."""


class FrozenOrigin(NamedTuple):
    """Where a frozen page is.

    Attributes:
        archive: that has it.
        row: of the page there.
        fetched_ms: when it was fetched, epoch milliseconds.
        scope: hash of its scope; an archive keeps no more.
    """

    archive: OpenArchive
    row: int
    fetched_ms: int
    scope: int


class AskedPage(NamedTuple):
    """A page that is asked about.

    Attributes:
        handle: where its record is, or would be.
        record: of the page as it is asked about.
        stored: of the page as it is stored; None for a page that is not.
        text: visible text; None for a stored page, of which no text is kept.
        arrival: a given page as the daemon would register it; None for a stored one.
        frozen: where a page of an archive is; None for others.
    """

    handle: Handle
    record: PageRecord
    stored: PageRecord | None
    text: str | None = None
    arrival: Arrival | None = None
    frozen: FrozenOrigin | None = None

    @property
    def asking(self) -> AskingPage:
        """The page as archives are asked about it; a stored one without its words, which are not kept."""
        if self.arrival is None:
            return AskingPage(self.record)
        kept = self.arrival.kept or NOTHING_KEPT
        return AskingPage(self.record, self.arrival.whole_bands, kept.prefixes)


def named_ids(name: str) -> tuple[PageId, ...]:
    """Return the ids that an argument may mean, likeliest first, as for a forget.

    Raises:
        ConfigError: it is empty, or not UTF-8.
    """
    try:
        return forget_ids(os.fsencode(name))
    except BadPage as error:
        raise ConfigError(f"{name!r} is no page id: {error.detail}") from error


async def find_stored(name: str, stores: PageStores, otherwise: str = "can be given as JSON") -> AskedPage:
    """Find a page by its id, or by any spelling of its URL if it has no id of its own.

    Args:
        name: id or URL.
        stores: that are searched.
        otherwise: what the error advises for a page that is not stored.

    Raises:
        ConfigError: it can be no name of a page.
        NotStored: no such page is stored.
        StoreUnavailable: the store is unavailable.
    """
    page_ids = named_ids(name)
    places = await find_places(page_ids, stores.records, stores.handle_key)
    for page_id in page_ids:
        handle, _, record = places[page_id]
        if record is not None:
            return AskedPage(handle, record, record)
    raise NotStored(
        f"no page {name!r} is stored; a page with an id of its own is found by that, and one that is not"
        f" stored {otherwise}"
    )


@contextmanager
def reporting_no_file(*names: str) -> Iterator[None]:
    """Say of an error of the block which of the names are directories, or look like paths of files.

    Raises:
        ConfigError: the index was not found, or not the page, and a name looks like the path of a file.
        StoreUnavailable: the store is unavailable, and a name looks like the path of a file.
    """
    try:
        yield
    except (ConfigError, StoreUnavailable) as error:
        said = ", ".join(filter(None, map(_file_said, names)))
        if not said:
            raise
        message = f"{said}; as the id of a page: {error}"
        if isinstance(error, StoreUnavailable):
            raise StoreUnavailable(message, error.reason) from error
        raise ConfigError(message) from error


def _file_said(name: str) -> str:
    """Return what to say of a name that looks like the path of a file; nothing of others.

    >>> _file_said("https://example.com/a.html")
    ''
    >>> _file_said("pages/no-such.html")
    "there is no file 'pages/no-such.html'"
    >>> _file_said("..")
    "'..' is a directory"
    """
    if "://" in name:
        return ""
    try:
        is_directory = S_ISDIR(Path(name).stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return f"there is no file {name!r}" if _is_like_a_path(name) else ""
    except OSError:
        return ""
    if is_directory:
        return f"{name!r} is a directory"
    return f"the file {name!r} is not read: give its page to - instead" if _is_like_a_path(name) else ""


def _is_like_a_path(name: str) -> bool:
    return name.startswith(_FILE_BEGINNINGS) or name.lower().endswith(_FILE_ENDINGS)


def read_given(source: str, settings: Settings) -> AskedPage:
    """Read one page from a JSON file or standard input (`-`); nothing stored is looked at.

    Raises:
        ConfigError: it cannot be read, or is no page.
    """
    name = "standard input" if source == STDIN else source
    record = given_record(_read(source, settings.limits.max_page_bytes))
    try:
        page = prepared_page(record, build_preparation(settings, NoMeters(), frozenset({PREFIXES, TEXTS})))
    except BadPage as error:
        raise ConfigError(f"{name} is not one page as JSON: {error}") from error
    if isinstance(page, Skipped):
        raise ConfigError(f"{name} holds a page that is skipped: {page.reason}")
    assert page.arrival is not None  # noqa: S101 - a given page has one
    return page._replace(text=(page.arrival.kept or NOTHING_KEPT).decoded)


def given_record(value: bytes, headers: Headers = ()) -> Record:
    """Return the record of a page that is no record of any input."""
    return Record(position=_NOWHERE, key=None, value=value, headers=headers)


def prepared_page(record: Record, preparation: Prepares) -> AskedPage | Skipped:
    """Return a given page as the daemon would read it, without its text; nothing stored is looked at.

    Raises:
        BadPage: it can never be a page.
    """
    prepared = preparation.prepare([record])
    for rejected in prepared.rejected:
        raise rejected.error
    for skipped in prepared.skipped:
        return Skipped(skipped.reason)
    (arrival,) = prepared.arrivals
    return AskedPage(
        handle=handle_of(arrival.page.id, bytes(KEY_BYTES)),
        record=arrival_record(arrival),
        stored=None,
        arrival=arrival,
    )


async def place_given(
    page: AskedPage,
    settings: Settings,
    stores: PageStores,
    frames: FrameStore,
    landmarks: ReadsLandmarks | None = None,
    in_thread: Callable[[Callable[[], Viewed]], Awaitable[Viewed]] = asyncio.to_thread,
) -> AskedPage:
    """Return a given page with what is stored under its id, and without the frame that is stored of its site.

    Args:
        page: as it was given.
        settings: those of the index.
        stores: of the index.
        frames: of the index.
        landmarks: reads the page's markup once more; None reads it in this process.
        in_thread: runs the reading, which may take `limits.page_seconds`.

    Raises:
        StoreUnavailable: the store is unavailable.
        CorruptData: the stored frame is not ours.
    """
    places = await find_places([page.record.id], stores.records, stores.handle_key)
    place = places[page.record.id]
    placed = page._replace(handle=place.handle, stored=place.record)
    if page.arrival is None or not page.arrival.site or sketch_config(settings) is None:
        return placed
    site = page.arrival.site
    (packed,) = await frames.fetch([site_hash(site, stores.handle_key)])
    tables = {site: FrameTable.unpack(packed)}
    viewer = build_viewer(settings, landmarks or build_preparation(settings, NoMeters()))
    viewed = await in_thread(partial(viewer.view, [page.arrival], 1, tables))
    (arrival,) = viewed.arrivals
    return placed._replace(record=arrival_record(arrival), arrival=arrival)


def _read(source: str, max_page_bytes: int) -> bytes:
    """Read at most one byte more than a page may have, which is enough to refuse it."""
    if source == STDIN:
        return sys.stdin.buffer.read(max_page_bytes + 1)
    try:
        with Path(source).open("rb") as file:
            return file.read(max_page_bytes + 1)
    except OSError as error:
        raise ConfigError(f"cannot read {source}: {error.strerror}") from error
