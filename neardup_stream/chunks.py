"""Split an iterable into chunks of bounded size."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

__all__ = ["in_chunks"]

_T = TypeVar("_T")


def in_chunks(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """Yield all items in order, in lists of `size`; the last list may be shorter, none is empty."""
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk
