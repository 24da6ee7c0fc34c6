import asyncio
import os
from pathlib import Path

import pytest

from neardup_stream.errors import ConfigError, StreamUnavailable
from neardup_stream.message import Message
from neardup_stream.streams.files.jsonl import JsonLinesSink
from tests.file_sizes import largest_file

MESSAGE = Message(key=b"key", value=b'{"a": 1}')


async def test_a_reader_that_left_is_a_broken_pipe(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    async with JsonLinesSink(str(path)) as sink:
        os.close(reader)
        with pytest.raises(BrokenPipeError):
            await sink.send([MESSAGE])


async def test_lines_for_a_pipe_that_does_not_block_wait_for_its_reader() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    line = b"x" * 300_000

    with os.fdopen(reader, "rb") as read_end, os.fdopen(writer, "wb") as write_end:
        reading = asyncio.create_task(asyncio.to_thread(read_end.read))
        async with JsonLinesSink(f"/dev/fd/{writer}") as sink:
            await sink.send([Message(key=None, value=line)])
        write_end.close()
        content = await reading

    assert content == line + b"\n"


async def test_a_full_disk_is_a_stream_that_is_unavailable() -> None:
    async with JsonLinesSink("/dev/full") as sink:
        with pytest.raises(StreamUnavailable, match="No space left"):
            await sink.send([MESSAGE])


@pytest.mark.parametrize("mode", ["ab", "r+b"])
async def test_a_line_that_does_not_fit_takes_nothing_of_what_the_file_held(
    tmp_path: Path, mode: str
) -> None:
    path = tmp_path / "all.jsonl"
    path.write_bytes(b"of an earlier run\n")

    with path.open(mode) as file:
        file.seek(0, os.SEEK_END if mode == "r+b" else os.SEEK_SET)
        async with JsonLinesSink(f"/dev/fd/{file.fileno()}") as sink:
            with largest_file(path.stat().st_size + 4), pytest.raises(StreamUnavailable):
                await sink.send([MESSAGE])
            assert path.read_bytes() == b"of an earlier run\n"
            await sink.send([MESSAGE])

    assert path.read_bytes() == b'of an earlier run\n{"a": 1}\n'


async def test_a_path_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file or directory"):
        async with JsonLinesSink(str(tmp_path / "absent" / "events.jsonl")):
            pass


async def test_a_sink_empties_the_file_it_is_given(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"of an earlier run\n")

    async with JsonLinesSink(str(path)) as sink:
        await sink.send([MESSAGE])

    assert path.read_bytes() == b'{"a": 1}\n'
