"""Pipes as sources: what they begin with, what was written so far, and standard input."""

import asyncio
import gzip
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from backports import zstd

from neardup_stream.errors import CorruptData
from neardup_stream.message import Record
from neardup_stream.streams.files.source import FileSource
from neardup_stream.streams.protocol import EndOfStream
from tests.contracts.streams import read_records
from tests.unit.streams.archives import resource
from tests.unit.streams.written_files import MAX_PAGE_BYTES, skippable_frame, write

ARCHIVE = b"".join(resource(f"http://a.example/{number}", b"text") for number in range(3))


MANY_LINES = b"".join(b"line %d\n" % number for number in range(5_000))


def one_byte_at_a_time(path: Path, content: bytes) -> None:
    with path.open("wb", buffering=0) as pipe:
        for byte in content:
            pipe.write(bytes([byte]))


@pytest.mark.parametrize(
    ("content", "count"),
    [
        pytest.param(b"a\nb\n", 2, id="lines"),
        pytest.param(b"a", 1, id="too-few-bytes-to-recognize"),
        pytest.param(b"", 0, id="nothing"),
        pytest.param(gzip.compress(b"a\n") + gzip.compress(b"b\n") + bytes(9), 2, id="gzip"),
        pytest.param(zstd.compress(b"a\n") + zstd.compress(b"b\n"), 2, id="zstd"),
        pytest.param(gzip.compress(MANY_LINES), 5_000, id="gzip-of-many-lines"),
        pytest.param(zstd.compress(MANY_LINES), 5_000, id="zstd-of-many-lines"),
        pytest.param(ARCHIVE, 3, id="warc"),
        pytest.param(gzip.compress(ARCHIVE), 3, id="warc-in-gzip"),
        pytest.param(zstd.compress(ARCHIVE), 3, id="warc-in-zstd"),
        pytest.param(skippable_frame(b"any") + zstd.compress(ARCHIVE), 3, id="zstd-behind-other-data"),
    ],
)
@pytest.mark.parametrize("write_to", [Path.write_bytes, one_byte_at_a_time], ids=["whole", "in-bytes"])
async def test_a_pipe_is_taken_for_what_it_begins_with(
    tmp_path: Path, content: bytes, count: int, write_to: Callable[[Path, bytes], object]
) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    writing = asyncio.create_task(asyncio.to_thread(write_to, path, content))

    async with FileSource([str(path)], MAX_PAGE_BYTES) as source:
        records = await read_records(source, silence=1_000)
        with pytest.raises(EndOfStream):
            await _read_until_any(source)
    await writing

    assert len(records) == count


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
async def test_a_compressed_pipe_that_is_cut_off_is_damaged(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    writing = asyncio.create_task(asyncio.to_thread(path.write_bytes, compress(b"a\nb\n")[:-4]))

    async with FileSource([str(path)], MAX_PAGE_BYTES) as source:
        with pytest.raises(CorruptData, match="cut off"):
            await read_records(source, silence=1_000)
    await writing


async def test_zstd_with_a_dictionary_is_refused_by_this_word(tmp_path: Path) -> None:
    samples = [resource(f"http://a.example/{number}", b"text %d" % number) for number in range(1_000)]
    trained = zstd.train_dict(samples, 2_000)
    content = skippable_frame(trained.dict_content) + zstd.compress(ARCHIVE, zstd_dict=trained)
    file, pipe = write(tmp_path / "a.warc.zst", content), tmp_path / "fifo"
    os.mkfifo(pipe)
    writing = asyncio.create_task(asyncio.to_thread(pipe.write_bytes, content))

    async with FileSource([str(file), str(pipe)], MAX_PAGE_BYTES) as source:
        with pytest.raises(CorruptData) as caught:
            await read_records(source, silence=1_000)
    await writing

    assert str(caught.value).count("compressed with a dictionary, which is not read here") == 2


async def test_a_pipe_gives_what_was_written_so_far_and_then_nothing(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    writing = asyncio.create_task(asyncio.to_thread(os.open, path, os.O_WRONLY))

    async with FileSource([str(path)], MAX_PAGE_BYTES) as source:
        silent = asyncio.create_task(_read_until_any(source))
        fd = await writing
        os.write(fd, b"a\nb\nunfin")
        first = await silent
        assert await source.read(10, 100) == []
        os.write(fd, b"ished\n")
        second = await _read_until_any(source)
        os.close(fd)
        with pytest.raises(EndOfStream):
            await _read_until_any(source)

    assert [record.value for record in [*first, *second]] == [b"a", b"b", b"unfinished"]
    assert first[0].position.partition.input_id == f"pipe:{path}"


@pytest.mark.parametrize("name", ["fifo", "a.warc", "a.warc.gz"])
async def test_reading_an_archive_from_a_silent_pipe_ends_when_it_is_cut_short(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    opening = asyncio.create_task(asyncio.to_thread(os.open, path, os.O_WRONLY))

    async with asyncio.timeout(10):
        async with FileSource([str(path)], MAX_PAGE_BYTES) as source:
            writer = await opening
            os.write(writer, gzip.compress(ARCHIVE) if name.endswith(".gz") else ARCHIVE)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await _read_until_any(source)
    os.close(writer)


async def _read_until_any(source: FileSource) -> Sequence[Record]:
    while True:
        if records := await source.read(10, 100):
            return records


def test_a_hyphen_is_standard_input_and_output(tmp_path: Path) -> None:
    program = write(tmp_path / "echo_records.py", COPY)

    done = subprocess.run([sys.executable, program], input=b"a\n\nb\n", capture_output=True, check=True)

    assert done.stdout == b"stdin 0 a\nstdin 2 b\n"


COPY = b"""
import asyncio
from neardup_stream.message import Message
from neardup_stream.streams.files.source import FileSource
from neardup_stream.streams.files.jsonl import JsonLinesSink
from neardup_stream.streams.protocol import EndOfStream

async def main():
    async with FileSource(["-"], 100) as source, JsonLinesSink("-") as sink:
        while True:
            try:
                records = await source.read(10, 1000)
            except EndOfStream:
                return
            for record in records:
                position = record.position
                line = f"{position.partition.input_id} {position.offset} {record.value.decode()}"
                await sink.send([Message(key=None, value=line.encode())])

asyncio.run(main())
"""
