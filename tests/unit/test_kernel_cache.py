import errno
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from neardup_stream.errors import StreamUnavailable
from neardup_stream.kernel_cache import holds_kernel, load_compiled, prepare_kernel_cache

NOWHERE = "/dev/null/nothing-can-be-made-here"
COPY_A_KERNEL_AND_LET_A_CHILD_COPY_THE_OTHERS = """
import subprocess, sys
from pathlib import Path
from neardup_stream.kernel_cache import prepare_kernel_cache

cache = prepare_kernel_cache([Path(sys.argv[1])])
print((cache / "kernel_1" / "page.nbc").read_text(), cache, sep="\\n", flush=True)
(cache / "kernel_1" / "more.nbc").touch()
(cache / "complete").touch()
if sys.argv[2:]:
    subprocess.run([sys.executable, __file__, *sys.argv[2:]], check=True)
"""

HOLD_A_CACHE = """
import os, sys
from pathlib import Path
from neardup_stream.kernel_cache import prepare_kernel_cache

cache = prepare_kernel_cache([Path(sys.argv[1])])
forked = not sys.argv[2] or os.fork()
if forked:
    print(cache, flush=True)
sys.stdin.read()
if not forked:
    os._exit(0)
"""


@pytest.fixture(autouse=True)
def _own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numba = sys.modules.get("numba")
    if numba is not None:
        monkeypatch.setattr(numba.config, "CACHE_DIR", numba.config.CACHE_DIR)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    files = [tmp_path / "kernel.py", tmp_path / "inlined.py"]
    for file in files:
        file.write_text("x = 1\n")
    return files


def test_the_same_sources_share_one_directory_in_the_user_cache(sources: list[Path], tmp_path: Path) -> None:
    first = prepare_kernel_cache(sources)

    assert first.is_dir()
    assert first.is_relative_to(tmp_path / "cache")
    assert prepare_kernel_cache(sources[::-1]) == first


@pytest.mark.parametrize("edited", [0, 1], ids=["the-kernel-itself", "a-file-it-calls"])
def test_editing_any_source_changes_the_directory(sources: list[Path], edited: int) -> None:
    before = prepare_kernel_cache(sources)

    sources[edited].write_text("x = 2\n")

    assert prepare_kernel_cache(sources) != before


def test_another_installation_has_a_directory_of_its_own(sources: list[Path], tmp_path: Path) -> None:
    """Numba compiles for it anew, so that what the first one compiled does not count."""
    other = tmp_path / "other"
    other.mkdir()
    copies = [Path(shutil.copy(source, other)) for source in sources]

    assert prepare_kernel_cache(copies) != prepare_kernel_cache(sources)


def test_numba_gets_the_directory(sources: list[Path]) -> None:
    directory = prepare_kernel_cache(sources)

    assert os.environ["NUMBA_CACHE_DIR"] == str(directory)


def test_the_home_directory_serves_without_a_cache_setting(
    sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    assert prepare_kernel_cache(sources).is_relative_to(tmp_path / "home" / ".cache")


def test_the_operators_setting_comes_first(
    sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "volume"))

    assert prepare_kernel_cache(sources).parent == tmp_path / "volume"


def test_without_any_writable_place_a_temporary_one_serves_with_a_warning(
    sources: list[Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", NOWHERE)

    with caplog.at_level(logging.WARNING):
        directory = prepare_kernel_cache(sources)

    assert directory.is_dir()
    (record,) = caplog.records
    assert (record.levelname, record.getMessage()) == ("WARNING", "kernel_cache_temporary")
    assert vars(record)["fields"]["directory"] == str(directory)


def test_without_any_place_for_the_temporary_one_the_error_names_the_setting(
    sources: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", NOWHERE)
    monkeypatch.setattr(tempfile, "tempdir", NOWHERE)

    with pytest.raises(StreamUnavailable, match=f"in {NOWHERE}: .*; make room there, or set NUMBA_CACHE_DIR"):
        prepare_kernel_cache(sources)


def test_a_started_process_uses_the_temporary_directory_of_its_parent(
    sources: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", NOWHERE)

    directory = prepare_kernel_cache(sources)

    assert prepare_kernel_cache(sources) == directory


def test_the_temporary_directory_is_removed_at_exit(sources: list[Path]) -> None:
    program = (
        "import sys, pathlib; from neardup_stream.kernel_cache import prepare_kernel_cache\n"
        "print(prepare_kernel_cache([pathlib.Path(sys.argv[1])]))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, sources[0]],
        env={**os.environ, "XDG_CACHE_HOME": NOWHERE},
        capture_output=True,
        text=True,
        check=True,
    )

    assert not Path(done.stdout.strip()).parent.exists()


def test_the_temporary_directory_of_a_killed_process_is_removed_by_the_next(
    sources: list[Path], tmp_path: Path
) -> None:
    """Each takes the room of a kernel, which a small /tmp in memory has not for many."""
    places = tmp_path / "temporary"
    places.mkdir()
    with holding_a_cache(sources, places) as (killed, left), holding_a_cache(sources, places) as (_, used):
        assert left.exists()
        killed.kill()
        killed.wait()
        with holding_a_cache(sources, places) as (_, made):
            assert set(places.iterdir()) == {used, made}


def test_the_temporary_directory_is_kept_while_a_forked_child_of_a_killed_process_lives(
    sources: list[Path], tmp_path: Path
) -> None:
    places = tmp_path / "temporary"
    places.mkdir()
    with holding_a_cache(sources, places, forks=True) as (killed, left):
        killed.kill()
        killed.wait()
        with holding_a_cache(sources, places) as (_, made):
            assert set(places.iterdir()) == {left, made}
        assert killed.stdin is not None
        killed.stdin.close()
        assert killed.stdout is not None
        killed.stdout.read()  # until the child has ended
        with holding_a_cache(sources, places) as (_, made):
            assert set(places.iterdir()) == {made}


def test_what_others_have_in_the_place_for_temporary_files_is_left_alone(
    sources: list[Path], tmp_path: Path
) -> None:
    places, elsewhere = tmp_path / "temporary", tmp_path / "elsewhere"
    for directory in (places / "neardup-stream-kernels-of-another-program", elsewhere):
        directory.mkdir(parents=True)
        (directory / "kept").touch()
    (elsewhere / "owner").touch()
    (places / "neardup-stream-kernels-link").symlink_to(elsewhere)

    with holding_a_cache(sources, places):
        pass

    assert len(list(places.glob("neardup-stream-kernels-*/kept"))) == 2


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_serves_for_the_temporary_directory(
    number: int, sources: list[Path], tmp_path: Path
) -> None:
    program = (
        "import fcntl, os, pathlib, sys\n"
        "def no_locks(*_): raise OSError(int(sys.argv[2]), os.strerror(int(sys.argv[2])))\n"
        "fcntl.flock = no_locks\n"
        "from neardup_stream.kernel_cache import prepare_kernel_cache\n"
        "print(prepare_kernel_cache([pathlib.Path(sys.argv[1])]).is_dir())"
    )
    places = tmp_path / "temporary"
    places.mkdir()

    with holding_a_cache(sources, places) as (_, used):
        done = subprocess.run(
            [sys.executable, "-c", program, sources[0], str(number)],
            env={**os.environ, "XDG_CACHE_HOME": NOWHERE, "TMPDIR": str(places)},
            capture_output=True,
            text=True,
            check=True,
        )

        assert done.stdout == "True\n"
        assert set(places.iterdir()) == {used}


def test_kernels_that_were_compiled_where_nothing_can_be_written_are_copied(
    sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an image does that holds them, in a container with a read-only root; a child copies the second."""
    places = {"NUMBA_CACHE_DIR": str(tmp_path / "image"), "XDG_CACHE_HOME": NOWHERE}
    for source in sources:
        source.write_text(source.name)
        monkeypatch.setenv("NUMBA_CACHE_DIR", places["NUMBA_CACHE_DIR"])
        compiled = prepare_kernel_cache([source]) / "kernel_1" / "page.nbc"
        compiled.parent.mkdir()
        compiled.write_text(f"machine code of {source.name}")
        (compiled.parent.parent / "complete").touch()
    program = tmp_path / "program.py"
    program.write_text(COPY_A_KERNEL_AND_LET_A_CHILD_COPY_THE_OTHERS)

    done = run_without_write_access(tmp_path, [sys.executable, program, *sources], places)

    assert done.returncode == 0, done.stderr
    codes, caches = done.stdout.splitlines()[::2], done.stdout.splitlines()[1::2]
    assert codes == [f"machine code of {source.name}" for source in sources]
    assert not any(Path(cache).parent.exists() for cache in caches)


def test_a_kernel_that_was_compiled_in_part_is_compiled_to_its_end(
    sources: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As by a process that was killed, or by one that still compiles."""
    monkeypatch.syspath_prepend(tmp_path)
    cache = prepare_kernel_cache(sources)
    (cache / "kernel.one-of-three.nbc").touch()

    with caplog.at_level(logging.DEBUG):
        was_complete = holds_kernel(cache)
        for _ in range(2):
            load_compiled("small", "inlined", sources)

    assert not was_complete
    assert holds_kernel(cache)
    assert [record.name for record in caplog.records].count("neardup_stream.kernel_cache") == 1


@contextmanager
def holding_a_cache(
    sources: Sequence[Path], temporary: Path, *, forks: bool = False
) -> "Iterator[tuple[subprocess.Popen[str], Path]]":
    """Run a process that has a temporary directory until the block ends; also yields the directory."""
    environ = {**os.environ, "XDG_CACHE_HOME": NOWHERE, "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", HOLD_A_CACHE, str(sources[0]), "forks" if forks else ""]
    with subprocess.Popen(
        command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip()).parent


def run_without_write_access(
    directory: Path, command: Sequence[str | Path], environ: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a command in a name space of its own, in which a directory is mounted read-only."""
    script = f'mount --bind {directory} {directory} && mount -o remount,bind,ro {directory} && exec "$@"'
    own = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount"]
    return subprocess.run(
        [*own, "sh", "-c", script, "sh", *command],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
