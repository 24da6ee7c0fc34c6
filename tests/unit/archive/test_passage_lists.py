"""Entries of passages are read as they were written, however far their hashes lie apart."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from neardup_stream.archive.kernels import load_passage_kernel
from neardup_stream.archive.passage_lists import BlocksWriter, ListGeometry

GEOMETRY = ListGeometry.of(page_count=1 << 20, entry_count=1 << 28)
"""Of so many entries that a hash is in the marks with all its bits: few hashes far apart fill a block."""


class Sections:
    """Takes sections as an archive does."""

    def __init__(self) -> None:
        self.words: dict[str, NDArray[np.uint64]] = {}

    def add(self, name: str, chunks: Iterator[bytes], _count: int, _width: int) -> None:
        self.words[name] = np.frombuffer(b"".join(chunks), np.uint8)


def read(sections: Sections) -> list[int]:
    kernel, found = load_passage_kernel(), []
    words = sections.words["passages.blocks"].view(np.uint64)
    words.setflags(write=False)
    firsts = sections.words["passages.firsts"].view(f"<u{GEOMETRY.first_bytes}").astype(np.uint64)
    keys = np.empty(64 * kernel.BLOCK_WORDS, np.uint64)
    for number, first in enumerate(firsts):
        begin = number * kernel.BLOCK_WORDS
        count = kernel.unpack_block(words, begin, first, GEOMETRY.page_bits, GEOMETRY.low_bits, keys)
        found += keys[:count].tolist()
    return found


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("blocks")


@given(
    st.lists(st.integers(0, (1 << GEOMETRY.hash_bits) - 1), unique=True, max_size=60).map(sorted),
    st.integers(1, 7),
)
def test_sparse_entries_are_read_as_they_were_written(
    directory: Path, hashes: list[int], chunk_count: int
) -> None:
    entries = [number << GEOMETRY.page_bits | number % 1000 for number in hashes]
    sections = Sections()

    with BlocksWriter(directory, GEOMETRY) as blocks:
        for chunk in np.array_split(np.array(entries, np.uint64), chunk_count):
            blocks.add(chunk)
        blocks.add(np.empty(0, np.uint64), is_last=True)
        blocks.write(sections)  # type: ignore[arg-type] # only its sections are taken

    assert read(sections) == entries
