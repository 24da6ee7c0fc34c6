"""Report where temporary files cannot be kept, and the remedy."""

import tempfile
from pathlib import Path

from neardup_stream.errors import StreamUnavailable

__all__ = ["temporary_files_unavailable"]


def temporary_files_unavailable(
    error: OSError, setting: str = "TMPDIR", directory: Path | None = None
) -> StreamUnavailable:
    """Return what is raised in the place of an error of the operating system about temporary files.

    Args:
        error: of the operating system.
        setting: the environment variable that names another directory for them.
        directory: that was tried; None for the usual one.
    """
    tried = directory or tempfile.tempdir
    place, room = (f" in {tried}", "make room there, or ") if tried else ("", "")
    return StreamUnavailable(
        f"cannot keep temporary files{place}: {error.strerror or error};"
        f" {room}set {setting} to a directory with room",
        "disk",
    )
