"""The keys under which pages of a batch are looked for in archives, by the kinds that each has. Pure."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.keys import KeyedPage, KeyKind, fuzzy_keys, page_keys
from neardup_stream.fingerprints.fuzzy import PREFIX_COUNT, FuzzyReference, fuzzy_codes

__all__ = ["AskedKeys", "QueryKeys", "keys_in_common"]


class QueryKeys(NamedTuple):
    """Keys and the place of the page that each one is of, ascending; one entry each."""

    keys: NDArray[np.uint64]
    queries: NDArray[np.int64]


def keys_in_common(
    page: KeyedPage, row: int, index: FrozenIndex, reference: FuzzyReference | None
) -> list[str]:
    """Return which keys of a page a frozen page has too: `text`, `band N`, `fuzzy N`; for explanations.

    Args:
        page: that asks.
        row: of the frozen page.
        index: of its archive.
        reference: of the archive's fuzzy keys; None where it has none.

    Raises:
        CorruptData: the archive is damaged.
    """
    named = {int(key): "text" for key in page_keys([page._replace(views=())])[0]}
    if "bands" in index.key_kinds:
        for view in page.views:
            _, *bands = page_keys([page._replace(views=(view,))])[0].tolist()
            named |= {key: f"band {number}" for number, key in enumerate(bands)}
    if reference is not None:
        schemes = AskedKeys([page._replace(views=())]).fuzzy(reference).keys.tolist()
        named |= {key: f"fuzzy {number}" for number, key in enumerate(schemes)}
    keys = np.array(list(named), np.uint64)
    found = index.probe(keys, np.arange(keys.size))
    places = found.queries[found.rows == row].tolist()
    return list(dict.fromkeys(list(named.values())[place] for place in places))


class AskedKeys:
    """Makes the keys of a batch once for all archives that share them.

    Args:
        pages: of the batch; None for one that is too short to be judged: it has no keys.
    """

    def __init__(self, pages: Sequence[KeyedPage | None]) -> None:
        self._pages = pages

    def of(self, kinds: frozenset[KeyKind], reference: FuzzyReference | None) -> QueryKeys:
        """The keys to look for in an archive.

        Args:
            kinds: of its keys.
            reference: of its fuzzy keys; None where it has none.

        Cost: 1 µs a page, once; 25 µs with fuzzy keys, which are those of one archive.
        """
        exact = self._with_bands if "bands" in kinds else self._of_text
        if reference is None:
            return exact
        fuzzy = self.fuzzy(reference)
        queries = np.concatenate([exact.queries, fuzzy.queries])
        order = np.argsort(queries, kind="stable")
        return QueryKeys(np.concatenate([exact.keys, fuzzy.keys])[order], queries[order])

    @cached_property
    def _with_bands(self) -> QueryKeys:
        return QueryKeys(*page_keys(self._pages))

    @cached_property
    def _of_text(self) -> QueryKeys:
        return QueryKeys(*page_keys([page and page._replace(views=()) for page in self._pages]))

    def fuzzy(self, reference: FuzzyReference) -> QueryKeys:
        """The fuzzy keys alone, in the order of the schemes; of pages whose words are known."""
        asked = [(place, page) for place, page in enumerate(self._pages) if page and page.prefixes]
        counted = [np.frombuffer(page.prefixes, PREFIX_COUNT) for _, page in asked]
        codes = fuzzy_codes(counted, reference)
        keys = fuzzy_keys(codes, np.array([page.scope for _, page in asked], np.uint64))
        places = np.array([place for place, _ in asked], np.int64)
        return QueryKeys(keys.reshape(-1), np.repeat(places, codes.shape[1]))
