"""What all compiled kernels have in common."""

import inspect
from collections.abc import Callable
from types import ModuleType

import pytest
from numba.core.registry import CPUDispatcher

from tests.kernels import KERNELS


@pytest.mark.parametrize("load", KERNELS)
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
