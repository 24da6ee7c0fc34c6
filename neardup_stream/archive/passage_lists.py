"""Write selective fingerprints of an archive's pages: which pages have a hash, in sorted blocks of 4 KiB.

Hashes on more pages than a limit are stored separately with their counts: they identify no page, and
would take most of the time of a query.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.kernels import load_passage_kernel
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.spills import PARTITIONS, PartitionedRows, SpilledColumn, Spilling
from neardup_stream.archive.units import PAGE_BYTES
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.bits.packed import bits_for, pack

__all__ = [
    "COMMON_PAGES",
    "PASSAGES",
    "BlocksWriter",
    "ListGeometry",
    "PassagesWriter",
    "stored_keys",
]

PASSAGES: Final = "passages"
"""The part's name."""

COMMON_PAGES: Final = 1000
"""A hash on more pages is common, if nothing else is asked for."""

_HASH_BITS: Final = 28
_PAGE_BITS: Final = 20
"""With more pages a hash gets a bit more for each doubling, so that chance hits stay as many."""

_PAIR: Final = np.dtype([("hash", "<u8"), ("page", "<u4")])
_NARROW_BITS: Final = 32


class ListGeometry(NamedTuple):
    """How wide everything is; it follows from what an archive says of itself.

    Attributes:
        hash_bits: leading bits of a hash that are kept.
        page_bits: of a row.
        low_bits: of a hash, kept beside the row; the position of the entry gives the other bits.
    """

    hash_bits: int
    page_bits: int
    low_bits: int

    @classmethod
    def of(cls, page_count: int, entry_count: int) -> "ListGeometry":
        """Return the widths for so many pages and entries, entries of common hashes included."""
        page_bits = bits_for(max(page_count, 1) - 1)
        hash_bits = min(_HASH_BITS + max(0, page_bits - _PAGE_BITS), 63 - page_bits)
        low_bits = max(0, hash_bits - (max(entry_count, 1) - 1).bit_length())
        return cls(hash_bits, page_bits, low_bits)

    @property
    def first_bytes(self) -> int:
        """Of a hash in `passages.firsts`."""
        return 4 if self.hash_bits <= _NARROW_BITS else 8


class BlocksWriter(Spilling):
    """Packs sorted entries into blocks, and writes `passages.blocks` and `.firsts`; a context manager.

    Args:
        directory: for temporary files.
        geometry: of the entries.
    """

    def __init__(self, directory: Path, geometry: ListGeometry) -> None:
        self._geometry = geometry
        self._blocks, self._firsts = SpilledColumn(directory), SpilledColumn(directory)
        super().__init__((self._blocks, self._firsts))
        self._rest = np.empty(0, np.uint64)

    def add(self, keys: NDArray[np.uint64], *, is_last: bool = False) -> None:
        """Append entries, `hash << page_bits | page`, ascending; the last ones say so."""
        kernel, geometry = load_passage_kernel(), self._geometry
        keys = np.concatenate([self._rest, keys])
        item_bits = geometry.low_bits + geometry.page_bits
        room = 2 + keys.size * 64 // (32 * kernel.BLOCK_WORDS) if item_bits else 2
        start = 0
        while True:
            blocks = np.zeros((room, kernel.BLOCK_WORDS), np.uint64)
            firsts = np.empty(room, np.uint64)
            taken, count = kernel.pack_blocks(
                keys[start:], geometry.page_bits, geometry.low_bits, is_last, blocks, firsts
            )
            self._blocks.write(blocks[:count].tobytes())
            self._firsts.write(firsts[:count].astype(f"<u{geometry.first_bytes}").tobytes())
            start += taken
            if count < room:
                break
        self._rest = keys[start:]

    def write(self, writer: ArchiveWriter) -> None:
        """Write the sections.

        Raises:
            StreamUnavailable: the disk is full or failed.
        """
        width = 8 * self._geometry.first_bytes
        count = 8 * self._firsts.size_bytes // width
        writer.add("passages.blocks", self._blocks.chunks(), count, 8 * PAGE_BYTES)
        writer.add("passages.firsts", self._firsts.chunks(), count, width)


class PassagesWriter(Spilling):
    """Collects selective fingerprints, and writes the sections `passages.*`; see `PartWriter`.

    Args:
        directory: for temporary files.
        memory_bytes: what entries in memory may take.
        recipe: how hashes are made, for the facts.
        common_pages: a hash on more pages is set apart.
    """

    name = PASSAGES

    def __init__(
        self,
        directory: Path,
        memory_bytes: int,
        recipe: Mapping[str, int],
        common_pages: int = COMMON_PAGES,
    ) -> None:
        self._directory = directory
        self._recipe = recipe
        self._common_pages = common_pages
        self._entries = PartitionedRows(_PAIR, directory, memory_bytes)
        self._tokens = SpilledColumn(directory)
        super().__init__((self._entries, self._tokens))
        self._most_tokens = self._unindexed_count = 0

    def add(self, pages: Sequence[FrozenPage], first_row: int) -> None:
        """See `PartWriter`."""
        counts = np.array([len(page.passages) // 8 for page in pages])
        entries = np.empty(int(counts.sum()), _PAIR)
        entries["hash"] = np.frombuffer(b"".join(page.passages for page in pages), "<u8")
        entries["page"] = np.repeat(np.arange(first_row, first_row + len(pages), dtype=np.uint32), counts)
        self._entries.add(entries)
        tokens = np.array([page.token_count for page in pages], "<u8")
        self._tokens.write(tokens.tobytes())
        self._most_tokens = max(self._most_tokens, int(tokens.max(initial=0)))
        self._unindexed_count += int(np.count_nonzero(counts == 0))

    def facts(self) -> Mapping[str, Any]:
        """Return the recipe, and what is needed to read the lists."""
        return {
            **self._recipe,
            "common": self._common_pages,
            "entries": self._entries.count,
            "unindexed": self._unindexed_count,
        }

    def write(self, writer: ArchiveWriter, page_count: int) -> None:
        """See `PartWriter`."""
        geometry = ListGeometry.of(page_count, self._entries.count)
        common: list[NDArray[np.uint64]] = []
        with BlocksWriter(self._directory, geometry) as blocks:
            for keys in self._partitions(geometry):
                hashes, starts, counts = np.unique(
                    keys >> np.uint64(geometry.page_bits), return_index=True, return_counts=True
                )
                many = counts > self._common_pages
                common.append(np.stack([hashes[many], counts[many].astype(np.uint64)], axis=1))
                is_kept = np.ones(keys.size, np.bool_)
                for start, count in zip(starts[many].tolist(), counts[many].tolist(), strict=True):
                    is_kept[start : start + count] = False
                blocks.add(keys[is_kept])
            blocks.add(np.empty(0, np.uint64), is_last=True)
            blocks.write(writer)
        pairs = np.concatenate(common)
        writer.add("passages.common", [pairs.astype("<u8").tobytes()], pairs.shape[0], 128)
        width = bits_for(self._most_tokens)
        tokens = (pack(np.frombuffer(chunk, "<u8"), width) for chunk in self._tokens.chunks(64))
        writer.add("passages.tokens", tokens, page_count, width)

    def _partitions(self, geometry: ListGeometry) -> Iterator[NDArray[np.uint64]]:
        """Yield all entries as keys, ascending, each once."""
        drop = np.uint64(64 - geometry.hash_bits)
        for number in range(PARTITIONS):
            entries = self._entries.partition(number)
            keys = (entries["hash"] >> drop) << np.uint64(geometry.page_bits) | entries["page"]
            yield np.unique(keys)


def stored_keys(archive: LoggedArchive, geometry: ListGeometry) -> Iterator[NDArray[np.uint64]]:
    """Yield all entries of an archive in their order, a block at a time.

    Args:
        archive: whose lists were opened, which holds the sizes of their sections.
        geometry: of its entries.

    Raises:
        CorruptData: the archive is damaged.
    """
    kernel, file = load_passage_kernel(), archive.file
    blocks, firsts = file.require("passages.blocks"), file.require("passages.firsts")
    first_hashes = file.section(firsts.name).view(f"<u{geometry.first_bytes}").astype(np.uint64)
    keys = np.empty(64 * kernel.BLOCK_WORDS, np.uint64)
    page_mask = np.uint64((1 << geometry.page_bits) - 1)
    end = np.uint64(1 << geometry.hash_bits + geometry.page_bits)
    former = np.empty(0, np.uint64)  # the last key of the block before
    for number, first in enumerate(first_hashes):
        start = number * PAGE_BYTES
        file.bytes_of(blocks, start, start + PAGE_BYTES)
        begin = (blocks.offset + start) // 8
        count = kernel.unpack_block(file.words, begin, first, geometry.page_bits, geometry.low_bits, keys)
        if count < 0:
            file.require_sound((blocks.offset + start) // PAGE_BYTES)
        ascending = np.concatenate([former, keys[:count]])
        is_sound = (
            np.all(ascending[1:] > ascending[:-1])
            and np.all(keys[:count] < end)
            and np.all(keys[:count] & page_mask < archive.header.page_count)
        )
        if not is_sound:
            file.require_sound((blocks.offset + start) // PAGE_BYTES)
        former = ascending[-1:]
        yield keys[:count].copy()
