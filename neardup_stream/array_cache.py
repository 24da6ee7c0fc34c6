"""Keep arrays that follow from the source code beside the compiled kernels.

An edit of a source, or another Python, makes them anew, as it compiles kernels anew.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from neardup_stream.kernel_cache import cache_name, cache_places

__all__ = ["cached_array"]


def cached_array(
    name: str, sources: Sequence[Path], make: Callable[[], NDArray[np.int32]]
) -> NDArray[np.int32]:
    """Return what `make` returns, read from the cache directory if an earlier process has stored it there.

    Where no directory can be written to, it is made in each process.

    Args:
        name: of the array, unique among those of the same sources.
        sources: every file that the array follows from.
        make: called without arguments.
    """
    files = [place / cache_name(sources) / f"{name}.npy" for place in cache_places()]
    for file in files:
        with suppress(OSError, ValueError, EOFError):  # none yet, or damaged
            found: NDArray[Any] = np.load(file)
            if found.dtype == np.int32:
                return found
    array = make()
    for file in files:
        with suppress(OSError):
            _store(array, file)
            break
    return array


def _store(array: NDArray[np.int32], file: Path) -> None:
    """Write beside the file and rename: another process may read it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f"{file.name}.{uuid4().hex}")
    try:
        with beside.open("xb") as written:
            np.save(written, array)
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)
