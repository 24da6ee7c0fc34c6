"""Make a release: `python -m release` writes the files of `dist/`, each checked.

The source distribution and the wheel are built; the wheel is installed into a fresh environment and used
there, and so is that of the subscriber kit. Beside them come the notes, the requirements with hashes for
this platform and Python, and a bill of materials.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

from neardup_stream.version import __version__
from release.bill import bill_of_materials, components_of, requirements
from release.kit import PACKAGE, build_kit
from release.notes import notes_of

NAME = "neardup-stream"
ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PAGE = json.dumps({"url": "https://example.com/", "text": " ".join(map(str, range(100)))})


def build() -> Path:
    """Build both distributions; the wheel."""
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT)], check=True)
    (wheel,) = DIST.glob("*.whl")
    return wheel


def install(wheel: Path, environment: Path) -> dict[str, Any]:
    """Install the wheel into a fresh environment; pip's report of it."""
    venv.create(environment, with_pip=True)
    report = environment / "report.json"
    pip = [str(environment / "bin" / "pip"), "install", "--quiet", "--report", str(report)]
    subprocess.run([*pip, "--constraint", str(ROOT / "constraints.txt"), str(wheel)], check=True)
    installed: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return installed


def use(environment: Path) -> None:
    """Have the installed program say its version and fingerprint a page, which takes all its parts."""
    program = str(environment / "bin" / NAME)
    version = subprocess.run(
        [program, "--version"], check=True, capture_output=True, text=True, cwd=environment
    )
    printed = subprocess.run(
        [program, "fingerprint"], input=PAGE, check=True, capture_output=True, text=True, cwd=environment
    )
    if __version__ not in version.stdout or json.loads(printed.stdout)["tokens"] != 100:
        raise RuntimeError(f"the installed program answers {version.stdout!r} and {printed.stdout!r}")


def check_kit(wheel: Path, environment: Path) -> None:
    """Install the subscriber kit, which needs nothing from elsewhere, and import it."""
    venv.create(environment, with_pip=True)
    subprocess.run(
        [str(environment / "bin" / "pip"), "install", "--quiet", "--no-index", str(wheel)], check=True
    )
    subprocess.run(
        [str(environment / "bin" / "python"), "-c", f"import {PACKAGE}"], check=True, cwd=environment
    )


def main() -> None:
    """Make everything, or fail."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__.partition("\n")[0])
    parser.add_argument("--section", default=__version__, help="of CHANGELOG.md; the version by default")
    notes = notes_of((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), parser.parse_args().section)
    wheel = build()
    with tempfile.TemporaryDirectory(prefix="neardup-release-") as directory:
        report = install(wheel, Path(directory))
        use(Path(directory))
    with tempfile.TemporaryDirectory(prefix="neardup-release-") as directory:
        check_kit(build_kit(DIST), Path(directory))
    components = components_of(report, NAME)
    (DIST / "NOTES.md").write_text(notes, encoding="utf-8")
    (DIST / "requirements.txt").write_text(requirements(components), encoding="utf-8")
    bill = bill_of_materials(NAME, __version__, components)
    (DIST / "bom.cdx.json").write_text(bill, encoding="utf-8")
    print("\n".join(sorted(str(path.relative_to(ROOT)) for path in DIST.iterdir())))


if __name__ == "__main__":
    main()
