"""The chunks of files and pipes: large where the bytes are there, at once where they come slowly."""

import asyncio
import gzip
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from backports import zstd

from neardup_stream.errors import CorruptData
from neardup_stream.streams.files.digests import LateDigests
from neardup_stream.streams.files.inputs import CHUNK_BYTES, open_input

MEMBERS = [Random(number).randbytes(1000) * 100 for number in range(int(2.5 * CHUNK_BYTES) // 100_000)]
CONTENT = b"".join(MEMBERS)


def chunks(path: Path) -> list[bytes]:
    with open_input(str(path), Counter()) as opened:
        return list(opened.chunks)


def until_damage(chunks: Iterator[bytes]) -> list[bytes]:
    """Return what comes before the error that must come."""
    good = []
    try:
        for chunk in chunks:
            good.append(chunk)  # noqa: PERF402 - the chunks before an error
    except CorruptData:
        return good
    pytest.fail("no damage was found")


@pytest.mark.parametrize(
    ("name", "compressed"),
    [
        pytest.param("p.jsonl", CONTENT, id="not-compressed"),
        pytest.param("p.jsonl.gz", gzip.compress(CONTENT, 1), id="gzip"),
        pytest.param("p.jsonl.gz", b"".join(gzip.compress(each, 1) for each in MEMBERS), id="many-members"),
        pytest.param("p.jsonl.zst", zstd.compress(CONTENT), id="zstd"),
    ],
)
def test_a_file_comes_in_few_chunks_whatever_its_compression(
    tmp_path: Path, name: str, compressed: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(compressed)

    came = chunks(path)

    assert b"".join(came) == CONTENT
    assert len(came) in {2, 3}  # by Python's version
    assert all(len(chunk) < 2 * CHUNK_BYTES for chunk in came)


@pytest.mark.parametrize("content", [b"", b"{}\n", CONTENT], ids=["empty", "one line", "many chunks"])
def test_a_digest_computed_beside_reading_is_the_one_computed_before(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(content)
    with open_input(str(path), Counter()) as opened:
        before = opened.partition.input_id

    with LateDigests() as digests:
        for _ in range(2):
            with open_input(str(path), Counter(), identify=digests.identify) as opened:
                beside = opened.partition.input_id
                assert b"".join(opened.chunks) == content

        assert digests.settled_ids() == {beside: before}


def test_digests_that_are_left_early_are_not_waited_for_and_keep_no_file_open(tmp_path: Path) -> None:
    paths = [tmp_path / "endless.jsonl", tmp_path / "never-begun.jsonl"]
    for path in paths:
        with path.open("wb") as file:
            file.truncate(1 << 40)  # takes no room, and half an hour to digest

    with LateDigests() as digests:
        for path in paths:
            with open_input(str(path), Counter(), identify=digests.identify) as opened:
                next(opened.chunks)

    opened_files = {file.resolve() for file in Path("/proc/self/fd").iterdir()}
    assert opened_files.isdisjoint(paths)


@pytest.mark.parametrize("name", ["p.jsonl.gz", "p.jsonl.zst"])
def test_what_precedes_damage_comes_before_its_error(tmp_path: Path, name: str) -> None:
    compress = gzip.compress if name.endswith("gz") else zstd.compress
    path = tmp_path / name
    path.write_bytes(b"".join(map(compress, MEMBERS[:10])) + compress(MEMBERS[10])[:50])

    with open_input(str(path), Counter()) as opened:
        good = until_damage(opened.chunks)

    assert b"".join(good).startswith(b"".join(MEMBERS[:10]))
    assert all(good)


@pytest.mark.parametrize("name", ["p.jsonl", "p.jsonl.zst"], ids=["by content", "by name"])
def test_damage_that_looks_like_a_dictionary_is_damage_at_its_place(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    first, second = (bytearray(zstd.compress(each)) for each in MEMBERS[:2])
    second[4] |= 1  # the second frame now states the number of a dictionary
    path.write_bytes(first + second)

    with open_input(str(path), Counter()) as opened:
        assert next(opened.chunks) == MEMBERS[0]
        with pytest.raises(CorruptData, match=r"damaged or cut off before byte \d+: .*ictionary"):
            next(opened.chunks)


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress])
def test_hundreds_of_thousands_of_empty_members_are_passed_over(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    """What is behind each is not copied for each: it would take minutes."""
    path = tmp_path / "p"
    path.write_bytes(compress(b"") * 400_000 + compress(CONTENT[:1000]))

    with open_input(str(path), Counter()) as opened:
        assert b"".join(opened.chunks) == CONTENT[:1000]


def test_of_a_file_that_is_damaged_from_the_start_no_chunk_comes(tmp_path: Path) -> None:
    """Not even an empty one, which would say that a pipe is silent."""
    path = tmp_path / "p.jsonl.gz"
    path.write_bytes(b"no gzip")

    with open_input(str(path), Counter()) as opened:
        assert until_damage(opened.chunks) == []


def test_a_slow_pipe_gives_what_is_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    fd = os.open(path, os.O_RDWR)  # waits for no reader

    with open_input(str(path), Counter()) as opened:
        os.write(fd, b"first line")
        assert next(opened.chunks) == b"first line"
        os.write(fd, b"a")
        os.write(fd, b"b")
        assert next(opened.chunks) == b"ab"
        assert next(opened.chunks) == b""
        os.write(fd, b"c")
        os.close(fd)
        assert list(opened.chunks) == [b"c"]


async def test_a_fast_pipe_comes_in_chunks_of_bounded_size(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    writing = asyncio.create_task(asyncio.to_thread(path.write_bytes, CONTENT))

    came = await asyncio.to_thread(chunks, path)

    await writing
    assert b"".join(came) == CONTENT
    assert max(map(len, came)) <= CHUNK_BYTES
