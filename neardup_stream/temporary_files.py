"""Report where temporary files cannot be kept, and the remedy."""

import tempfile

from neardup_stream.errors import StreamUnavailable

__all__ = ["temporary_files_unavailable"]


def temporary_files_unavailable(error: OSError, setting: str = "TMPDIR") -> StreamUnavailable:
    """Return what is raised in the place of an error of the operating system about temporary files.

    Args:
        error: of the operating system.
        setting: the environment variable that names another directory for them.
    """
    place, room = (f" in {tempfile.tempdir}", "make room there, or ") if tempfile.tempdir else ("", "")
    return StreamUnavailable(
        f"cannot keep temporary files{place}: {error.strerror or error};"
        f" {room}set {setting} to a directory with room",
        "disk",
    )
