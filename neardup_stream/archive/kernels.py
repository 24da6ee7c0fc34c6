"""Load the compiled kernels of archives, with their cache directory set before the compiler is imported."""

import functools
from pathlib import Path
from types import ModuleType

from neardup_stream.kernel_cache import load_compiled

__all__ = ["load_archive_kernel", "load_passage_kernel", "load_search_kernel"]


_SOURCES = (
    "kernel.py",
    "kernel_keys.py",
    "kernel_log.py",
    "kernel_numbers.py",
    "kernel_pages.py",
    "kernel_perfect.py",
    "kernel_posts.py",
    "kernel_rows.py",
    "units.py",
)
_PASSAGE_SOURCES = ("kernel_passages.py", "kernel_pages.py", "units.py")
_SEARCH_SOURCES = ("kernel_search.py", "kernel_pages.py", "units.py")


@functools.cache
def load_archive_kernel() -> ModuleType:
    """Return the kernel's module. The first call of a process takes 0.1 s, or 5 s to compile it."""
    sources = [Path(__file__).with_name(name) for name in _SOURCES]
    return load_compiled("archive", "neardup_stream.archive.kernel", sources)


@functools.cache
def load_passage_kernel() -> ModuleType:
    """Return the passage kernel's module, once the archive kernel is loaded, in the same time."""
    load_archive_kernel()  # what both are made of is kept with the first that is loaded
    sources = [Path(__file__).with_name(name) for name in _PASSAGE_SOURCES]
    return load_compiled("passages", "neardup_stream.archive.kernel_passages", sources)


@functools.cache
def load_search_kernel() -> ModuleType:
    """Return the search kernel's module, once the archive kernel is loaded; 3 s to compile it."""
    load_archive_kernel()  # what both are made of is kept with the first that is loaded
    sources = [Path(__file__).with_name(name) for name in _SEARCH_SOURCES]
    return load_compiled("search", "neardup_stream.archive.kernel_search", sources)
