"""What all compiled kernels have in common."""

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from numba.core.registry import CPUDispatcher

import neardup_stream
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


def definitions(name: str) -> Iterator[str]:
    """Yield what the files of kernels define under a name, private or not, without docstrings."""
    for path in sorted(Path(neardup_stream.__file__).parent.rglob("*kernel*.py")):
        for statement in ast.parse(path.read_text()).body:
            if isinstance(statement, ast.FunctionDef) and statement.name.strip("_") == name:
                body = statement.body[ast.get_docstring(statement) is not None :]
                yield "\n".join(map(ast.unparse, (statement.args, *body)))
            elif isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]).strip("_") == name:
                yield ast.unparse(statement.value)


@pytest.mark.parametrize(
    ("name", "count"), [("mix", 4), ("MIX1", 4), ("MIX2", 4), ("rotate", 2), ("inlined", 3), ("compiled", 3)]
)
def test_what_several_kernels_have_a_copy_of_is_the_same_in_each(name: str, count: int) -> None:
    """No file belongs to kernels of several packages: the compiler's cache would not detect its changes."""
    copies = list(definitions(name))

    assert len(copies) == count
    assert len(set(copies)) == 1
