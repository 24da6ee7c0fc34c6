"""Builds the subscriber kit, `neardup-events`, from the files that neardup-stream itself uses."""

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


def build_kit(target: Path, *, is_isolated: bool = True) -> Path:
    """Build source distribution and wheel into a folder, and return the wheel.

    Args:
        target: where the files go.
        is_isolated: pip fetches the build tools; False takes those that are installed.
    """
    with tempfile.TemporaryDirectory(prefix="neardup-kit-") as directory:
        _stage(Path(directory))
        options = ["--quiet", "--outdir", str(target)] + ([] if is_isolated else ["--no-isolation"])
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
