"""Report where temporary files cannot be kept, and the remedy."""

import tempfile

from neardup_stream.errors import StreamUnavailable

__all__ = ["temporary_files_unavailable"]


def temporary_files_unavailable(error: OSError) -> StreamUnavailable:
    """Return what is raised in the place of an error of the operating system about temporary files."""
    place = f" in {tempfile.tempdir}" if tempfile.tempdir else ""
    return StreamUnavailable(
        f"cannot keep temporary files{place}: {error.strerror or error};"
        " make room there, or set TMPDIR to a directory with room",
        "disk",
    )
