"""Builds the subscriber kit, `neardup-events`, from the files that neardup-stream itself uses.

`python -m release.kit` builds its wheel alone into `dist/`.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from neardup_stream.version import __version__

__all__ = ["PACKAGE", "build_kit"]

PACKAGE = "neardup_events"
ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "neardup_stream" / "subscriber"


def build_kit(target: Path, *, is_isolated: bool = True, is_wheel_alone: bool = False) -> Path:
    """Build source distribution and wheel into a folder, and return the wheel.

    Args:
        target: where the files go; wheels of the kit that are there are removed.
        is_isolated: pip fetches the build tools; False takes those that are installed.
        is_wheel_alone: leave the source distribution out.
    """
    for old in target.glob(f"{PACKAGE}-*.whl"):
        old.unlink()
    with tempfile.TemporaryDirectory(prefix="neardup-kit-") as directory:
        _stage(Path(directory))
        options = ["--quiet", "--outdir", str(target)] + ([] if is_isolated else ["--no-isolation"])
        options += ["--wheel"] if is_wheel_alone else []
        subprocess.run([sys.executable, "-m", "build", *options, directory], check=True)
    (wheel,) = target.glob(f"{PACKAGE}-*.whl")
    return wheel


def _stage(directory: Path) -> None:
    """Lay out the project that is built."""
    shutil.copytree(SOURCES, directory / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    (directory / PACKAGE / "py.typed").touch()
    for path in (*(ROOT / "release" / "kit").iterdir(), ROOT / "LICENSE"):
        shutil.copy(path, directory)
    (directory / "VERSION").write_text(__version__, encoding="utf-8")


if __name__ == "__main__":
    print(build_kit(ROOT / "dist", is_wheel_alone=True))
