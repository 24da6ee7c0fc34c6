"""What all compiled kernels have in common."""

import inspect
from collections.abc import Callable
from types import ModuleType

import pytest
from numba.core.registry import CPUDispatcher

from neardup_stream.archive.kernels import load_archive_kernel, load_search_kernel
from neardup_stream.archive.passage_lists import load_passage_kernel
from neardup_stream.fingerprints.simhash import load_kernel
from neardup_stream.stores.arrays.tables import load_tables_kernel
from neardup_stream.text.markup_costs import load_markup_kernel


@pytest.mark.parametrize(
    "load",
    [
        load_archive_kernel,
        load_kernel,
        load_markup_kernel,
        load_passage_kernel,
        load_search_kernel,
        load_tables_kernel,
    ],
)
def test_what_python_calls_of_a_kernel_is_compiled_for_declared_types_only(
    load: Callable[[], ModuleType],
) -> None:
    """Else its first call compiles it, or loads it with all that compiles."""
    functions = [each for each in vars(load()).values() if isinstance(each, CPUDispatcher)]
    called = [each for each in functions if each.stats.cache_path]

    assert called
    for each in called:
        with pytest.raises(TypeError, match="No matching definition"):
            each(*[None] * len(inspect.signature(each.py_func).parameters))
