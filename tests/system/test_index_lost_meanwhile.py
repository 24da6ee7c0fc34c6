"""Commands that read all of an index, which Redis loses while they do: nothing is concluded from the rest."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from neardup_daemon.files_run import run_over_files
from neardup_daemon.files_run_options import FilesRun
from neardup_daemon.freezing import FreezeRun, write_archive
from neardup_daemon.inspect.verifying_files import FilesOfRuns, read_files
from neardup_daemon.repair.expiring import expire_now
from neardup_daemon.repair.rebuilding import rebuild_index
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stopping import Stopped
from neardup_daemon.tally import Tally

from neardup_stream.archive.building import LEAST_MEMORY_BYTES
from neardup_stream.archive.frozen import KEYS
from neardup_stream.archive.keys import BANDS_ONLY
from neardup_stream.archive.passage_lists import COMMON_PAGES
from neardup_stream.errors import ConfigError
from neardup_stream.stores.guarded_clusters import REMEDY
from neardup_stream.streams.files.digests import EarlyDigests
from tests.pipelines import essay, page_json
from tests.servers.redis import start_redis
from tests.system.conftest import StoredIndex, new_index

Lose = Callable[..., Any]
Command = Callable[[Settings, Path, Lose], Coroutine[Any, Any, object]]


@pytest.fixture
def own() -> Iterator[StoredIndex]:
    """An index in a Redis that a test may empty."""
    with start_redis() as server:
        index = new_index(server)
        index.hold(*(page_json(f"p{number}", essay(number)) for number in range(20)))
        yield index


def lost_by(index: StoredIndex) -> Lose:
    """Return what makes Redis lose it, as a restart without a copy on disk does."""

    def lose(*_progress: object) -> None:
        with redis.Redis.from_url(index.server.url) as client:
            client.flushall()

    return lose


def freeze(settings: Settings, folder: Path, lose: Lose) -> Coroutine[Any, Any, object]:
    output = folder / "out.nda"
    run = FreezeRun(
        origin="index",
        files=(),
        state_dir=None,
        unseen_days=0.0,
        output=output,
        memory_bytes=LEAST_MEMORY_BYTES,
        replaces=False,
        parts=frozenset({KEYS}),
        common_pages=COMMON_PAGES,
        workers=1,
        key_kinds=BANDS_ONLY,
    )
    return write_archive(run, settings, lose)


def rebuild(settings: Settings, _folder: Path, lose: Lose) -> Coroutine[Any, Any, object]:
    return rebuild_index(settings, None, lose)


def expire(settings: Settings, _folder: Path, lose: Lose) -> Coroutine[Any, Any, object]:
    return expire_now(settings, None, lose)


def verify(settings: Settings, _folder: Path, lose: Lose) -> Coroutine[Any, Any, object]:
    return read_files(FilesOfRuns((), (), (), None), settings, lose)


async def keep_representatives(settings: Settings, folder: Path, lose: Lose) -> None:
    (pages := folder / "new.jsonl").write_bytes(page_json("new", essay(99)))
    run = FilesRun((str(pages),), "/dev/null", None, None, str(folder / "out.jsonl"), None, uses_redis=True)
    with EarlyDigests(run.files) as digests:
        await run_over_files(run, settings, Tally(), lambda *_: None, lose, (), digests.identify)


@pytest.mark.parametrize("command", [freeze, rebuild, expire, verify, keep_representatives])
def test_a_command_whose_index_is_lost_meanwhile_names_the_remedy_and_leaves_no_file(
    own: StoredIndex, tmp_path: Path, command: Command
) -> None:
    settings = Settings.load(overrides=(*own.settings, "pipeline.retry_deadline_seconds=3"))
    work = command(settings, tmp_path, lost_by(own))

    with pytest.raises(ConfigError, match="is not there any more") as caught:
        asyncio.run(work)

    assert REMEDY in str(caught.value)
    assert not list(tmp_path.glob("*out*"))


def test_a_signal_ends_freeze_while_it_waits_for_the_index(own: StoredIndex, tmp_path: Path) -> None:
    settings = Settings.load(overrides=(*own.settings, "pipeline.retry_deadline_seconds=3"))

    def stop_the_server_and_this(*_progress: object) -> None:
        own.server.stop()
        os.kill(os.getpid(), signal.SIGTERM)

    ended = asyncio.run(freeze(settings, tmp_path, stop_the_server_and_this))

    assert ended == Stopped(128 + signal.SIGTERM)
    assert not list(tmp_path.iterdir())
