"""Look up pages of archives by id or URL."""

from collections.abc import Sequence

import numpy as np

from neardup_daemon.inspect.page_lookup import AskedPage, FrozenOrigin, named_ids
from neardup_stream.archive.frozen import FrozenSketch
from neardup_stream.archive.log_blocks import LoggedPage
from neardup_stream.hashing.handles import KEY_BYTES, handle_of
from neardup_stream.page import PageId
from neardup_stream.pipeline.archive_lookup import OpenArchive
from neardup_stream.stores.page_record import PageRecord

__all__ = ["find_frozen"]

_MS = 1000
_NOWHERE = ("", 0, 0)


def find_frozen(name: str, archives: Sequence[OpenArchive]) -> AskedPage | None:
    """Return a page of the first archive that has it, by its id or URL; None where none has it.

    Raises:
        ConfigError: it is empty, or not UTF-8.
        CorruptData: an archive is damaged.
    """
    page_ids = named_ids(name)
    for archive in archives:
        rows = archive.index.log.find(page_ids)
        row = next((rows[page_id] for page_id in page_ids if page_id in rows), None)
        if row is not None:
            return _asked(archive, row)
    return None


def _asked(archive: OpenArchive, row: int) -> AskedPage:
    logged = archive.index.log.page(row)
    (sketch,) = archive.index.sketches(np.array([row]))
    record = _record(logged, sketch, is_gone=bool(archive.gone[row]))
    handle = handle_of(PageId(logged.id), bytes(KEY_BYTES))
    return AskedPage(handle, record, None, frozen=FrozenOrigin(archive, row, logged.fetched_ms, sketch.scope))


def _record(logged: LoggedPage, sketch: FrozenSketch, *, is_gone: bool) -> PageRecord:
    """Return the page record of a page when it was frozen, without its bands: an archive keeps none."""
    is_compared = sketch.text_fingerprint != 0
    return PageRecord(
        url=logged.url,
        fingerprint=sketch.fingerprint,
        text_fingerprint=sketch.text_fingerprint,
        version=1,
        made_by=_NOWHERE,
        seen_seconds=logged.fetched_ms // _MS,
        sketch=sketch.sketch if is_compared else b"",
        shingle_count=sketch.shingle_count,
        whole=sketch.whole,
        whole_count=sketch.whole_count,
        other_id="" if logged.id == logged.url else logged.id,
        scope=f"#{sketch.scope:016x}" if sketch.scope else "",
        state="gone" if is_gone else "live" if is_compared else "short",
    )
