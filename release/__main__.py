"""Make a release: `python -m release` writes the files of `dist/`, or of another folder, each checked.

The source distribution and the wheel are built; the wheel is installed into a fresh environment and used
there, once more with the oldest versions of all that it depends on, and so is that of the subscriber kit.
Beside them come the notes, the requirements with hashes for this platform and Python, and a bill of
materials.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neardup_stream.version import __version__
from release.bill import bill_of_materials, components_of, requirements
from release.kit import PACKAGE, build_kit
from release.minimums import minimum_versions
from release.notes import notes_of

NAME = "neardup-stream"
ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PAGE_TOKENS = 100
PAGE = json.dumps({"url": "https://example.com/", "text": " ".join(map(str, range(PAGE_TOKENS)))})


def build(target: Path) -> Path:
    """Build both distributions into a folder, from which everything else is removed; return the wheel."""
    for old in (target, ROOT / "build"):  # setuptools packs what it finds in build/
        shutil.rmtree(old, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(target), str(ROOT)], check=True)
    (wheel,) = target.glob("*.whl")
    return wheel


def install(wheel: Path, environment: Path, constraints: Path) -> dict[str, Any]:
    """Install the wheel into a fresh environment; pip's report of it."""
    venv.create(environment, with_pip=True)
    report = environment / "report.json"
    pip = [str(environment / "bin" / "pip"), "install", "--quiet", "--report", str(report)]
    _run([*pip, "--constraint", str(constraints), str(wheel)], environment)
    installed: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return installed


def use(environment: Path) -> None:
    """Have the installed program say its version, plan, and fingerprint a page, which takes all its parts."""
    program = str(environment / "bin" / NAME)
    version = _run([program, "--version"], environment)
    _run([program, "plan", "--pages", "1M"], environment)
    printed = _run([program, "fingerprint"], environment, PAGE)
    if __version__ not in version or json.loads(printed)["tokens"] != PAGE_TOKENS:
        raise RuntimeError(f"the installed program answers {version!r} and {printed!r}")


def use_with_oldest(wheel: Path, environment: Path) -> None:
    """Use the wheel with the oldest version of each library that it asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    constraints = environment / "oldest.txt"
    constraints.write_text(minimum_versions(project["dependencies"]), encoding="utf-8")
    install(wheel, environment, constraints)
    use(environment)


def check_kit(wheel: Path, environment: Path) -> None:
    """Install the subscriber kit, which needs nothing from elsewhere, and import it."""
    venv.create(environment, with_pip=True)
    _run([str(environment / "bin" / "pip"), "install", "--quiet", "--no-index", str(wheel)], environment)
    _run([str(environment / "bin" / "python"), "-c", f"import {PACKAGE}"], environment)


def _run(command: Sequence[str], environment: Path, given: str = "") -> str:
    """Run a program of an environment that sees nothing of ours; return what it prints."""
    variables = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    ended = subprocess.run(
        command, input=given, check=True, stdout=subprocess.PIPE, text=True, cwd=environment, env=variables
    )
    return ended.stdout


def main() -> None:
    """Make everything, or fail."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__.partition("\n")[0])
    parser.add_argument("--section", default=__version__, help="of CHANGELOG.md; the version by default")
    parser.add_argument("--into", type=Path, default=DIST, help="folder to write, emptied first")
    arguments = parser.parse_args()
    target: Path = arguments.into
    notes = notes_of((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), arguments.section)
    wheel = build(target)
    with tempfile.TemporaryDirectory(prefix="neardup-release-") as directory:
        report = install(wheel, Path(directory), ROOT / "constraints.txt")
        use(Path(directory))
    with tempfile.TemporaryDirectory(prefix="neardup-release-") as directory:
        use_with_oldest(wheel, Path(directory))
    with tempfile.TemporaryDirectory(prefix="neardup-release-") as directory:
        check_kit(build_kit(target), Path(directory))
    components = components_of(report, NAME)
    (target / "NOTES.md").write_text(notes, encoding="utf-8")
    (target / "requirements.txt").write_text(requirements(components), encoding="utf-8")
    bill = bill_of_materials(NAME, __version__, components)
    (target / "bom.cdx.json").write_text(bill, encoding="utf-8")
    print("\n".join(sorted(str(path) for path in target.iterdir())))


if __name__ == "__main__":
    main()
