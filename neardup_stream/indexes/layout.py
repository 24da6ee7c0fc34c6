"""Choose the bucket width of the permuted tables and the packing of page records for a planned size.

A permuted fingerprint has three parts. A probe's range lies inside one bucket, because the prefix covers
leading byte and bucket:

    63      56 55            64-8-b                                0
    +---------+-----------------+------------------------------------+
    | leading | bucket (b bits) |               suffix               |
    +---------+-----------------+------------------------------------+
    |<------- prefix: equal in a match ------->|<-- k bits differ -->|

A sorted set stays packed (some 20 bytes an entry) up to a limit and costs over 100 bytes an entry above it.
The bits of real pages are not uniform, so the fullest buckets hold several times the mean: b is chosen for a
mean fill of 16 to 32 at the planned number of pages, and the limit is 512 (`stores/redis/servers.py`). Redis
scans what is packed from its start, so a lower fill takes less time; it takes more bytes, because a key takes
some 90.

A band, 32 bits, matches as a whole. It is split in the same way, with at most 16 bits of suffix: its bucket
is a hash of words, each with its members.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, comb, log2
from typing import NamedTuple

from neardup_stream.bits.permutations import MAX_TABLES, Permutation, PermutedConfig, permutations
from neardup_stream.errors import ConfigError

__all__ = [
    "ENTRY_FORMAT",
    "MAX_BANDS",
    "MEAN_FILL",
    "PERMUTED_FILL",
    "RECORD_FILL",
    "IndexConfig",
    "IndexLayout",
    "TableCut",
    "permuted_within",
]

ENTRY_FORMAT = 6
"""Increased whenever equal settings give other keys or members."""

MEAN_FILL = 64
"""Most words of a bucket of a band, and pages of a hash of clusters, on average, at the planned number of
pages."""

PERMUTED_FILL = 32
"""Most entries of a bucket of a permuted table, on average; Redis compares them one by one."""

RECORD_FILL = 32
"""Most page records of a hash, on average; each of them is several cache lines long."""

MAX_BANDS = 32
"""More bands would use more memory than the page records."""

_LEADING_BITS = 8
_BAND_BITS = 32
_MAX_BAND_BUCKET_BITS = 16
_MAX_BAND_SUFFIX_BITS = 16
_MAX_EXPECTED_PAGES = 10**12
_MAX_BUCKET_CAP = 10**6

_SHORT_RANGE = 64
"""Entries of a range on average, of which the longest is then hardly ever above `IndexConfig.bucket_cap`."""


def permuted_within(distance_bits: int, expected_pages: int) -> PermutedConfig:
    """Return the fewest blocks with which a probe of so many pages reads short ranges.

    Raises:
        ConfigError: they take more than `MAX_TABLES` tables.

    >>> permuted_within(3, 1_000_000).blocks, permuted_within(7, 1_000_000).blocks
    (4, 9)
    """
    blocks = max(PermutedConfig().blocks, distance_bits + 1)
    while expected_pages >> 64 * (blocks - distance_bits) // blocks > _SHORT_RANGE:
        blocks += 1
    if comb(blocks, distance_bits) > MAX_TABLES:
        raise ConfigError(
            f"{distance_bits} bits of distance between {expected_pages:,} pages take {blocks} blocks, and so"
            f" {comb(blocks, distance_bits)} tables; the most is {MAX_TABLES}"
        )
    return PermutedConfig(blocks, distance_bits)


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """The configuration of an index.

    Measured at 200,000 pages, buckets filled as planned, Redis 7.0: a permuted table takes 26 bytes a page, a
    band 17 (4 tables: 105 bytes; with 12 bands: 308). Probe and insert take some 8 µs of the server for each
    table, 3 for each band.

    Attributes:
        permuted: blocks, distance and substrings; 4 blocks at 3 bits are 4 tables, some 100 bytes a page.
        expected_pages: the largest number of pages that the index will hold; sets the width of the buckets.
        bucket_cap: a range of at most this many entries is read whole, so that every page of a cluster is
            reported. A larger one is an oversized bucket and only sampled; a metric counts the probes with
            missing candidates. A band stores at most one page more than this.
        shards: power of two up to 256; at least four times the nodes of a Redis Cluster.
        bands: words of a page's sketch that are indexed too, 0 to 32; pages with an equal one are candidates.
        oversized_considered: most entries of an oversized bucket that are read.
        oversized_same_fingerprint: of them, most of one fingerprint, or one band, so that ten thousand
            copies of a page cost no more than a few.
        oversized_candidates: most candidates of a page that met an oversized bucket, the nearest first; it
            may meet the same oversized bucket in every table.
    """

    permuted: PermutedConfig = PermutedConfig()  # noqa: RUF009 - frozen, so one default serves all
    expected_pages: int = 1_000_000
    bucket_cap: int = 128
    shards: int = 16
    bands: int = 0
    oversized_considered: int = 16
    oversized_same_fingerprint: int = 2
    oversized_candidates: int = 8

    def __post_init__(self) -> None:
        """Check that the index can be stored.

        Raises:
            ConfigError: a number is out of its range.
        """
        if not 1 <= self.expected_pages <= _MAX_EXPECTED_PAGES:
            raise ConfigError(
                f"index.expected_pages ({self.expected_pages}) must be in [1, {_MAX_EXPECTED_PAGES}]"
            )
        if not 1 <= self.bucket_cap <= _MAX_BUCKET_CAP:
            raise ConfigError(f"index.bucket_cap ({self.bucket_cap}) must be in [1, {_MAX_BUCKET_CAP}]")
        for name in ("oversized_considered", "oversized_same_fingerprint", "oversized_candidates"):
            if (limit := getattr(self, name)) < 1:  # no setting, so the message names the attribute
                raise ConfigError(f"IndexConfig.{name} ({limit}) must be at least 1")
        if not 1 <= self.shards <= 1 << _LEADING_BITS or self.shards & (self.shards - 1):
            raise ConfigError(f"index.shards ({self.shards}) must be a power of two, at most 256")
        if not 0 <= self.bands <= MAX_BANDS:
            raise ConfigError(f"index.bands ({self.bands}) must be in [0, {MAX_BANDS}]")
        if self.permuted.table_count + self.bands > MAX_TABLES:
            raise ConfigError(
                f"index.blocks ({self.permuted.blocks}) and index.distance_bits"
                f" ({self.permuted.distance_bits}) take {self.permuted.table_count} tables and index.bands"
                f" {self.bands} more; the most is {MAX_TABLES}"
            )


class TableCut(NamedTuple):
    """How the words of one table are split, in bits.

    Attributes:
        bucket_bits: after the leading byte.
        suffix_bits: after the bucket, stored in the member.
        open_bits: the lowest bits of the suffix, in which a match may differ; a band has none.
        member_suffix_bytes: bytes of a member that hold the suffix; 0 if it is a word.
    """

    bucket_bits: int
    suffix_bits: int
    open_bits: int
    member_suffix_bytes: int


@dataclass(frozen=True)
class IndexLayout:
    """The numbers derived from an `IndexConfig`; they determine every stored key and member.

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
        """Return one permutation per table."""
        return permutations(self.config.permuted)

    @property
    def shard_bits(self) -> int:
        """Return log2 of the number of shards."""
        return self.config.shards.bit_length() - 1

    @property
    def bucket_bits(self) -> int:
        """Return the bits of a bucket number: enough for the mean fill, at most those of the prefix."""
        wanted = _bits_for(self.config.expected_pages, PERMUTED_FILL, _LEADING_BITS)
        return min(wanted, self._prefix_bits - _LEADING_BITS)

    @property
    def slot_bits(self) -> int:
        """Return log2 of the number of record hashes in a shard."""
        return _bits_for(self.config.expected_pages, RECORD_FILL, self.shard_bits)

    @property
    def cluster_slot_bits(self) -> int:
        """Return log2 of the number of hashes of clusters, all of which are in one shard."""
        return _bits_for(self.config.expected_pages, MEAN_FILL, 0)

    @property
    def band_bucket_bits(self) -> int:
        """Return the bits of a bucket number of a band's word, which matches as a whole."""
        return min(_bits_for(self.config.expected_pages, MEAN_FILL, _LEADING_BITS), _MAX_BAND_BUCKET_BITS)

    @property
    def key_bucket_bits(self) -> int:
        """Return the bits of a bucket number in a key, which are the same for all tables."""
        return max(self.bucket_bits, self.band_bucket_bits if self.config.bands else 0)

    @property
    def band_suffix_bits(self) -> int:
        """Return the bits of a band's word that are stored: as many as two bytes hold.

        At 10**6 pages 30 of 32 bits are stored: a page shares one of twelve bands by chance once in 90.
        """
        return min(_BAND_BITS - _LEADING_BITS - self.band_bucket_bits, _MAX_BAND_SUFFIX_BITS)

    @property
    def table_count(self) -> int:
        """Return the number of tables: the permuted tables and one per band."""
        return self.config.bands + len(self.tables)

    @cached_property
    def cuts(self) -> tuple[TableCut, ...]:
        """Return how the words of each table are split, in the order of the tables."""
        suffix_bits = 64 - _LEADING_BITS - self.bucket_bits
        suffix_bytes = -(-suffix_bits // 8)
        band = TableCut(self.band_bucket_bits, self.band_suffix_bits, open_bits=0, member_suffix_bytes=0)
        permuted = (
            TableCut(self.bucket_bits, suffix_bits, 64 - table.prefix_bits, suffix_bytes)
            for table in self.tables
        )
        return (*(band,) * self.config.bands, *permuted)

    @cached_property
    def _prefix_bits(self) -> int:
        return min(table.prefix_bits for table in self.tables)


def _bits_for(pages: int, fill: int, spread_bits: int) -> int:
    """Return the bits that divide `pages` into groups of at most `fill` on average.

    The pages are already spread over 2**spread_bits keys.
    """
    return max(0, ceil(log2(pages / fill)) - spread_bits)
