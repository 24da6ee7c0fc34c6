"""Use fuzzy-fingerprints as keys of archives.

Learn a reference from the pages, and store it with the keys.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.frozen import KEY_KINDS, FrozenIndex
from neardup_stream.archive.keys import BANDS_ONLY, KeyKind, fuzzy_keys
from neardup_stream.archive.layout import Section
from neardup_stream.archive.matching import KeysOfRows
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.spills import SpilledColumn, Spilling
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.errors import CorruptData
from neardup_stream.fingerprints.fuzzy import (
    CLASSES,
    PREFIX_COUNT,
    SCHEMES,
    FuzzyReference,
    fuzzy_codes,
    learn_reference,
)

__all__ = ["REFERENCE_PAGES", "FuzzyKeysWriter", "key_schema", "read_reference"]

REFERENCE_PAGES: Final = 4096
"""Pages from which classes, expectations and bounds are learned, at equal distances in the log."""

_PAGES_AT_ONCE: Final = 1024
_PREFIXES: Final = "fuzzy.prefixes"
_CLASSES: Final = "fuzzy.classes"
_EXPECTED: Final = "fuzzy.expected"
_BOUNDS: Final = "fuzzy.bounds"


def key_schema(kinds: frozenset[KeyKind]) -> Mapping[str, str | int]:
    """Return what the schema of an archive says about its keys; nothing if they are bands."""
    if kinds == BANDS_ONLY:
        return {}
    return {KEY_KINDS: ",".join(sorted(kinds)), "fuzzy_classes": CLASSES, "fuzzy_schemes": len(SCHEMES)}


class FuzzyKeysWriter(Spilling):
    """Collect the words of pages by prefix, and make the keys after the last page; see `LateKeys`.

    Args:
        directory: for temporary files; 8 bytes a distinct prefix of each page.
    """

    def __init__(self, directory: Path) -> None:
        self._counted = SpilledColumn(directory)
        self._scopes = SpilledColumn(directory)
        self._rows = array("I")
        self._ends = array("Q", [0])
        super().__init__((self._counted, self._scopes))
        self._reference: FuzzyReference | None = None

    def add(self, pages: Sequence[FrozenPage], first_row: int) -> None:
        """See `LateKeys`; skips pages that are too short to be found."""
        for row, page in enumerate(pages, start=first_row):
            if page.keys and page.prefixes:
                self._rows.append(row)
                self._counted.write(page.prefixes)
                self._ends.append(self._counted.size_bytes)
                self._scopes.write(page.scope.to_bytes(8, "little"))

    def made(self) -> Iterator[KeysOfRows]:
        """See `LateKeys`."""
        count = len(self._rows)
        if not count:
            return
        sample = np.arange(min(count, REFERENCE_PAGES)) * count // min(count, REFERENCE_PAGES)
        self._reference = learn_reference([self._page(place) for place in sample.tolist()])
        for start in range(0, count, _PAGES_AT_ONCE):
            places = range(start, min(start + _PAGES_AT_ONCE, count))
            codes = fuzzy_codes([self._page(place) for place in places], self._reference)
            scopes = np.frombuffer(self._scopes.read(8 * start, 8 * len(places)), "<u8")
            rows = np.array(self._rows[start : places.stop], np.uint32)
            yield KeysOfRows(fuzzy_keys(codes, scopes).reshape(-1), np.repeat(rows, codes.shape[1]))

    def write(self, writer: ArchiveWriter) -> None:
        """See `LateKeys`; an archive in which no page can be found has no reference."""
        reference = self._reference
        if reference is None:
            return
        writer.add(_PREFIXES, [reference.prefixes.astype("<u4").tobytes()], reference.prefixes.size, 32)
        writer.add(_CLASSES, [reference.classes.tobytes()], reference.classes.size, 8)
        writer.add(_EXPECTED, [reference.expected.astype("<f8").tobytes()], reference.expected.size, 64)
        writer.add(_BOUNDS, [reference.bounds.astype("<f8").tobytes()], reference.bounds.size, 64)

    def _page(self, place: int) -> NDArray[Any]:
        start, end = self._ends[place], self._ends[place + 1]
        return np.frombuffer(self._counted.read(start, end - start), PREFIX_COUNT)


def read_reference(index: FrozenIndex) -> FuzzyReference | None:
    """Read the reference with which the fuzzy codes of an archive were made; None if it has none.

    Raises:
        CorruptData: it is damaged.
    """
    if "fuzzy" not in index.key_kinds or _PREFIXES not in index.file.sections:
        return None
    prefixes = _items(index, _PREFIXES, "<u4")
    classes = _items(index, _CLASSES, "u1", prefixes.size)
    expected = _items(index, _EXPECTED, "<f8", CLASSES)
    bounds = _items(index, _BOUNDS, "<f8", len(SCHEMES) * CLASSES)
    if not prefixes.size or (classes >= CLASSES).any() or not (expected > 0).all():
        raise CorruptData(f"{index.file.path}: the reference of its fuzzy keys is damaged")
    return FuzzyReference(prefixes, classes, expected, bounds.reshape(len(SCHEMES), CLASSES))


def _items(index: FrozenIndex, name: str, dtype: str, count: int | None = None) -> NDArray[Any]:
    section: Section = index.file.require(name)
    if section.size_bytes != section.item_count * np.dtype(dtype).itemsize or count not in (
        None,
        section.item_count,
    ):
        raise CorruptData(f"{index.file.path}: section {name!r} has the wrong number of items")
    return index.file.section(name).view(dtype)
