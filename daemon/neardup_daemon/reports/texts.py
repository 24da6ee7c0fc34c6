"""Reads the texts of a few records again, for the examples of a report."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from neardup_daemon.preparing import text_preparation
from neardup_daemon.settings.settings import Settings
from neardup_stream.cut_short import check_cut
from neardup_stream.errors import CorruptData
from neardup_stream.message import Position, Record
from neardup_stream.pipeline.arrival import Arrival
from neardup_stream.streams.files.inputs import is_pipe
from neardup_stream.streams.files.source import read_again

__all__ = ["read_texts"]


def read_texts(
    paths: Sequence[str], positions: AbstractSet[Position], settings: Settings
) -> dict[Position, str]:
    """Return the texts of the pages at these positions of files, by position.

    Pipes cannot be read again. As in the run, a process with the limits of one page prepares the pages, and
    a page that it refuses has no text here. `check_cut` is called for each block and each page. Cost: the
    files are read again as far as the last position.

    Args:
        paths: files of the run.
        positions: of records whose texts are wanted.
        settings: of the run.
    """
    records = _records([path for path in paths if not is_pipe(path)], positions, settings)
    if not records:
        return {}
    texts: dict[Position, str] = {}
    with text_preparation(settings) as preparation:
        for record in records:
            check_cut()  # each may take as long as a page may
            for item in preparation.prepare([record]).items:
                if isinstance(item, Arrival) and item.kept is not None:
                    texts[item.record.position] = item.kept.text.decode("utf-8", "replace")
    return texts


def _records(paths: Sequence[str], positions: AbstractSet[Position], settings: Settings) -> list[Record]:
    found: list[Record] = []
    if not positions:
        return found
    try:
        for block in read_again(paths, settings.limits.max_page_bytes):
            check_cut()
            found += [record for record in block if record.position in positions]
            if len(found) == len(positions):
                break
    except CorruptData:  # the run has reported it
        return found
    return found
