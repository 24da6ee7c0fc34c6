"""What a library does not offer as public API is reached in its `<library>…_compat.py` alone."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.source_files import OURS, SourceFile, source_files

NO_LINT = re.compile(r"noqa:.*\bSLF001\b")
FIRST_AID = "move it to the library's compat file"


def is_compat(path: str) -> bool:
    return path.endswith("_compat.py")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def foreign_imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Module and name of all that is imported from libraries; the name of a whole module is empty."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] not in OURS)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] not in OURS:
            yield from ((node.module, alias.name) for alias in node.names)


def private_imports(tree: ast.Module) -> list[str]:
    return [
        f"{module}.{name}".strip(".")
        for module, name in foreign_imports(tree)
        if any(is_private(part) for part in (*module.split("."), name))
    ]


def foreign_classes(tree: ast.Module) -> list[ast.ClassDef]:
    """Classes that inherit from what a library made, as far as the file shows it."""
    names = {name or module for module, name in foreign_imports(tree)}
    found: list[ast.ClassDef] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(
            isinstance(base, ast.Name) and base.id in names for base in node.bases
        ):
            names.add(node.name)
            found.append(node)
    return found


def own_attributes(tree: ast.Module) -> set[str]:
    """Return names of attributes that classes of this file set, annotate or define."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {each.id for line in node.body for each in ast.walk(line) if isinstance(each, ast.Name)}
    return found


def inherited_accesses(tree: ast.Module) -> list[str]:
    """Private attributes that classes use of themselves, and that no class of the file makes."""
    own = own_attributes(tree)
    return [
        f"{found.name}.{node.attr}"
        for found in foreign_classes(tree)
        for node in ast.walk(found)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        and is_private(node.attr)
        and node.attr not in own
    ]


def outside_compat() -> list[SourceFile]:
    return [each for each in source_files() if not is_compat(each.path)]


def test_each_library_has_at_most_one_compat_file() -> None:
    names = [each.path.rpartition("/")[2] for each in source_files() if is_compat(each.path)]

    assert sorted(names) == sorted(set(names)), names
    assert "aiokafka_compat.py" in names


def test_only_compat_files_import_what_is_private() -> None:
    found = {each.path: names for each in outside_compat() if (names := private_imports(each.tree))}

    assert not found, FIRST_AID


def test_only_compat_files_use_private_attributes_that_they_inherit_from_a_library() -> None:
    found = {each.path: names for each in outside_compat() if (names := inherited_accesses(each.tree))}

    assert not found, FIRST_AID


def test_no_line_asks_ruff_to_let_a_private_access_pass() -> None:
    found = [each.path for each in source_files() if NO_LINT.search(each.text)]

    assert not found, FIRST_AID


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("from aiokafka.record._crecords import codec", ["aiokafka.record._crecords.codec"]),
        ("from aiokafka import _private", ["aiokafka._private"]),
        ("import numba._helper", ["numba._helper"]),
        ("from __future__ import annotations", []),
        ("from neardup_stream import _ours", []),
    ],
)
def test_an_import_of_something_private_is_seen(code: str, names: list[str]) -> None:
    assert private_imports(ast.parse(code)) == names


def test_an_inherited_private_attribute_is_seen() -> None:
    theirs = (
        "from redis import Connection\nclass Ours(Connection):\n    def read(self): return self._writer\n"
    )
    ours = theirs.replace("    def", "    _writer = 1\n    def")

    assert inherited_accesses(ast.parse(theirs)) == ["Ours._writer"]
    assert inherited_accesses(ast.parse(ours)) == []
