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


@pytest.mark.parametrize("is_blocking", [True, False], ids=["blocking", "not-blocking"])
async def test_lines_that_wait_for_a_reader_are_given_up_when_cancelled(*, is_blocking: bool) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, is_blocking)

    with os.fdopen(reader, "rb") as read_end, os.fdopen(writer, "wb") as write_end:
        async with JsonLinesSink(f"/dev/fd/{writer}") as sink:
            sending = asyncio.create_task(sink.send([Message(key=None, value=b"x" * 300_000)]))
            await asyncio.to_thread(read_end.read, 1)
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
        write_end.close()
        assert len(read_end.read()) < 300_000


async def test_a_named_pipe_is_opened_once_it_has_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)

    async with asyncio.TaskGroup() as group:
        reading = group.create_task(asyncio.to_thread(path.read_bytes))
        async with JsonLinesSink(str(path)) as sink:
            await sink.send([MESSAGE])

    assert reading.result() == b'{"a": 1}\n'


async def test_opening_a_named_pipe_without_a_reader_is_given_up_when_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)

    opening = asyncio.create_task(JsonLinesSink(str(path)).__aenter__())
    await asyncio.wait([opening], timeout=0)
    opening.cancel()

    with pytest.raises(asyncio.CancelledError):
        await opening


async def test_a_file_that_was_opened_when_opening_was_cancelled_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    opening = asyncio.create_task(JsonLinesSink(str(tmp_path / "events.jsonl")).__aenter__())
    await asyncio.wait([opening], timeout=0)
    opening.cancel()

    with pytest.raises(asyncio.CancelledError):
        await opening
    assert os.listdir(tmp_path) == []  # noqa: PTH208


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
