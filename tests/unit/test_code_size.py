"""Files, also of tests, are short unless they say why; functions are small, and none has many parameters.

`pytest -s tests/unit/test_code_size.py` prints what is counted.
"""

import ast
import re
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

import pytest

from tests.source_files import SourceFile, source_files

LONGEST_FILE = 350
MOST_PARAMETERS = 8
LONGEST_MEDIAN, LONGEST_TENTH = 8, 20
STATED = re.compile(r"More than 350 lines, because \w+")
COMPILED = re.compile(r"(?<![a-z])(n?jit|compiled|inlined|entry)(?![a-z])")
CODE = ("neardup_stream", "daemon", "benchmarks", "monitoring", "release")


class Function(NamedTuple):
    """A function of a file, with its docstring left out of its lines."""

    place: str
    line_count: int
    parameter_count: int
    is_compiled: bool


def functions(file: SourceFile) -> Iterator[Function]:
    for node in ast.walk(file.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Function(
                f"{file.path}:{node.lineno} {node.name}",
                _end(node) - node.lineno + 1 - _docstring_lines(node),
                _parameter_count(node.args),
                any(COMPILED.search(ast.unparse(each).lower()) for each in node.decorator_list),
            )


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    return 0 if ast.get_docstring(node) is None else _end(first) - first.lineno + 1


def _parameter_count(arguments: ast.arguments) -> int:
    named = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    own = named[1:] if named[:1] in (["self"], ["cls"]) else named
    return len(own) + (arguments.vararg is not None) + (arguments.kwarg is not None)


@pytest.fixture(scope="module")
def every_function() -> list[Function]:
    return [function for file in source_files(CODE) for function in functions(file)]


def test_a_long_file_says_at_its_top_why() -> None:
    files = source_files((*CODE, "tests"))
    long = [file for file in files if file.line_count > LONGEST_FILE]
    unexplained = {
        file.path: file.line_count
        for file in long
        if not STATED.search(" ".join((ast.get_docstring(file.tree) or "").split()))
    }

    print(f"{len(files)} files, {sum(file.line_count for file in files):,} lines, {len(long)} of them long")  # noqa: T201
    assert not unexplained


def test_no_function_outside_compiled_code_has_many_parameters(every_function: list[Function]) -> None:
    many = {
        each.place: each.parameter_count
        for each in every_function
        if each.parameter_count > MOST_PARAMETERS and not each.is_compiled
    }

    print(f"{sum(each.is_compiled for each in every_function)} compiled functions")  # noqa: T201
    assert not many


def test_functions_are_small(every_function: list[Function]) -> None:
    lines = sorted(each.line_count for each in every_function)
    middle, tenth = median(lines), lines[len(lines) * 9 // 10]

    print(f"{len(lines)} functions: median {middle:g} lines, one in ten above {tenth}")  # noqa: T201
    assert middle <= LONGEST_MEDIAN
    assert tenth <= LONGEST_TENTH
