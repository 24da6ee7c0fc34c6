"""The floors of the architecture page, the contract of imports and the table of folders are complete."""

import re
import subprocess
import tomllib
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULE = re.compile(r"[a-z_]+")


def floors_of_the_contract() -> list[set[str]]:
    """Return the modules of each layer, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each.get("containers") == ["neardup_stream"])
    return [set(MODULE.findall(layer)) for layer in layers]


def modules() -> set[str]:
    package = ROOT / "neardup_stream"
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    return folders | {path.stem for path in package.glob("*.py") if path.stem != "__init__"}


def floors_of_the_docs() -> list[set[str]]:
    """Return the words of each floor that name modules, the highest floor first."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    picture = page.split("```")[1]
    names = modules()
    return [set(MODULE.findall(floor)) & names for floor in re.split(r"floor \d", picture)[2:]]


def test_every_module_stands_on_a_floor_of_the_docs() -> None:
    assert set().union(*floors_of_the_docs()) == modules()


def test_the_floors_of_the_docs_have_the_order_of_the_contract() -> None:
    level = {name: number for number, layer in enumerate(floors_of_the_contract()) for name in layer}
    floors = [[level[name] for name in floor] for floor in floors_of_the_docs()]

    assert all(max(upper) < min(lower) for upper, lower in pairwise(floors)), floors


def test_every_folder_of_code_has_a_row_in_the_readme() -> None:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [Path(name) for name in listed.stdout.splitlines()]
    folders = {path.parts[0] for path in paths} - {"neardup_stream"}
    packages = {
        "/".join(path.parts[:2]) for path in paths if path.parts[0] == "neardup_stream" and path.parts[2:]
    }
    rows = (ROOT / "README.md").read_text(encoding="utf-8")

    assert [name for name in sorted(folders | packages) if f"| `{name}/`" not in rows] == []
