"""`replay`: dead letters back into the pages topic, through real Kafka and a daemon."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from neardup_daemon.kafka_wiring import kafka_sink
from neardup_daemon.repair.dead_letters_topic import open_dead_letters
from neardup_daemon.settings.settings import Settings

from neardup_stream.message import Message
from neardup_stream.pipeline.offsets import next_offsets
from neardup_stream.streams.protocol import Sink
from tests.kafka_topics import delete_below
from tests.pipelines import essay, page_json
from tests.servers.daemon import start_daemon
from tests.system.conftest import Site, call

GOOD = page_json("good", essay(1))
LONG = page_json("long", essay(2))
BROKEN = b'{"url":"https://example.com/broken"'
LIMIT = len(GOOD) + 1


def no_offsets(site: Site) -> str:
    """What the first run says."""
    group_id = Settings.load(overrides=site.settings).kafka.group_id
    return (
        f"group {group_id}-replay has no offsets: this is its first run, or Kafka has forgotten them after"
        " offsets.retention.minutes; it begins with the oldest letter kept"
    )


def publish(site: Site, tmp_path: Path, *lines: bytes) -> None:
    crawl = tmp_path / "crawl.jsonl"
    crawl.write_bytes(b"\n".join(lines) + b"\n")
    assert site.call("produce", str(crawl)).returncode == 0


def outcomes_after(site: Site, pages: int, *settings: str) -> dict[str, int]:
    """Run a daemon until it has judged so many records more."""
    with start_daemon([*site.settings, *settings]) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(pages)
        outcomes = daemon.outcomes()
        assert daemon.stop() == 0
    return outcomes


def test_what_a_raised_limit_allows_is_put_back_once_and_becomes_a_page(site: Site, tmp_path: Path) -> None:
    site.create_topics(partitions=2)
    publish(site, tmp_path, GOOD, b" " * LIMIT + BROKEN, BROKEN)
    small = f"limits.max_page_bytes={LIMIT}"
    assert outcomes_after(site, 3, small) == {"unique": 1, "dead_letter": 2}

    first = site.call("replay", "--reason", "over_limit")
    again = site.call("replay")

    assert (first.returncode, again.returncode) == (0, 0)
    assert first.stderr.decode().splitlines() == [
        no_offsets(site),
        f"1 dead letter put back into {site.topics[0]}",
        "1 left, with another reason",
    ]
    assert again.stderr.decode().splitlines() == [f"0 dead letters put back into {site.topics[0]}"]
    assert outcomes_after(site, 1) == {"dead_letter": 1}


def test_a_record_that_fails_again_and_again_is_left_after_so_many_attempts(
    site: Site, tmp_path: Path
) -> None:
    site.create_topics()
    publish(site, tmp_path, BROKEN)

    outputs = []
    for _ in range(2):
        assert outcomes_after(site, 1) == {"dead_letter": 1}
        outputs.append(site.call("replay", "--max-attempts", "1").stderr.decode().splitlines())

    assert outputs == [
        [no_offsets(site), f"1 dead letter put back into {site.topics[0]}"],
        [
            f"0 dead letters put back into {site.topics[0]}",
            "1 left, put back 1 time before (--max-attempts)",
        ],
    ]


async def test_a_run_that_knows_where_to_begin_does_not_say_that_its_group_has_no_offsets(site: Site) -> None:
    site.create_topics()
    empty = site.call("replay", "--set", f"kafka.group_id={site.topics[0]}-other")
    async with kafka_sink(Settings.load(overrides=site.settings), site.topics[2]) as sink:
        await sink.send([Message(key=b"key", value=b"letter")])

    from_start, again = site.call("replay", "--from-start"), site.call("replay")

    for run in (empty, from_start, again):
        assert (run.returncode, b"no offsets" in run.stderr) == (0, False), run.stderr


async def test_a_letter_that_comes_while_letters_are_read_is_left_to_the_next_run(site: Site) -> None:
    site.create_topics()
    settings = Settings.load(overrides=site.settings)
    async with kafka_sink(settings, site.topics[2]) as sink:
        await sink.send([Message(key=None, value=b"first")])
        runs = [await values_read(settings, sink) for _ in range(2)]

    assert runs == [[b"first"], [b"came during the run"]]


async def test_from_the_start_are_letters_that_were_dealt_with_and_those_behind_them(site: Site) -> None:
    site.create_topics()
    settings = Settings.load(overrides=site.settings)
    async with kafka_sink(settings, site.topics[2]) as sink:
        await deal_with_a_letter(settings, sink)
        await sink.send([Message(key=None, value=b"new")])

    async with open_dead_letters(settings, from_start=True) as letters:
        found = [record.value async for records in letters.records() for record in records]

    assert found == [b"dealt with", b"new"]


@pytest.mark.parametrize("from_start", [False, True])
async def test_letters_that_were_deleted_behind_the_last_run_are_passed(
    site: Site, *, from_start: bool
) -> None:
    site.create_topics()
    settings = Settings.load(overrides=site.settings)
    async with kafka_sink(settings, site.topics[2]) as sink:
        await deal_with_a_letter(settings, sink)
        await sink.send([Message(key=None, value=value) for value in (b"deleted", b"kept")])
    await delete_below(settings.kafka.bootstrap_servers, site.topics[2], 2)

    async with open_dead_letters(settings, from_start=from_start) as letters:
        found = [record.value async for records in letters.records() for record in records]

    assert found == [b"kept"]


async def deal_with_a_letter(settings: Settings, sink: Sink) -> None:
    await sink.send([Message(key=None, value=b"dealt with")])
    async with open_dead_letters(settings, from_start=False) as letters:
        async for records in letters.records():
            await letters.commit(next_offsets(records), "read")


async def values_read(settings: Settings, sink: Sink) -> list[bytes | None]:
    """Read the topic as `replay` does, while each letter makes another one."""
    found = []
    async with open_dead_letters(settings, from_start=False) as letters:
        async for records in letters.records():
            found += [record.value for record in records]
            await sink.send([Message(key=None, value=b"came during the run")])
            await letters.source.commit(next_offsets(records))
    return found


def test_letters_are_saved_corrected_and_put_back(site: Site, tmp_path: Path) -> None:
    site.create_topics()
    publish(site, tmp_path, BROKEN)
    assert outcomes_after(site, 1) == {"dead_letter": 1}
    saved = tmp_path / "letters.jsonl"

    assert site.call("replay", "--save", str(saved)).returncode == 0
    letter = json.loads(saved.read_text())
    letter["value"] = LONG.decode()
    saved.write_text(json.dumps(letter) + "\n")
    run = site.call("replay", str(saved))
    left = site.call("replay")

    assert run.stderr.decode() == f"1 dead letter put back into {site.topics[0]}\n"
    assert left.stderr.decode() == f"0 dead letters put back into {site.topics[0]}\n"
    assert outcomes_after(site, 1) == {"unique": 1}
    assert site.call("replay", "--from-start").stderr.startswith(b"1 dead letter")


async def test_letters_are_dealt_with_once_the_file_with_all_of_them_has_its_name(
    site: Site, tmp_path: Path
) -> None:
    site.create_topics()
    async with kafka_sink(Settings.load(overrides=site.settings), site.topics[2]) as sink:
        await sink.send([Message(key=None, value=b"x" * 100) for _ in range(600)])
    saved = tmp_path / "letters.jsonl"
    save = ["replay", "--save", str(saved)]
    overrides = [word for setting in site.settings for word in ("--set", setting)]

    cut = await asyncio.to_thread(
        subprocess.run,
        ["prlimit", "--fsize=75000", sys.executable, "-m", "neardup_daemon", *save, *overrides],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert cut.returncode == 3, cut.stderr
    assert site.call(*save).returncode == 0

    assert len(saved.read_bytes().splitlines()) == 600
    again = site.call(*save)
    assert again.returncode == 2
    assert f"{saved} exists".encode() in again.stderr
    assert len(saved.read_bytes().splitlines()) == 600


def test_a_file_with_a_line_that_is_no_letter_puts_nothing_back(tmp_path: Path) -> None:
    letters = tmp_path / "letters.jsonl"
    letters.write_text('{"headers":[],"timestamp_ms":1}\n{"url":"https://example.com/"}\n')

    run = call("replay", str(letters))

    assert run.returncode == 4
    assert f"{letters}, line 2: this is not a dead letter" in run.stderr.decode()


def test_options_of_the_topic_do_not_go_with_files() -> None:
    run = call("replay", "letters.jsonl", "--from-start")

    assert run.returncode == 2
    assert b"not for those of files" in run.stderr
