"""Map keys to numbers by a 64-bit hash of the key: 12 bytes each, for keys of any length.

Two keys of a million share a hash once in 40 million times. Code that reports a violation compares the keys.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from hashlib import blake2b

import numpy as np

__all__ = ["Numbers", "hash64"]


def hash64(key: str) -> int:
    """Return the hash of a key. Cost: 1 µs."""
    return int.from_bytes(blake2b(key.encode(errors="surrogatepass"), digest_size=8).digest(), "big")


class Numbers:
    """The numbers of the keys with a given hash, in order.

    Args:
        hashes: of the keys, by number.

    Cost: 1 µs a lookup.
    """

    def __init__(self, hashes: "array[int]") -> None:
        of_numbers = np.array(hashes, dtype=np.uint64)
        order = np.argsort(of_numbers, kind="stable").astype(np.uint32)
        self._hashes = array("Q", of_numbers[order].tobytes())
        self._numbers = array("I", order.tobytes())

    def __contains__(self, key_hash: int) -> bool:
        at = bisect_left(self._hashes, key_hash)
        return at < len(self._hashes) and self._hashes[at] == key_hash

    def of(self, key_hash: int) -> list[int]:
        """Return the numbers of the keys with this hash."""
        start = end = bisect_left(self._hashes, key_hash)
        while end < len(self._hashes) and self._hashes[end] == key_hash:
            end += 1
        return self._numbers[start:end].tolist()

    def repeated(self) -> Iterator[tuple[int, list[int]]]:
        """Yield the hashes that several numbers have, with these numbers."""
        hashes = np.frombuffer(self._hashes, np.uint64) if self._hashes else np.empty(0, np.uint64)
        is_repeated = hashes[1:] == hashes[:-1]
        starts = np.flatnonzero(is_repeated & ~np.append(False, is_repeated[:-1])[: len(is_repeated)])
        for start in starts.tolist():
            key_hash = self._hashes[start]
            yield key_hash, self.of(key_hash)
