"""What installing puts into an environment: two packages and a program, and no module named `daemon`."""

import subprocess
import venv
from pathlib import Path

import pytest

from neardup_stream.version import __version__

ROOT = Path(__file__).parents[2]

OWNERS = """
from importlib.metadata import packages_distributions
owners = packages_distributions()
print(owners["daemon"], sorted(name for name in owners if "neardup-stream" in owners[name]))
"""

REMAINS = """
from importlib.util import find_spec
from pathlib import Path
import neardup_stream
daemon = find_spec("neardup_daemon.cli")
page = Path(daemon.origin).with_name("query_api") / "web" / "index.html"
print(find_spec("daemon"), daemon.name, page.is_file(), neardup_stream.__version__)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with this project and python-daemon, which owns the module `daemon`."""
    folder = tmp_path_factory.mktemp("installed")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        copied = folder / "source" / name
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_bytes((ROOT / name).read_bytes())
    venv.create(folder / "venv", with_pip=True)
    pip = [str(folder / "venv/bin/pip"), "install", "--quiet", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([*pip, str(folder / "source"), "python-daemon>=3.1,<4"], check=True)
    return folder / "venv"


def in_environment(environment: Path, *arguments: str) -> str:
    """Run its Python, without this checkout on the path."""
    return subprocess.run(
        [str(environment / "bin/python"), "-I", *arguments], check=True, capture_output=True, text=True
    ).stdout


def test_neither_the_project_nor_python_daemon_touches_the_other(environment: Path) -> None:
    assert (
        in_environment(environment, "-c", OWNERS)
        == "['python-daemon'] ['neardup_daemon', 'neardup_stream']\n"
    )

    in_environment(environment, "-m", "pip", "uninstall", "--quiet", "--yes", "python-daemon")

    assert in_environment(environment, "-c", REMAINS) == f"None neardup_daemon.cli True {__version__}\n"
