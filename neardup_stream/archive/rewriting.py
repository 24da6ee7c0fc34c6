"""Write an archive again without the data of forgotten pages.

Rows keep their numbers, so the sections of keys, 16 bits of a hash and the rows of each key, stay unchanged,
also where a forgotten page and a living one have a key in common. A forgotten row is left empty: no URL, no
id, no time, no fingerprint, no sketch, no text, no passage. `whole.sizes` (or `whole.sizes16`) stays: it says
where the sketches of others begin. A row that an earlier rewrite left empty counts as forgotten.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.columns import whole_sizes
from neardup_stream.archive.document_log import LogWriter
from neardup_stream.archive.layout import CHECKS, Header, Section
from neardup_stream.archive.log_blocks import BLOCK_PAGES, LoggedPage, log_key
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.passage_lists import BlocksWriter, stored_keys
from neardup_stream.archive.passage_reading import PassageLists
from neardup_stream.archive.search_tiles import SearchTiles, cleared_bits, cleared_columns
from neardup_stream.archive.texts import TEXTS_FRAMES, TEXTS_STARTS, KeptTexts, TextsWriter
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.bits.packed import pack, unpack
from neardup_stream.errors import CorruptData

__all__ = ["rewrite_archive"]

_LOG: Final = ("log.dict", "log.frames", "log.starts", "log.firsts")
_COLUMNS: Final = ("simhash", "text", "shingles", "sketch", "scope", "whole.count", "passages.tokens")
_PASSAGES: Final = ("passages.blocks", "passages.firsts")
_ROWS_AT_ONCE: Final = 1 << 15
_CHUNK_BYTES: Final = 1 << 20


def rewrite_archive(
    index: LoggedArchive, gone: NDArray[np.bool_], writer: ArchiveWriter, directory: Path
) -> Header:
    """Write what an archive holds, but for some of its pages.

    Args:
        index: of the archive.
        gone: for each page whether it is forgotten.
        writer: entered, and without sections.
        directory: for temporary files.

    Raises:
        CorruptData: the archive is damaged.
        StreamUnavailable: the disk is full or failed.

    Cost: 10 µs a page, 14 if it was rewritten before.
    """
    header = index.header
    facts = dict(index.facts)
    counts: dict[str, Any] = dict(facts.get("counts", {}))
    if counts.get("removed"):
        gone = gone | _empty_rows(index)
    counts["removed"] = int(gone.sum())
    described = msgspec.json.encode({**facts, "counts": counts}, order="deterministic")
    writer.add("facts", [described], 1)
    latest_ms = _write_log(index, gone, writer, directory)
    for section in header.sections:
        if section.name in _COLUMNS:
            writer.add(section.name, _rows(index, section, gone), section.item_count, section.item_bits)
        elif section.name == "whole":
            writer.add(section.name, _wholes(index, section, gone), section.item_count, section.item_bits)
        elif section.name == TEXTS_FRAMES:
            _write_texts(index, gone, writer, directory)
        elif section.name == "search.bits":
            cleared = cleared_bits(SearchTiles(index), gone)
            writer.add(section.name, cleared, section.item_count, section.item_bits)
        elif section.name == "search.columns":
            columns = cleared_columns(SearchTiles(index), gone)
            writer.add(section.name, [columns], section.item_count, section.item_bits)
        elif section.name == _PASSAGES[0]:
            _write_passages(index, gone, writer, directory)
        elif section.name not in {"facts", CHECKS, *_LOG, TEXTS_FRAMES, TEXTS_STARTS, *_PASSAGES}:
            writer.add(section.name, _copied(index, section), section.item_count, section.item_bits)
    return writer.finish(header.page_count, latest_ms, header.seed, facts["schema"])


def _empty_rows(index: LoggedArchive) -> NDArray[np.bool_]:
    return np.array([not (page.id or page.url) for page in index.log.all_pages()], np.bool_)


def _write_log(index: LoggedArchive, gone: NDArray[np.bool_], writer: ArchiveWriter, directory: Path) -> int:
    """Write the log; return the latest time of a living page, 0 if there is none."""
    latest_ms = 0
    with LogWriter(directory) as log:
        former = b""  # the last key of a living page
        block: list[LoggedPage] = []
        for row, page in enumerate(index.log.all_pages()):
            block.append(page)
            if not gone[row]:
                latest_ms = max(latest_ms, page.fetched_ms)
            if len(block) == BLOCK_PAGES or row + 1 == index.header.page_count:
                former = _add_block(log, block, gone[row + 1 - len(block) : row + 1], former)
                block = []
        log.write(writer)
    return latest_ms


def _add_block(log: LogWriter, pages: list[LoggedPage], gone: NDArray[np.bool_], former: bytes) -> bytes:
    """Add a block; return the last key up to it that is not of a forgotten page, given that before it."""
    living = [page for page, is_gone in zip(pages, gone, strict=True) if not is_gone]
    first = log_key(living[0]) if living else former
    empty = LoggedPage("", "", living[0].fetched_ms if living else 0)
    kept = [empty if is_gone else page for page, is_gone in zip(pages, gone, strict=True)]
    log.add(kept, [b"" if page is empty else log_key(page) for page in kept], first)
    return log_key(living[-1]) if living else former


def _rows(index: LoggedArchive, section: Section, gone: NDArray[np.bool_]) -> Iterator[bytes]:
    """Yield a column with empty items for forgotten pages, a multiple of 8 items at once."""
    file = index.file
    if section.item_count != gone.size or not section.item_bits:
        raise CorruptData(f"{file.path}: section {section.name!r} does not have an item for each page")
    for start in range(0, section.item_count, _ROWS_AT_ONCE):
        rows = np.arange(start, min(start + _ROWS_AT_ONCE, section.item_count))
        if section.item_bits % 8 == 0:
            items = file.rows_of(section, rows)
            items[gone[rows]] = 0
            yield items.tobytes()
        else:
            file.touch(section, rows)
            values = unpack(file.data[section.offset :], section.item_bits, rows)
            values[gone[rows]] = 0
            yield pack(values, section.item_bits)


def _wholes(index: LoggedArchive, section: Section, gone: NDArray[np.bool_]) -> Iterator[bytes]:
    written = 0
    for start in range(0, gone.size, _ROWS_AT_ONCE):
        is_gone = gone[start : start + _ROWS_AT_ONCE]
        sizes = whole_sizes(index.file, start, start + is_gone.size)
        wholes = index.file.bytes_of(section, written, written + int(sizes.sum())).copy()
        wholes[np.repeat(is_gone, sizes)] = 0
        written += wholes.size
        yield wholes.tobytes()


def _write_texts(
    index: LoggedArchive, gone: NDArray[np.bool_], writer: ArchiveWriter, directory: Path
) -> None:
    texts = KeptTexts(index)
    with TextsWriter(directory) as kept:
        for row, is_gone in enumerate(gone.tolist()):
            kept.add_text(b"" if is_gone else texts.packed_text(row))
        kept.write(writer, index.header.page_count)


def _write_passages(
    index: LoggedArchive, gone: NDArray[np.bool_], writer: ArchiveWriter, directory: Path
) -> None:
    """Unlike keys, entries can leave: nothing is left of the passages of a forgotten page."""
    geometry = PassageLists(index).geometry
    page_mask = np.uint64((1 << geometry.page_bits) - 1)
    with BlocksWriter(directory, geometry) as blocks:
        for keys in stored_keys(index, geometry):
            blocks.add(keys[~gone[(keys & page_mask).astype(np.int64)]])
        blocks.add(np.empty(0, np.uint64), is_last=True)
        blocks.write(writer)


def _copied(index: LoggedArchive, section: Section) -> Iterator[bytes]:
    for start in range(0, section.size_bytes, _CHUNK_BYTES):
        end = min(start + _CHUNK_BYTES, section.size_bytes)
        yield index.file.bytes_of(section, start, end).tobytes()
