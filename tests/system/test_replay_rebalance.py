"""`replay` beside another replay: letters that the group does not record as dealt with are reported."""

import asyncio
import os
import select
from pathlib import Path

import pytest
from neardup_daemon.kafka_wiring import kafka_sink
from neardup_daemon.repair.dead_letters_topic import open_dead_letters
from neardup_daemon.repair.replaying import Choice, save_topic
from neardup_daemon.settings.settings import Settings

from neardup_stream.errors import StreamUnavailable
from neardup_stream.message import Message
from neardup_stream.pipeline.offsets import next_offsets
from tests.system import joining
from tests.system.conftest import Site

LETTERS = 40
VALUE = b"x" * 8192
"""So large that a pipe cannot hold all letters."""

WAIT_SECONDS = 60


async def fill(site: Site) -> Settings:
    site.create_topics()
    settings = Settings.load(overrides=site.settings)
    async with kafka_sink(settings, site.topics[2]) as sink:
        await sink.send([Message(key=None, value=VALUE)] * LETTERS)
    return settings


async def join_for_a_moment(settings: Settings) -> None:
    """Be another replay."""
    kafka = settings.kafka
    await joining.join_for_a_moment(settings, kafka.dead_letters_topic, f"{kafka.group_id}-replay")


async def test_letters_whose_commit_the_group_refuses_are_reported(site: Site) -> None:
    settings = await fill(site)

    async with asyncio.timeout(WAIT_SECONDS), open_dead_letters(settings, from_start=False) as letters:
        records = [record async for records in letters.records() for record in records]
        await join_for_a_moment(settings)
        with pytest.raises(StreamUnavailable, match="letters of partition 0 were put back, and the next run"):
            await letters.commit(next_offsets(records), "put back")

    assert len(records) == LETTERS


async def test_saved_letters_that_the_next_run_saves_again_are_reported(site: Site, tmp_path: Path) -> None:
    settings = await fill(site)
    saved = tmp_path / "letters"
    os.mkfifo(saved)
    reader = os.open(saved, os.O_RDONLY | os.O_NONBLOCK)

    async with asyncio.timeout(WAIT_SECONDS):
        saving = asyncio.create_task(save_topic(settings, Choice(frozenset(), 3), saved, from_start=False))
        await asyncio.to_thread(select.select, [reader], [], [], WAIT_SECONDS)
        await join_for_a_moment(settings)
        lines = await asyncio.to_thread(read_all, reader)
        with pytest.raises(StreamUnavailable, match=f"were saved to {saved}, and the next run"):
            await saving

    assert len(lines) == LETTERS


def read_all(descriptor: int) -> list[bytes]:
    os.set_blocking(descriptor, True)
    with open(descriptor, "rb") as file:
        return file.read().splitlines()
