"""Temporary files of a build: what does not fit is reported as a full disk."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from neardup_stream.archive.spills import SortedRows, SpilledColumn
from neardup_stream.errors import StreamUnavailable

LIMIT_BYTES = 4096


@contextmanager
def small_files() -> Iterator[None]:
    """No file of this process may grow beyond LIMIT_BYTES."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_reported_with_the_place_and_the_remedy(tmp_path: Path) -> None:
    with SortedRows(tmp_path, memory_bytes=1) as rows, small_files():
        rows.add(b"fits", bytes(LIMIT_BYTES // 2))
        with pytest.raises(StreamUnavailable, match=f"{tmp_path}.*make room there"):
            rows.add(b"does not", bytes(LIMIT_BYTES))


def test_temporary_files_have_no_name(tmp_path: Path) -> None:
    with SpilledColumn(tmp_path) as column:
        column.write(b"x" * LIMIT_BYTES)

        assert b"".join(column.chunks(64)) == b"x" * LIMIT_BYTES
        assert list(tmp_path.iterdir()) == []
