"""Find clusters of words: those that a chain of close pairs connects, even if its ends are far apart.

Every word points to a smaller word of its cluster, or to itself: then it is the root, and at the end the
smallest member. Pairs are processed in batches and dropped, so memory does not grow with their number.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from neardup_stream.bits.words import Words
from neardup_stream.indexes.pairs import Pairs, matching_pairs

__all__ = ["clusters"]

_Nodes = npt.NDArray[np.intp]

_BATCH_PAIRS = 1 << 18
"""Pairs per batch: enough to amortize a batch's passes over all words, at 2 MB an array."""


def clusters(words: Words, distance_bits: int) -> list[list[int]]:
    """Return the connected components of two or more words; pairs within `distance_bits` are connected.

    Args:
        words: distinct words, one dimension, ascending.
        distance_bits: 0 to 63.

    Returns:
        Members ascending; clusters by their smallest member.
    """
    parents = np.arange(words.size)
    for left, right in _batches(matching_pairs(words, distance_bits)):
        parents = _connected(parents, np.searchsorted(words, left), np.searchsorted(words, right))
    sizes = np.bincount(parents, minlength=words.size)
    members = np.flatnonzero(sizes[parents] > 1)
    members = members[np.argsort(parents[members], kind="stable")]
    return list(_cut(words[members].tolist(), sizes[sizes > 1].tolist()))


def _batches(chunks: Iterable[Pairs]) -> Iterator[Pairs]:
    """Yield the same pairs in fewer arrays."""
    batch: list[Pairs] = []
    pairs_count = 0
    for chunk in chunks:
        batch.append(chunk)
        pairs_count += chunk[0].size
        if pairs_count >= _BATCH_PAIRS:
            yield _joined(batch)
            batch, pairs_count = [], 0
    if batch:
        yield _joined(batch)


def _joined(batch: list[Pairs]) -> Pairs:
    left, right = zip(*batch, strict=True)
    return np.concatenate(left), np.concatenate(right)


def _connected(parents: _Nodes, left: _Nodes, right: _Nodes) -> _Nodes:
    """Return new parents, all of them roots, after connecting the nodes at the same indexes.

    In each round every root that a pair connects to smaller ones becomes a child of the smallest of them.
    """
    left, right = parents[left], parents[right]
    while (apart := left != right).any():
        left, right = left[apart], right[apart]
        np.minimum.at(parents, np.maximum(left, right), np.minimum(left, right))
        parents = _flattened(parents)
        left, right = parents[left], parents[right]
    return parents


def _flattened(parents: _Nodes) -> _Nodes:
    """Point every node to its root; path halving, one round at a time."""
    while not np.array_equal(grandparents := parents[parents], parents):
        parents = grandparents
    return parents


def _cut(members: list[int], sizes: list[int]) -> Iterator[list[int]]:
    start = 0
    for size in sizes:
        yield members[start : start + size]
        start += size
