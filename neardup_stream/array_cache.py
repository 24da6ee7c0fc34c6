"""Keep arrays that follow from the source code beside the compiled kernels.

An edit of a source, or another Python, makes them anew, as it compiles kernels anew.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from neardup_stream.kernel_cache import cache_name, cache_places, read_only_places

__all__ = ["cached_array"]

_DIGEST_BYTES: Final = 16
"""A file begins with the digest of what follows: whatever damaged it, it is made anew."""


def cached_array(
    name: str, sources: Sequence[Path], make: Callable[[], NDArray[np.int32]]
) -> NDArray[np.int32]:
    """Return what `make` returns, read from the cache directory if an earlier process has stored it there.

    Where no directory can be written to, it is made in each process.

    Args:
        name: of the array, unique among those of the same sources.
        sources: every file that the array follows from.
        make: called without arguments; returns one dimension.
    """
    file = Path(cache_name(sources), f"{name}.int32")
    for place in (*cache_places(), *read_only_places()):
        with suppress(OSError):
            content = (place / file).read_bytes()
            if content[:_DIGEST_BYTES] == _digest(content[_DIGEST_BYTES:]):
                return np.frombuffer(content, np.int32, offset=_DIGEST_BYTES)
    array = make()
    for place in cache_places():
        with suppress(OSError):
            _store(array.tobytes(), place / file)
            break
    return array


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST_BYTES).digest()


def _store(content: bytes, file: Path) -> None:
    """Write beside the file and rename: another process may read it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f"{file.name}.{uuid4().hex}")
    try:
        beside.write_bytes(_digest(content) + content)
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)
