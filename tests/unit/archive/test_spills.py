"""Temporary files of a build: what does not fit is reported as a full disk."""

from pathlib import Path

import pytest

from neardup_stream.archive.spills import SortedRows, SpilledColumn
from neardup_stream.errors import StreamUnavailable
from tests.file_sizes import largest_file

LIMIT_BYTES = 4096


def test_a_full_disk_is_reported_with_the_place_and_the_remedy(tmp_path: Path) -> None:
    with SortedRows(tmp_path, memory_bytes=1) as rows, largest_file(LIMIT_BYTES):
        rows.add(b"fits", bytes(LIMIT_BYTES // 2))
        with pytest.raises(StreamUnavailable, match=f"{tmp_path}.*make room there"):
            rows.add(b"does not", bytes(LIMIT_BYTES))


def test_temporary_files_have_no_name(tmp_path: Path) -> None:
    with SpilledColumn(tmp_path) as column:
        column.write(b"x" * LIMIT_BYTES)

        assert b"".join(column.chunks(64)) == b"x" * LIMIT_BYTES
        assert list(tmp_path.iterdir()) == []
