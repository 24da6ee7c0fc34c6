"""Bound what a row of Parquet becomes in memory, before it is made: lists hold repeated values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_bytes", "value_bytes"]

_ITEM_BYTES = 2
"""What an item of a list takes at least as JSON, with its comma."""


def value_bytes(column: Any) -> NDArray[np.int64]:
    """Return the least bytes of the JSON of each value: those of its strings, bytes and list items."""
    from pyarrow import compute, types  # noqa: PLC0415 - an extra

    kind = column.type
    if types.is_dictionary(kind) and is_bytes(types, kind.value_type):
        lengths = compute.take(compute.binary_length(column.dictionary), column.indices)
    elif is_bytes(types, kind):
        lengths = compute.binary_length(column)
    elif types.is_struct(kind):
        return sum(map(value_bytes, column.flatten()), np.zeros(len(column), np.int64))
    elif types.is_map(kind):
        return _sums(column, value_bytes(column.keys) + value_bytes(column.items))
    elif types.is_fixed_size_list(kind) and kind.list_size:
        of_lists = value_bytes(column.values).reshape(-1, kind.list_size).sum(axis=1, dtype=np.int64)
        own: NDArray[np.int64] = of_lists[column.offset : column.offset + len(column)]
        filled: NDArray[np.int64] = (own + kind.list_size * _ITEM_BYTES) * _are_valid(column)
        return filled
    elif types.is_list(kind) or types.is_large_list(kind):
        return _sums(column, value_bytes(column.values))
    else:
        return np.zeros(len(column), np.int64)
    sizes: NDArray[np.int64] = compute.fill_null(lengths, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return sizes


def is_bytes(types: Any, kind: Any) -> bool:
    """Return whether values of a type are strings or bytes."""
    return any(
        is_kind(kind)
        for is_kind in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    )


def _sums(column: Any, items: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bytes of lists, given those of all their items."""
    ends = np.concatenate([[0], np.cumsum(items + _ITEM_BYTES)])
    offsets = column.offsets.to_numpy()
    sums: NDArray[np.int64] = ends[offsets[1:]] - ends[offsets[:-1]]
    return sums * _are_valid(column)


def _are_valid(column: Any) -> NDArray[np.bool_]:
    are_valid: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return are_valid
