"""Compute the keys by which pages of a batch are looked up in archives, by the kinds of each. Pure."""

from collections.abc import Sequence
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.keys import KeyedPage, KeyKind, PageKeys, fuzzy_keys, page_keys
from neardup_stream.fingerprints.fuzzy import PREFIX_COUNT, FuzzyReference, fuzzy_codes

__all__ = ["AskedKeys", "FoundRows", "keys_in_common"]

_ROW_BITS: Final = 32


class FoundRows(NamedTuple):
    """A page that asked an archive, and frozen pages that it was found to be like.

    Attributes:
        page: that asked.
        rows: of the frozen pages.
    """

    page: KeyedPage
    rows: Sequence[int]


def keys_in_common(
    found: Sequence[FoundRows], index: FrozenIndex, reference: FuzzyReference | None
) -> list[dict[int, tuple[str, ...]]]:
    """Return for each page, by row of a frozen page, which keys both have: `text`, `band N`, `fuzzy N`.

    Args:
        found: pages that asked one archive.
        index: of the archive.
        reference: of its fuzzy keys; None where it has none.

    Raises:
        CorruptData: the archive is damaged.

    Cost: 15 µs a page, 25 µs more with fuzzy keys.
    """
    of_text = [each.page._replace(views=()) for each in found]
    by_view = [
        (place, page._replace(views=(view,)))
        for place, (page, _) in enumerate(found)
        for view in (page.views if "bands" in index.key_kinds else ())
    ] or list(enumerate(of_text))
    exact = page_keys([page for _, page in by_view])
    owners = np.array([place for place, _ in by_view], np.int64)[exact.places]
    names = ["text" if not number else f"band {number - 1}" for number in _numbers_within(exact.places)]
    keys = exact.keys
    if reference is not None:
        fuzzy = AskedKeys(of_text).fuzzy(reference)
        keys, owners = np.concatenate([keys, fuzzy.keys]), np.concatenate([owners, fuzzy.places])
        names += [f"fuzzy {number}" for number in _numbers_within(fuzzy.places)]
    probed = index.probe(keys, np.arange(keys.size))
    wanted = [place << _ROW_BITS | row for place, each in enumerate(found) for row in each.rows]
    is_wanted = np.isin(owners[probed.queries] << _ROW_BITS | probed.rows, np.array(wanted, np.int64))
    common: list[dict[int, dict[str, None]]] = [{} for _ in found]
    for query, row in zip(probed.queries[is_wanted].tolist(), probed.rows[is_wanted].tolist(), strict=True):
        common[owners[query]].setdefault(row, {})[names[query]] = None
    return [{row: tuple(named) for row, named in rows.items()} for rows in common]


def _numbers_within(places: NDArray[np.int64]) -> list[int]:
    """Number the keys of each page from 0; places are ascending."""
    numbers: list[int] = (np.arange(places.size) - np.searchsorted(places, places)).tolist()
    return numbers


class AskedKeys:
    """Makes the keys of a batch once for all archives that share them.

    Args:
        pages: of the batch; None for one that is too short to be judged: it has no keys.
    """

    def __init__(self, pages: Sequence[KeyedPage | None]) -> None:
        self._pages = pages

    def of(self, kinds: frozenset[KeyKind], reference: FuzzyReference | None) -> PageKeys:
        """Return the keys to look for in an archive.

        Args:
            kinds: of its keys.
            reference: of its fuzzy keys; None where it has none.

        Cost: 1 µs a page, once; 25 µs with fuzzy keys, which are those of one archive.
        """
        exact = self._with_bands if "bands" in kinds else self._of_text
        if reference is None:
            return exact
        fuzzy = self.fuzzy(reference)
        places = np.concatenate([exact.places, fuzzy.places])
        order = np.argsort(places, kind="stable")
        return PageKeys(np.concatenate([exact.keys, fuzzy.keys])[order], places[order])

    @cached_property
    def _with_bands(self) -> PageKeys:
        return page_keys(self._pages)

    @cached_property
    def _of_text(self) -> PageKeys:
        return page_keys([page and page._replace(views=()) for page in self._pages])

    def fuzzy(self, reference: FuzzyReference) -> PageKeys:
        """Return the fuzzy keys alone, in the order of the schemes; of pages whose words are known."""
        asked = [(place, page) for place, page in enumerate(self._pages) if page and page.prefixes]
        counted = [np.frombuffer(page.prefixes, PREFIX_COUNT) for _, page in asked]
        codes = fuzzy_codes(counted, reference)
        keys = fuzzy_keys(codes, np.array([page.scope for _, page in asked], np.uint64))
        places = np.array([place for place, _ in asked], np.int64)
        return PageKeys(keys.reshape(-1), np.repeat(places, codes.shape[1]))
