"""How wide the buckets of the permuted tables are, and how the records are packed, for a stated corpus.

A permuted fingerprint is cut in three; a probe's range lies inside one bucket, because the prefix covers
leading byte and bucket:

    63      56 55            64-8-b                                0
    +---------+-----------------+------------------------------------+
    | leading | bucket (b bits) |                rest                |
    +---------+-----------------+------------------------------------+
    |<------- prefix: equal in a match ------->|<-- k bits differ -->|

A sorted set stays packed (some 20 bytes an entry) up to a limit and costs over 100 an entry beyond. The bits
of real pages are not even, so the fullest buckets hold several times the mean: b is chosen for a mean fill of
32 to 64 at the stated number of pages, and the limit is 512 (`stores/redis_namespace.py`).
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, log2

from neardup_stream.bits.permutations import Permutation, PermutedConfig, permutations
from neardup_stream.errors import ConfigError

__all__ = ["MEAN_FILL", "IndexConfig", "IndexLayout"]

MEAN_FILL = 64
"""Entries a bucket, and records a hash, hold on average when the stated number of pages is reached."""

_LEADING_BITS = 8
_MAX_EXPECTED_PAGES = 10**12


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """What an operator states about the index.

    Attributes:
        permuted: blocks and distance; 4 blocks at 3 bits are 4 tables, some 100 bytes a page.
        expected_pages: the largest number of pages to be kept; sets the width of the buckets.
        bucket_cap: most entries of one range that a probe reads; more are counted, and not found.
        shards: power of two up to 256; at least four times the nodes of a cluster.
    """

    permuted: PermutedConfig = PermutedConfig()  # noqa: RUF009 - frozen, so one default serves all
    expected_pages: int = 1_000_000
    bucket_cap: int = 256
    shards: int = 16

    def __post_init__(self) -> None:
        """Refuse what cannot be stored.

        Raises:
            ConfigError: a number is out of its range.
        """
        if not 1 <= self.expected_pages <= _MAX_EXPECTED_PAGES:
            raise ConfigError(
                f"index.expected_pages ({self.expected_pages}) must be in [1, {_MAX_EXPECTED_PAGES}]"
            )
        if self.bucket_cap < 1:
            raise ConfigError(f"index.bucket_cap ({self.bucket_cap}) must be at least 1")
        if not 1 <= self.shards <= 1 << _LEADING_BITS or self.shards & (self.shards - 1):
            raise ConfigError(f"index.shards ({self.shards}) must be a power of two, at most 256")


@dataclass(frozen=True)
class IndexLayout:
    """The numbers that follow from an `IndexConfig`; they shape every stored key and member.

    Raises:
        ConfigError: the prefix is shorter than a leading byte, so one probe would span several shards.
    """

    config: IndexConfig

    def __post_init__(self) -> None:
        """Check that a probe stays inside one bucket."""
        if self._prefix_bits < _LEADING_BITS:
            permuted = self.config.permuted
            raise ConfigError(
                f"index.blocks ({permuted.blocks}) with index.distance_bits ({permuted.distance_bits})"
                f" leaves a prefix of {self._prefix_bits} bits, and tables keyed by leading byte need"
                f" {_LEADING_BITS}; use more blocks per bit of distance"
            )

    @cached_property
    def tables(self) -> tuple[Permutation, ...]:
        """One permutation per table."""
        return permutations(self.config.permuted)

    @property
    def shard_bits(self) -> int:
        """log2 of the number of shards."""
        return self.config.shards.bit_length() - 1

    @property
    def bucket_bits(self) -> int:
        """Bits of a bucket number: as many as keep the mean fill, as far as the prefix reaches."""
        return min(_bits_for(self.config.expected_pages, _LEADING_BITS), self._prefix_bits - _LEADING_BITS)

    @property
    def slot_bits(self) -> int:
        """log2 of the number of record hashes in a shard."""
        return _bits_for(self.config.expected_pages, self.shard_bits)

    @property
    def rest_bits(self) -> int:
        """Bits of a permuted fingerprint below its bucket."""
        return 64 - _LEADING_BITS - self.bucket_bits

    @property
    def rest_bytes(self) -> int:
        """Bytes that hold the rest."""
        return ceil(self.rest_bits / 8)

    @cached_property
    def _prefix_bits(self) -> int:
        return min(table.prefix_bits for table in self.tables)


def _bits_for(pages: int, spread_bits: int) -> int:
    """Bits that cut `pages`, spread over 2**spread_bits keys already, into groups of at most MEAN_FILL."""
    return max(0, ceil(log2(pages / MEAN_FILL)) - spread_bits)
