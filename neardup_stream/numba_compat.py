"""Load what Numba has compiled without what it compiles with.

Before Numba loads a function from its cache, it imports and registers everything that it could compile: some
60 modules, which take more than half of the time that a kernel takes to load. Machine code needs only the
runtime that owns the memory of arrays. Numba registers all of it before it compiles anything, so a function
that its cache lacks is compiled as ever.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["loading_machine_code"]


@contextmanager
def loading_machine_code() -> Iterator[None]:
    """Within the block, Numba loads functions from its cache without the registries of its compiler.

    Numba is imported here, so it must have its cache directory. One block at a time.
    """
    from numba.core.caching import Cache  # noqa: PLC0415 - its settings are made first
    from numba.core.runtime.nrt import rtsys  # noqa: PLC0415 - the same

    def load_overload(cache: Any, signature: Any, context: Any) -> Any:
        rtsys.initialize(context)
        with cache._guard_against_spurious_io_errors():
            return cache._load_overload(signature, context)

    with_registries = Cache.load_overload
    Cache.load_overload = load_overload  # type: ignore[method-assign]
    try:
        yield
    finally:
        Cache.load_overload = with_registries  # type: ignore[method-assign]
