"""Build every Redis key, and place the keys in a cluster's slots.

    <namespace>:meta                                      hash: schema, handle key
    <namespace>:epochs                                    hash: topic → highest epoch ever read
    <namespace>:recovering                                who recovers the index; expires
    <namespace>:<schema>:swept                            counter: slots that the sweep has claimed
    <namespace>:<schema>:laying                           who lays the tables out anew; expires
    <namespace>:<schema>:{<tag>}:t<table>:<leading><bucket>   one bucket of one table, see `tables`; of the
                                                              tables of layout n, from 1, :t<n>.<table>:
    <namespace>:<schema>:{<tag>}:p<slot>                  hash: handle → page record
    <namespace>:<schema>:{<tag>}:f<site>                  string: frame table of a site

A shard is the unit of placement: the leading bits of a leading byte, or of a handle. Its tag is chosen so
that the shards' slots lie evenly over a cluster's 16,384. The keys of clusters have one hash tag, so that one
script may change them together:

    <namespace>:<schema>:{c}:pages:<slot>      hash: handle → page cell
    <namespace>:<schema>:{c}:clusters:<slot>   hash: cluster key → cluster cell
    <namespace>:<schema>:{c}:members:<slot>    sorted set, all scores 0: cluster key, rank, handle; for a set
                                               of members that belongs to it, also the version that founded it
    <namespace>:<schema>:{c}:absorbed          hash: cluster keys whose members have not moved yet, and
                                               forwarding cells to remove
    <namespace>:<schema>:{c}:turn              token of the daemon whose commit comes next; when its turn ends
    <namespace>:<schema>:{c}:rows:<input>:<n>  hash: number of a block → rows of its offsets, of one partition
    <namespace>:<schema>:{c}:trimmed           hash: partition → offset; rows below it are gone; aging counts
    <namespace>:<schema>:{c}:decided           hash: partition → offset; no row lies at it or above
    <namespace>:<schema>:{c}:idle              hash: partition of a pipe → since when its rows are unchanged
    <namespace>:<schema>:{c}:ranks             counter: the last rank that was taken
    <namespace>:<schema>:{c}:aging             list: time, rank, and of each page its rank from there on,
                                               handle and digest of its text; the oldest in front

The names of tables (`pages`, `rows:<input>:<n>`, …) are those of `stores.cluster_store`, for every store.
"""

from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from itertools import count

import numpy as np
from numpy.typing import NDArray
from redis.crc import key_slot

from neardup_stream.errors import InvariantBroken
from neardup_stream.stores.cluster_store import CLUSTERS, PAGES, CellAddress

__all__ = [
    "MAX_SHARD_BITS",
    "ClusterKeys",
    "Keys",
    "all_keys",
    "epochs_key",
    "index_prefix",
    "laying_key",
    "meta_key",
    "recovering_key",
    "shard_tag",
    "swept_key",
]

MAX_SHARD_BITS = 8
"""A shard is made of bits of one leading byte."""

_SLOTS = 16384

_HEX_DIGITS = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)

_MAX_NAMES = 1 << 16
"""Remembered names of a kind: the ends of those of all buckets up to some 10**9 pages, and of all hashes of
records up to 2 * 10**6 pages in a shard; those of one table's hashes of clusters up to some 4 * 10**6."""


@lru_cache(maxsize=1 << MAX_SHARD_BITS)
def shard_tag(shard: int, shard_count: int) -> str:
    """Return the hash tag of a shard: its number and the first suffix with a slot in the shard's share.

    >>> shard_tag(3, 16) == shard_tag(3, 16)
    True
    """
    share = _SLOTS // shard_count
    return next(
        tag for suffix in count() if key_slot((tag := f"{shard:x}.{suffix:x}").encode()) // share == shard
    )


def meta_key(namespace: str) -> str:
    """Return the one key that says what is stored under a namespace."""
    return f"{namespace}:meta"


def epochs_key(namespace: str) -> str:
    """Return the hash of the epochs of input topics."""
    return f"{namespace}:epochs"


def all_keys(namespace: str) -> str:
    """Return the pattern that every key of a namespace matches."""
    return f"{namespace}:*"


def index_prefix(namespace: str, schema_id: str) -> str:
    """Return how the keys of one index of a namespace begin."""
    return f"{namespace}:{schema_id}:"


def swept_key(namespace: str, schema_id: str) -> str:
    """Return the counter of the slots that the sweep has claimed."""
    return f"{index_prefix(namespace, schema_id)}swept"


def recovering_key(namespace: str) -> str:
    """Return the lease of the process that recovers the index."""
    return f"{namespace}:recovering"


def laying_key(namespace: str, schema_id: str) -> str:
    """Return the lease of the process that lays the tables out anew."""
    return f"{index_prefix(namespace, schema_id)}laying"


class Keys:
    """Makes the keys of tables, page records and frames of one namespace and schema.

    Args:
        namespace: what the operator calls this index; one Redis may hold several.
        schema_id: short name of everything that changes stored bytes.
        shard_bits: log2 of the number of shards, 0 to 8.
        table_count: how many permuted tables there are.
        bucket_bits: most bits of a bucket number of any table, which follow the leading byte.
        slot_bits: log2 of the number of record hashes in a shard.
        layout: number of the layout of the tables.
    """

    def __init__(
        self,
        *,
        namespace: str,
        schema_id: str,
        shard_bits: int,
        table_count: int,
        bucket_bits: int,
        slot_bits: int,
        layout: int = 0,
    ) -> None:
        self._prefix = index_prefix(namespace, schema_id)
        self._shard_bits = shard_bits
        self._table_count = table_count
        self._tables = f"t{layout}." if layout else "t"
        self._bucket_digits = -(-bucket_bits // 4)
        self._slot_bits = slot_bits
        self._slot_digits = max(1, -(-slot_bits // 4))

    @property
    def shard_count(self) -> int:
        """How many shards there are."""
        return 1 << self._shard_bits

    def shard_of_leading_byte(self, leading_byte: int) -> int:
        """Return the shard whose table entries start with this byte."""
        return leading_byte >> (8 - self._shard_bits)

    def shard_of_handle(self, handle: int) -> int:
        """Return the shard that keeps this page's record."""
        return handle >> (64 - self._shard_bits)

    def buckets(
        self, tables: Iterable[int], leading_bytes: Iterable[int], numbers: Iterable[int]
    ) -> list[str]:
        """Return the keys of some buckets, given by their tables, leading bytes and numbers.

        Cost: 0.1 µs each.
        """
        stems = self._bucket_stems
        return [
            stems[table << 8 | leading_byte] + suffix
            for table, leading_byte, suffix in zip(
                tables, leading_bytes, map(self._bucket_suffixes.__getitem__, numbers), strict=True
            )
        ]

    @property
    def bucket_patterns(self) -> list[str]:
        """Patterns that match the buckets of all tables of this layout, and no other key."""
        digits = range(1, 1 + len(str(self._table_count)))
        return [f"{self._prefix}{{*}}:{self._tables}{'[0-9]' * count}:*" for count in digits]

    def packed_buckets(
        self, tables: NDArray[np.uint8], leading_bytes: NDArray[np.uint8], numbers: NDArray[np.uint32]
    ) -> NDArray[np.uint8]:
        """Return the same as one row of bytes for each: the size of the name, the name, and zeros.

        Cost: 0.03 µs each.
        """
        if numbers.size and int(numbers.max()) >> 4 * self._bucket_digits:
            raise InvariantBroken(f"a bucket has more than {self._bucket_digits} hexadecimal digits")
        packed: NDArray[np.uint8] = self._packed_stems[tables.astype(np.intp) << 8 | leading_bytes]
        last_digits = np.arange(len(packed)) * packed.shape[1] + packed[:, 0]
        for digit in range(self._bucket_digits):
            packed.put(last_digits - digit, _HEX_DIGITS[numbers >> np.uint32(4 * digit) & np.uint32(15)])
        return packed

    @property
    def slot_count(self) -> int:
        """How many hashes of page records there are, in all shards."""
        return 1 << self._shard_bits + self._slot_bits

    def record(self, handle: int) -> str:
        """Return the hash that keeps a page's record."""
        return self.record_slot(self.slot_of_handle(handle))

    def records(self, handles: Iterable[int]) -> list[str]:
        """Return the hashes that keep the records of some pages.

        Cost: 0.2 µs each of an index for a million pages, 0.6 for 20 million, 1 where a shard has more hashes
        than names are remembered.
        """
        stems, suffixes = self._record_stems, self._slot_suffixes
        shard_shift, mask = 64 - self._shard_bits, (1 << self._slot_bits) - 1
        shift = shard_shift - self._slot_bits
        return [stems[handle >> shard_shift] + suffixes[handle >> shift & mask] for handle in handles]

    def slot_of_handle(self, handle: int) -> int:
        """Return the number of that hash, counted through all shards."""
        return handle >> (64 - self._shard_bits - self._slot_bits)

    def record_slot(self, slot: int) -> str:
        """Return one hash of page records; `slot` counts through all shards, from 0."""
        suffix = self._slot_suffixes[slot & (1 << self._slot_bits) - 1]
        return self._record_stems[slot >> self._slot_bits] + suffix

    def record_slots(self, slots: range) -> list[str]:
        """Return some hashes of page records, all of one shard.

        Cost: 0.15 µs each; an index for 20 million pages has half a million.
        """
        mask = (1 << self._slot_bits) - 1
        stem, first = self._record_stems[slots.start >> self._slot_bits], slots.start & mask
        return [f"{stem}{number:0{self._slot_digits}x}" for number in range(first, first + len(slots))]

    def frame_table(self, site: int) -> str:
        """Return the key of a site's frame table, by the keyed hash of its name, which chooses the shard."""
        return f"{self._record_stems[self.shard_of_handle(site)][:-1]}f{site:016x}"

    @cached_property
    def _bucket_suffixes(self) -> "_Remembered":
        """By bucket."""
        digits = self._bucket_digits
        return _Remembered(lambda number: f"{number:0{digits}x}" if digits else "")

    @cached_property
    def _slot_suffixes(self) -> "_Remembered":
        """By hash of page records, counted within its shard."""
        digits = self._slot_digits
        return _Remembered(lambda number: f"{number:0{digits}x}")

    @cached_property
    def _bucket_stems(self) -> list[str]:
        """By table and leading byte; made once, because every probe wants one."""
        stems = [
            f"{self._prefix}{{{shard_tag(self.shard_of_leading_byte(leading), self.shard_count)}}}"
            for leading in range(256)
        ]
        return [
            f"{stems[leading]}:{self._tables}{table}:{leading:02x}"
            for table in range(self._table_count)
            for leading in range(256)
        ]

    @cached_property
    def _packed_stems(self) -> NDArray[np.uint8]:
        """The same in rows of bytes, as `packed_buckets` returns them, with zeros for the bucket."""
        names = [stem.encode() + bytes(self._bucket_digits) for stem in self._bucket_stems]
        width = max(map(len, names))
        rows = b"".join(bytes([len(name)]) + name.ljust(width, b"\0") for name in names)
        return np.frombuffer(rows, dtype=np.uint8).reshape(len(names), 1 + width)

    @cached_property
    def _record_stems(self) -> list[str]:
        return [
            f"{self._prefix}{{{shard_tag(shard, self.shard_count)}}}:p" for shard in range(self.shard_count)
        ]


class _Remembered(dict[int, str]):
    """Names, or their ends, by number, made when they are first asked for; too many are all dropped.

    Formatting a number costs ten times as much as looking it up. A function with `lru_cache` touches more
    memory at each hit, for an order that slots, which come at random, have no use for.

    Args:
        make: the name of a number.
    """

    def __init__(self, make: Callable[[int], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, number: int) -> str:
        """Make a name."""
        if len(self) >= _MAX_NAMES:
            self.clear()
        name = self[number] = self._make(number)
        return name


class ClusterKeys:
    """Makes the keys of clusters of one namespace and schema.

    Args:
        namespace: what the operator calls this index.
        schema_id: short name of everything that changes stored bytes.
        slot_bits: log2 of the number of hashes; some 64 pages in clusters to one keep it packed.
    """

    def __init__(self, *, namespace: str, schema_id: str, slot_bits: int) -> None:
        stem = f"{index_prefix(namespace, schema_id)}{{c}}:"
        self._stem = stem
        self._slot_bits = slot_bits
        self._slot_shift = 64 - slot_bits
        self._hashes = {table: _slot_names(f"{stem}{table}:") for table in (PAGES, CLUSTERS)}
        self._members = _slot_names(f"{stem}members:")
        self.ranks = f"{stem}ranks"
        self.trimmed = f"{stem}trimmed"
        self.aging = f"{stem}aging"
        self.turn = f"{stem}turn"

    @property
    def slot_count(self) -> int:
        """How many hashes each table is spread over."""
        return 1 << self._slot_bits

    def of(self, address: CellAddress) -> str:
        """Return the hash that holds a cell."""
        names = self._hashes.get(address.table)
        if names is None:
            return self._stem + address.table
        return names[int.from_bytes(address.field[:8], "big") >> self._slot_shift]

    def members(self, cluster: bytes) -> str:
        """Return the sorted set that holds the members of a cluster, among others."""
        return self._members[int.from_bytes(cluster[:8], "big") >> self._slot_shift]

    def clusters(self, slots: range) -> list[str]:
        """Return some hashes of cluster cells; not cached, because a walk names each once."""
        stem = f"{self._stem}{CLUSTERS}:"
        return [f"{stem}{slot:x}" for slot in slots]


def _slot_names(stem: str) -> _Remembered:
    """By slot; remembered, because a batch names most cells twice."""
    return _Remembered(lambda slot: f"{stem}{slot:x}")
