"""Encode and decode blocks of the document log: URL, id and time of 64 consecutive pages. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from neardup_stream.archive.kernels import load_archive_kernel
from neardup_stream.archive.leb128 import NumberReader
from neardup_stream.archive.surt import surt_key, url_of_key
from neardup_stream.errors import CorruptData

__all__ = ["BLOCK_PAGES", "LoggedPage", "is_url", "log_key", "pack_block", "unpack_block"]

BLOCK_PAGES: Final = 64
"""Pages to a block: more compress better, and take longer to read one of."""

_SAME, _OTHER_URL, _OTHER_ID = range(3)
_MOST_HEADER_NUMBERS, _MOST_PAGE_NUMBERS, _MOST_NUMBER_BYTES = 3, 4, 10


class LoggedPage(NamedTuple):
    """What the log says of a page.

    Attributes:
        id: identity across re-crawls.
        url: as crawled.
        fetched_ms: epoch milliseconds, from 0.
    """

    id: str
    url: str
    fetched_ms: int


def log_key(page: LoggedPage) -> bytes:
    """Return the sort key of a page in the log: its id if that is a URL, else its URL."""
    return surt_key(page.id if is_url(page.id) else page.url)


def pack_block(pages: Sequence[LoggedPage], keys: Sequence[bytes]) -> bytes:
    """Return the bytes of a block, not yet compressed.

    Args:
        pages: up to BLOCK_PAGES, in the order of their keys.
        keys: `log_key` of each.

    Raises:
        ValueError: a page was fetched before 1970.
    Cost: 1 µs a page.
    """
    kinds, others = _others(pages)
    joined, others_joined = b"".join(keys), b"".join(others)
    numbers = _MOST_HEADER_NUMBERS + _MOST_PAGE_NUMBERS * len(pages)
    out = np.empty(_MOST_NUMBER_BYTES * numbers + len(pages) + len(joined) + len(others_joined), np.uint8)
    size = load_archive_kernel().pack_block(
        np.frombuffer(joined, np.uint8),
        np.array([len(key) for key in keys], np.int64),
        np.array([page.fetched_ms for page in pages], np.int64),
        np.frombuffer(bytes(kinds), np.uint8),
        np.frombuffer(others_joined, np.uint8),
        np.array([len(other) for other in others], np.int64),
        out,
    )
    return out[:size].tobytes()


def unpack_block(data: bytes, name: str) -> list[LoggedPage]:
    """Read what `pack_block` wrote; `name` says where it stands, for messages.

    Raises:
        CorruptData: these bytes were not written by `pack_block`.

    Cost: 2 µs a page.
    """
    reader = NumberReader(data, name)
    count = reader.number()
    if count > BLOCK_PAGES:
        raise CorruptData(f"{name} states {count} pages, at most {BLOCK_PAGES} are possible")
    shared, lengths = reader.numbers(count), reader.numbers(count)
    keys, former = [], b""
    for common, length in zip(shared, lengths, strict=True):
        former = former[:common] + reader.take(length)
        keys.append(former)
    unit, base = reader.number(), reader.number()
    times = [base + unit * number for number in reader.numbers(count)]
    kinds = reader.take(count)
    lengths = reader.numbers(sum(kind != _SAME for kind in kinds))
    others = iter([reader.take(length) for length in lengths])
    try:
        return list(_pages(keys, times, kinds, others))
    except UnicodeDecodeError as error:
        raise CorruptData(f"{name} holds a page that is not UTF-8: {error}") from error


def _others(pages: Sequence[LoggedPage]) -> tuple[list[int], list[bytes]]:
    kinds, others = [], []
    for page in pages:
        if page.id == page.url:
            kinds.append(_SAME)
        elif is_url(page.id):
            kinds.append(_OTHER_URL)
            others.append(page.url.encode("utf-8", "surrogatepass"))
        else:
            kinds.append(_OTHER_ID)
            others.append(page.id.encode("utf-8", "surrogatepass"))
    return kinds, others


def _pages(
    keys: Sequence[bytes], times: Sequence[int], kinds: bytes, others: Iterator[bytes]
) -> Iterator[LoggedPage]:
    for key, time, kind in zip(keys, times, kinds, strict=True):
        named = url_of_key(key)
        if kind == _SAME:
            yield LoggedPage(named, named, time)
        else:
            other = next(others).decode("utf-8", "surrogatepass")
            yield LoggedPage(*((named, other) if kind == _OTHER_URL else (other, named)), time)


def is_url(page_id: str) -> bool:
    """Return whether an id is a URL: then the page stands in the log by its id, else by its own URL."""
    return page_id.startswith(("http://", "https://"))
