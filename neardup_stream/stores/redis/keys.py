"""Every key the system writes to Redis, and where a cluster places it.

    <namespace>:meta                                      hash: schema, handle key
    <namespace>:<schema>:{<tag>}:t<table>:<leading><bucket>   one bucket of one table, see `redis_tables`
    <namespace>:<schema>:{<tag>}:p<slot>                  hash: handle → page record
    <namespace>:<schema>:{<tag>}:f<site>                  string: frame table of a site

A shard is the unit of placement: the leading bits of a leading byte, or of a handle. Its tag is chosen so
that the shards' slots lie evenly over a cluster's 16,384.
"""

from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from itertools import count

import numpy as np
from numpy.typing import NDArray
from redis.crc import key_slot

from neardup_stream.errors import InvariantBroken

__all__ = ["MAX_SHARD_BITS", "Keys", "meta_key", "shard_tag"]

MAX_SHARD_BITS = 8
"""A shard is made of bits of one leading byte."""

_SLOTS = 16384

_HEX_DIGITS = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)

_MAX_SUFFIXES = 1 << 16
"""Remembered names of buckets: all of them up to some 10**9 pages."""


@lru_cache(maxsize=1 << MAX_SHARD_BITS)
def shard_tag(shard: int, shard_count: int) -> str:
    """The hash tag of a shard: its number and the first suffix that lands in the shard's share of the slots.

    >>> shard_tag(3, 16) == shard_tag(3, 16)
    True
    """
    share = _SLOTS // shard_count
    return next(
        tag for suffix in count() if key_slot((tag := f"{shard:x}.{suffix:x}").encode()) // share == shard
    )


def meta_key(namespace: str) -> str:
    """The one key that says what is stored under a namespace."""
    return f"{namespace}:meta"


class Keys:
    """Makes keys of one namespace and schema.

    Args:
        namespace: what the operator calls this index; one Redis may hold several.
        schema_id: short name of everything that changes stored bytes.
        shard_bits: log2 of the number of shards, 0 to 8.
        table_count: how many permuted tables there are.
        bucket_bits: most bits of a bucket number of any table, which follow the leading byte.
        slot_bits: log2 of the number of record hashes in a shard.
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
    ) -> None:
        self._prefix = f"{namespace}:{schema_id}"
        self._shard_bits = shard_bits
        self._table_count = table_count
        self._bucket_digits = -(-bucket_bits // 4)
        self._slot_bits = slot_bits
        self._slot_digits = max(1, -(-slot_bits // 4))

    @property
    def shard_count(self) -> int:
        """How many shards there are."""
        return 1 << self._shard_bits

    def shard_of_leading_byte(self, leading_byte: int) -> int:
        """The shard whose table entries start with this byte."""
        return leading_byte >> (8 - self._shard_bits)

    def shard_of_handle(self, handle: int) -> int:
        """The shard that keeps this page's record."""
        return handle >> (64 - self._shard_bits)

    def buckets(
        self, tables: Iterable[int], leading_bytes: Iterable[int], numbers: Iterable[int]
    ) -> list[str]:
        """Where some buckets are, given by their tables, leading bytes and numbers.

        Cost: 0.1 µs each.
        """
        stems = self._bucket_stems
        return [
            stems[table << 8 | leading_byte] + suffix
            for table, leading_byte, suffix in zip(
                tables, leading_bytes, map(self._bucket_suffix, numbers), strict=True
            )
        ]

    def packed_buckets(
        self, tables: NDArray[np.uint8], leading_bytes: NDArray[np.uint8], numbers: NDArray[np.uint32]
    ) -> NDArray[np.uint8]:
        """The same as one row of bytes for each: the size of the name, zeros, and the name at the end.

        Cost: 0.02 µs each.
        """
        if numbers.size and int(numbers.max()) >> 4 * self._bucket_digits:
            raise InvariantBroken(f"a bucket has more than {self._bucket_digits} hexadecimal digits")
        packed: NDArray[np.uint8] = self._packed_stems[tables.astype(np.intp) << 8 | leading_bytes]
        for digit in range(self._bucket_digits):
            packed[:, -1 - digit] = _HEX_DIGITS[numbers >> np.uint32(4 * digit) & np.uint32(15)]
        return packed

    @property
    def slot_count(self) -> int:
        """How many hashes of page records there are, in all shards."""
        return 1 << self._shard_bits + self._slot_bits

    def record(self, handle: int) -> str:
        """The hash that keeps a page's record."""
        return self.record_slot(self.slot_of_handle(handle))

    def slot_of_handle(self, handle: int) -> int:
        """The number of that hash, counted through all shards."""
        return handle >> (64 - self._shard_bits - self._slot_bits)

    def record_slot(self, slot: int) -> str:
        """One hash of page records; `slot` counts through all shards, from 0."""
        stem, number = self._record_stems[slot >> self._slot_bits], slot & ((1 << self._slot_bits) - 1)
        return f"{stem}{number:0{self._slot_digits}x}"

    def record_slots(self, slots: range) -> list[str]:
        """Some hashes of page records, all of one shard.

        Cost: 0.15 µs each; an index for 20 million pages has half a million.
        """
        mask = (1 << self._slot_bits) - 1
        stem, first = self._record_stems[slots.start >> self._slot_bits], slots.start & mask
        return [f"{stem}{number:0{self._slot_digits}x}" for number in range(first, first + len(slots))]

    def frame_table(self, site: int) -> str:
        """The frame table of a site, by the keyed hash of its name; the site's shard is that of its hash."""
        return f"{self._record_stems[self.shard_of_handle(site)][:-1]}f{site:016x}"

    @cached_property
    def _bucket_suffix(self) -> Callable[[int], str]:
        """By bucket; remembered, because formatting a number costs ten times as much as looking it up."""
        digits = self._bucket_digits

        @lru_cache(maxsize=_MAX_SUFFIXES)
        def suffix(bucket: int) -> str:
            return f"{bucket:0{digits}x}" if digits else ""

        return suffix

    @cached_property
    def _bucket_stems(self) -> list[str]:
        """By table and leading byte; made once, because every probe wants one."""
        stems = [
            f"{self._prefix}:{{{shard_tag(self.shard_of_leading_byte(leading), self.shard_count)}}}"
            for leading in range(256)
        ]
        return [
            f"{stems[leading]}:t{table}:{leading:02x}"
            for table in range(self._table_count)
            for leading in range(256)
        ]

    @cached_property
    def _packed_stems(self) -> NDArray[np.uint8]:
        """The same in rows of bytes, as `packed_buckets` returns them, with zeros for the bucket."""
        names = [stem.encode() + bytes(self._bucket_digits) for stem in self._bucket_stems]
        width = max(map(len, names))
        rows = b"".join(bytes([len(name)]) + name.rjust(width, b"\0") for name in names)
        return np.frombuffer(rows, dtype=np.uint8).reshape(len(names), 1 + width)

    @cached_property
    def _record_stems(self) -> list[str]:
        return [
            f"{self._prefix}:{{{shard_tag(shard, self.shard_count)}}}:p" for shard in range(self.shard_count)
        ]
