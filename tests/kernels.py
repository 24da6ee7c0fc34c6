"""All compiled kernels; `python -m tests.kernels` compiles those that are not.

In a fresh installation each process that needs one would compile it, for a minute in all.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Final

from neardup_stream.archive.kernels import load_archive_kernel, load_passage_kernel, load_search_kernel
from neardup_stream.fingerprints.simhash import load_kernel
from neardup_stream.stores.arrays.tables import load_tables_kernel
from neardup_stream.text.markup_costs import load_markup_kernel

__all__ = ["KERNELS"]

KERNELS: Final[tuple[Callable[[], ModuleType], ...]] = (
    load_archive_kernel,
    load_kernel,
    load_markup_kernel,
    load_passage_kernel,
    load_search_kernel,
    load_tables_kernel,
)
"""Each loads one, and compiles it if need be."""

if __name__ == "__main__":
    for load in KERNELS:
        load()
