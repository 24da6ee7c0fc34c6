"""Build an archive in bounded memory: pages in any order in, one file out."""

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.document_log import LogWriter
from neardup_stream.archive.layout import MAX_PAGES, Header
from neardup_stream.archive.log_blocks import BLOCK_PAGES, log_key
from neardup_stream.archive.pages import FrozenPage, pack_page, unpack_page
from neardup_stream.archive.parts import PartWriter
from neardup_stream.archive.spills import PARTITIONS, PartitionedRows, SortedRow, SortedRows, Spilling
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.chunks import in_chunks
from neardup_stream.errors import ConfigError

__all__ = ["LEAST_MEMORY_BYTES", "ArchiveBuilder", "Built", "sorting_bytes"]

LEAST_MEMORY_BYTES: Final = 1 << 26
"""With less there would be too many runs to merge."""

_PROCESS_BYTES: Final = 556 << 20
"""What the process takes beside what is sorted, with the latest pages of sites, which teach their frames."""

_NAME: Final = np.dtype([("name", "<u8"), ("rest", "<u8")])
_NAMED: Final = np.dtype([*_NAME.descr, ("time", "<i8")])
_ADDED_AT_ONCE: Final = 4096
"""Pages; a multiple of BLOCK_PAGES, so that only the last block is short."""


class Built(NamedTuple):
    """How many pages had each outcome.

    Attributes:
        header: of the file.
        page_count: pages in it.
        repeat_count: pages left out because a later one has their id, or because they were forgotten.
        unindexed_count: pages in the log that are too short to be judged.
    """

    header: Header
    page_count: int
    repeat_count: int
    unindexed_count: int


def sorting_bytes(memory_bytes: int) -> int:
    """Return how much of the memory that the process may take is for sorting; half of that is for the pages.

    Args:
        memory_bytes: what the process may take, from LEAST_MEMORY_BYTES; below some 650 MB it takes more.

    Raises:
        ConfigError: it is too little.
    """
    if memory_bytes < LEAST_MEMORY_BYTES:
        raise ConfigError(f"{memory_bytes} bytes of memory are too few: at least {LEAST_MEMORY_BYTES}")
    return max(LEAST_MEMORY_BYTES, memory_bytes - _PROCESS_BYTES)


class ArchiveBuilder(Spilling):
    """Takes in pages and writes an archive; a context manager.

    Args:
        writer: entered, and without sections.
        directory: for temporary files.
        memory_bytes: what the process may take, see `sorting_bytes`.
        parts: not entered; their sections follow the log in this order.

    Raises:
        ConfigError: there is too little memory.
    """

    def __init__(
        self, writer: ArchiveWriter, directory: Path, memory_bytes: int, parts: Sequence[PartWriter]
    ) -> None:
        sorting = sorting_bytes(memory_bytes)
        self._writer = writer
        self.reach = writer.reach
        self._rows = SortedRows(directory, sorting // 2)
        self._ids = PartitionedRows(_NAMED, directory, sorting // 8)
        self._log = LogWriter(directory)
        self._parts = tuple(parts)
        super().__init__((self._rows, self._ids, self._log, *self._parts))
        self._new_names: list[bytes] = []
        self._new_times: list[int] = []
        self._latest_ms = 0
        self._unindexed_count = 0

    def add(self, page: FrozenPage) -> None:
        """Take in a page; of pages with one id the last one stays.

        Raises:
            StreamUnavailable: the disk is full or failed.

        Cost: 5 µs.
        """
        number = self._rows.count
        if number >= MAX_PAGES:
            raise ConfigError(
                f"an archive holds at most {MAX_PAGES} pages: freeze the others into another one"
            )
        self._keep_id(page.logged.id, 2 * number)
        self._rows.add(log_key(page.logged), pack_page(page))

    def forget(self, page_id: str) -> None:
        """Leave out the page of this id that came before; one that comes later stays. Cost: 1 µs."""
        self._keep_id(page_id, 2 * self._rows.count - 1)

    def finish(self, facts: dict[str, Any], on_pages: Callable[[int], None] = lambda _count: None) -> Built:
        """Write the archive and give it its name.

        Args:
            facts: of the archive; its `schema` decides what may be compared with it. Counts are added.
            on_pages: called with the number of pages written so far.

        Raises:
            StreamUnavailable: the disk is full or failed.
            ConfigError: the name was taken meanwhile.
        """
        page_count = 0
        for rows in in_chunks(self._living(), _ADDED_AT_ONCE):
            self.reach("merge")
            self._add_pages(rows, page_count)
            page_count += len(rows)
            on_pages(page_count)
        repeat_count = self._rows.count - page_count
        counts = {"pages": page_count, "repeats": repeat_count, "unindexed": self._unindexed_count}
        of_parts = {part.name: dict(own) for part in self._parts if (own := part.facts())}
        described = msgspec.json.encode({**facts, **of_parts, "counts": counts}, order="deterministic")
        self._writer.add("facts", [described], 1)
        self._log.write(self._writer)
        for part in self._parts:
            part.write(self._writer, page_count)
        header = self._writer.finish(page_count, self._latest_ms, seed=0, schema=facts["schema"])
        return Built(header, page_count, repeat_count, self._unindexed_count)

    def _add_pages(self, rows: Sequence[SortedRow], first_row: int) -> None:
        pages = [unpack_page(data) for _, _, data in rows]
        keys = [key for key, _, _ in rows]
        for some, block in zip(in_chunks(pages, BLOCK_PAGES), in_chunks(keys, BLOCK_PAGES), strict=True):
            self._log.add([page.logged for page in some], block, block[0])
        for part in self._parts:
            part.add(pages, first_row)
        self._unindexed_count += sum([not page.keys for page in pages])
        self._latest_ms = max([self._latest_ms, *[page.logged.fetched_ms for page in pages]])

    def _living(self) -> Iterator[SortedRow]:
        """Return the pages in the order of their keys, without those of which a later one has the id."""
        repeated = self._repeated().tobytes()
        self.reach("spill")
        return (row for row in self._rows.in_order() if not repeated[row[1]])

    def _repeated(self) -> NDArray[np.bool_]:
        """For each page whether a later one has its id, or it was forgotten later."""
        self._keep_ids()
        repeated = np.zeros(self._rows.count, np.bool_)
        for number in range(PARTITIONS):
            ids = self._ids.partition(number)
            ids = ids[np.lexsort((ids["time"], ids["rest"], ids["name"]))]
            same = (ids["name"][1:] == ids["name"][:-1]) & (ids["rest"][1:] == ids["rest"][:-1])
            earlier = ids["time"][:-1][same]
            repeated[earlier[earlier % 2 == 0] // 2] = True
        return repeated

    def _keep_id(self, page_id: str, time: int) -> None:
        """Note when an id came: even times are pages, odd ones forgets between them."""
        name = blake2b(page_id.encode("utf-8", "surrogatepass"), digest_size=_NAME.itemsize)
        self._new_names.append(name.digest())
        self._new_times.append(time)
        if len(self._new_names) == _ADDED_AT_ONCE:
            self._keep_ids()

    def _keep_ids(self) -> None:
        ids = np.empty(len(self._new_names), _NAMED)
        ids[["name", "rest"]] = np.frombuffer(b"".join(self._new_names), _NAME)
        ids["time"] = self._new_times
        self._ids.add(ids)
        self._new_names.clear()
        self._new_times.clear()
