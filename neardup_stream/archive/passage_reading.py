"""Look up which pages of an archive have a hash of a selective fingerprint."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.kernels import load_passage_kernel
from neardup_stream.archive.layout import Section
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.passage_lists import PASSAGES, ListGeometry
from neardup_stream.archive.units import PAGE_BYTES
from neardup_stream.bits.packed import MAX_PACKED_BITS, unpack
from neardup_stream.errors import CorruptData

__all__ = ["PassageFacts", "PassageLists", "SharedHashes"]


class PassageFacts(msgspec.Struct, frozen=True):
    """What `facts` says of the part.

    Attributes:
        shingle_tokens: tokens to a shingle.
        shingles: wanted of each page.
        common: a hash on more pages was set apart.
        entries: pairs of a hash and a page when it was frozen.
        unindexed: pages with fewer tokens than a shingle has.
    """

    shingle_tokens: int
    shingles: int
    common: int
    entries: int
    unindexed: int


class SharedHashes(NamedTuple):
    """Which pages have which of the hashes asked for.

    Attributes:
        queries: int64, which hash; one entry for each hash and page, ascending.
        rows: int64, the pages; ascending for each hash.
        page_counts: int64, one entry a hash: how many pages have it, those that are not listed too. Forgotten
            ones count only where they are part of a number that was stored when the archive was frozen.
        is_common: bool, one entry a hash: whether its pages are not listed because they are too many.
    """

    queries: NDArray[np.int64]
    rows: NDArray[np.int64]
    page_counts: NDArray[np.int64]
    is_common: NDArray[np.bool_]


class _Entries(NamedTuple):
    """Pages of lists: int64, the number of the list and the row, in the order of lists and rows."""

    lists: NDArray[np.int64]
    rows: NDArray[np.int64]


class PassageLists:
    """Finds pages by hashes of their selective fingerprints.

    Several threads may ask at once.

    Args:
        archive: opened.

    Attributes:
        facts: how the lists were made.
        geometry: how wide their entries are.

    Raises:
        ConfigError: it was frozen without passages.
        CorruptData: it is damaged.
    """

    def __init__(self, archive: LoggedArchive) -> None:
        self._file = archive.file
        self._blocks, self._firsts, common, self._tokens = (
            archive.require_part(PASSAGES, f"passages.{name}")
            for name in ("blocks", "firsts", "common", "tokens")
        )
        self.facts = _facts_of(archive)
        self._page_count = archive.header.page_count
        self.geometry = ListGeometry.of(self._page_count, self.facts.entries)
        self._require_geometry(common)
        pairs = self._file.section(common.name).view("<u8").reshape(-1, 2)
        self._common, self._common_counts = pairs[:, 0], pairs[:, 1].astype(np.int64)

    def find(
        self, hashes: NDArray[np.uint64], common_pages: int, gone: NDArray[np.bool_] | None = None
    ) -> SharedHashes:
        """Return the pages that have these hashes.

        Args:
            hashes: whole ones, of which the leading bits are looked for.
            common_pages: pages of a hash that more of them have are not listed.
            gone: for each page whether it is forgotten; none is by default.

        Raises:
            CorruptData: a page of the file that was needed is damaged.

        Cost: 0.6 µs a hash once the file is in memory; lists of common ones count if pages are forgotten.
        """
        kernel, file, geometry = load_passage_kernel(), self._file, self.geometry
        wanted = np.ascontiguousarray(hashes >> np.uint64(64 - geometry.hash_bits))
        starts, counts = np.empty(wanted.size, np.int64), np.empty(wanted.size, np.int64)
        mapped = (file.words, file.checks, file.seen)
        widths = (geometry.page_bits, geometry.low_bits)
        is_wide = self._firsts.item_bits == 64
        lists = (self._firsts.offset, is_wide, self._blocks.offset, self._blocks.item_count)
        file.require_sound(kernel.find_entries(*mapped, *lists, *widths, wanted, starts, counts))
        places = np.searchsorted(self._common, wanted)
        is_set_apart = places < self._common.size
        is_set_apart[is_set_apart] = self._common[places[is_set_apart]] == wanted[is_set_apart]
        page_counts = counts.copy()
        page_counts[is_set_apart] = self._common_counts[places[is_set_apart]]
        if gone is not None and gone.any():
            for number in np.flatnonzero(counts > common_pages):  # one by one, in the memory of one list
                one = slice(number, number + 1)
                page_counts[number] = self._entries(starts[one], counts[one], gone).rows.size
        is_common = page_counts > common_pages
        counts[is_common] = 0
        entries = self._entries(starts, counts, gone)
        page_counts[counts > 0] = np.bincount(entries.lists, minlength=counts.size)[counts > 0]
        return SharedHashes(entries.lists, entries.rows, page_counts, is_common)

    def _entries(
        self, starts: NDArray[np.int64], counts: NDArray[np.int64], gone: NDArray[np.bool_] | None
    ) -> _Entries:
        """Read what lists that begin there have of pages that are not forgotten."""
        file, geometry = self._file, self.geometry
        rows = np.empty(int(counts.sum()), np.int64)
        read = load_passage_kernel().read_entries
        mapped, widths = (file.words, file.checks, file.seen), (geometry.page_bits, geometry.low_bits)
        file.require_sound(read(*mapped, self._blocks.offset, *widths, starts, counts, rows))
        is_kept = rows < self._page_count
        if gone is not None:
            is_kept[is_kept] = ~gone[rows[is_kept]]
        return _Entries(np.repeat(np.arange(counts.size), counts)[is_kept], rows[is_kept])

    def token_counts(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many tokens these pages have.

        Raises:
            CorruptData: a page of the file that was needed is damaged.
        """
        self._file.touch(self._tokens, rows)
        packed = self._file.data[self._tokens.offset :]
        return unpack(packed, self._tokens.item_bits, rows).astype(np.int64)

    def _require_geometry(self, common: Section) -> None:
        """Hold what compiled code relies on; only a file that was not written by us fails.

        Raises:
            CorruptData: sections do not fit each other.
        """
        blocks, firsts, tokens = self._blocks, self._firsts, self._tokens
        first_bytes = self.geometry.first_bytes
        is_sound = (
            blocks.size_bytes == blocks.item_count * PAGE_BYTES
            and firsts.item_bits == 8 * first_bytes
            and firsts.size_bytes == blocks.item_count * first_bytes
            and common.size_bytes == 16 * common.item_count
            and tokens.item_count == self._page_count
            and 0 < tokens.item_bits <= MAX_PACKED_BITS
        )
        if not is_sound:
            raise CorruptData(f"{self._file.path}: its sections of passages do not fit each other")


def _facts_of(archive: LoggedArchive) -> PassageFacts:
    said: Mapping[str, Any] = archive.facts.get(PASSAGES, {})
    try:
        return msgspec.convert(said, PassageFacts)
    except msgspec.ValidationError as error:
        raise CorruptData(f"{archive.file.path}: its facts say nothing of its passages: {error}") from error
