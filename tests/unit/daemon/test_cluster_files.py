"""Clusters in files: what is read is what was written, or the writing has failed."""

import os
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from neardup_daemon.cluster_files import ClusterRow, cluster_output

from neardup_stream.errors import StreamUnavailable

ROWS = [ClusterRow(f"c{n}", f"r{n}", [f"https://a.example/{n}/{k}" for k in range(9)]) for n in range(600)]


async def write(path: Path) -> None:
    async with cluster_output(str(path)) as output:
        for start in range(0, len(ROWS), 256):
            await output.write(ROWS[start : start + 256])


async def write_and_fail(path: Path) -> None:
    async with cluster_output(str(path)) as output:
        await output.write(ROWS)
        raise ValueError("of something else")


@contextmanager
def limited_files(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_file_is_complete(tmp_path: Path) -> None:
    await write(tmp_path / "c.parquet")

    assert pq.read_table(tmp_path / "c.parquet").column("representative").to_pylist() == [
        row.representative for row in ROWS
    ]


async def test_a_named_pipe_gets_what_a_file_gets(tmp_path: Path) -> None:
    file, pipe = tmp_path / "c.parquet", tmp_path / "pipe.parquet"
    os.mkfifo(pipe)

    with ThreadPoolExecutor(1) as thread:
        read = thread.submit(pipe.read_bytes)
        await write(pipe)
    await write(file)

    assert read.result() == file.read_bytes()
    assert pq.read_table(pa.BufferReader(read.result())).num_rows == len(ROWS)


@pytest.mark.parametrize("missing", [1, 8, 20_000])
async def test_a_file_that_may_not_grow_to_its_end_is_not_given_its_name(
    tmp_path: Path, missing: int
) -> None:
    whole, cut = tmp_path / "whole.parquet", tmp_path / "cut.parquet"
    await write(whole)

    with (
        limited_files(whole.stat().st_size - missing),
        pytest.raises(StreamUnavailable, match=r"cannot write .*cut\.parquet: File too large"),
    ):
        await write(cut)

    assert not cut.exists()


async def test_clusters_that_were_written_before_an_error_can_be_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="of something else"):
        await write_and_fail(tmp_path / "c.parquet")

    assert pq.read_table(tmp_path).num_rows == len(ROWS)  # of the one file there


async def test_an_open_file_gets_lines_where_it_is(tmp_path: Path) -> None:
    place = tmp_path / "all"
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT)
    async with cluster_output(f"/dev/fd/{descriptor}") as output:
        await output.write(ROWS[:2])
    os.close(descriptor)

    assert place.read_bytes().startswith(b'{"cluster_id":"c0"')
