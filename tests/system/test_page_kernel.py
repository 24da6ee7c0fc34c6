"""The cache of compiled kernels, seen from processes of their own: never stale, never in the way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.test_full_disk import PRIVATE_MOUNTS

NOWHERE = "/dev/null/nothing-can-be-made-here"

# Compiled in a second; the kernels of the library take ten and more.
SMALL_KERNEL = """
from numba import njit
from helper import triple

@njit("int64(int64)", cache=True)
def plus_one(number):
    return triple(number) + 1
"""
HELPER = """
from numba import njit

@njit
def triple(number):
    return number * 3
"""
RUN_SMALL_KERNEL = """
import logging, sys
from pathlib import Path
from neardup_stream.kernel_cache import load_compiled
logging.basicConfig(level=logging.INFO)
sys.path.insert(0, sys.argv[1])
print(load_compiled("small", "kernel", sorted(Path(sys.argv[1]).glob("*.py"))).plus_one(7))
"""
LOAD_AND_LOOK_FOR_REGISTRIES = """
import sys
from pathlib import Path
from neardup_stream.kernel_cache import load_compiled
sys.path.insert(0, sys.argv[1])
kernel = load_compiled("small", "kernel", sorted(Path(sys.argv[1]).glob("*.py")))
assert kernel.plus_one(7) == 22
print(sum(name in sys.modules for name in ("numba.np.linalg", "numba.typed.typeddict")))
"""
LOAD_IN_EIGHT_THREADS = """
import logging, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from neardup_stream.kernel_cache import load_compiled
logging.basicConfig(level=logging.INFO)
sys.path.insert(0, sys.argv[1])
together = Barrier(8)

def answer(_number):
    together.wait()
    return load_compiled("small", "kernel", sorted(Path(sys.argv[1]).glob("*.py"))).plus_one(7)

with ThreadPoolExecutor(8) as threads:
    print(*set(threads.map(answer, range(8))))
"""
# The size of a file is limited from outside: 4 KiB are more than the sources have, less than machine code.
LIMIT_FILES = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
"""
REPORT_NO_ROOM = """
from neardup_stream.errors import StreamUnavailable
try:
    exec(sys.argv[2])
except StreamUnavailable as error:
    print(error, file=sys.stderr)
    print(3)
"""


def _run(program: str, *arguments: str, cache: str) -> tuple[int, str]:
    """Return the number printed, and what was logged."""
    places = {"HOME": cache, "XDG_CACHE_HOME": cache, "NUMBA_CACHE_DIR": ""}
    # Python's own cache compares sources by time and size alone; this test is about the compiler's cache.
    places["PYTHONDONTWRITEBYTECODE"] = "1"
    finished = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | places,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(finished.stdout), finished.stderr


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """The folder of a small kernel."""
    folder = tmp_path / "kernel"
    folder.mkdir()
    (folder / "kernel.py").write_text(SMALL_KERNEL)
    (folder / "helper.py").write_text(HELPER)
    return folder


def test_an_edited_helper_is_compiled_anew(kernel: Path, tmp_path: Path) -> None:
    """Even if size and time of the file stay the same, which is all that the compiler looks at."""
    cache, helper = str(tmp_path / "cache"), kernel / "helper.py"
    before, _ = _run(RUN_SMALL_KERNEL, str(kernel), cache=cache)

    stamp = helper.stat()
    helper.write_text(HELPER.replace("3", "5"))
    os.utime(helper, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    after, _ = _run(RUN_SMALL_KERNEL, str(kernel), cache=cache)

    assert helper.stat().st_size == stamp.st_size
    assert (before, after) == (22, 36)


def test_a_compiled_kernel_is_loaded_without_the_registries_of_the_compiler(
    kernel: Path, tmp_path: Path
) -> None:
    compiling, loading = (
        _run(LOAD_AND_LOOK_FOR_REGISTRIES, str(kernel), cache=str(tmp_path / "cache"))[0] for _ in range(2)
    )

    assert (compiling, loading) == (2, 0)


def test_a_function_that_is_gone_from_the_cache_is_compiled_again(kernel: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    _run(RUN_SMALL_KERNEL, str(kernel), cache=str(cache))
    (machine_code,) = cache.rglob("*.nbc")
    machine_code.unlink()

    number, _ = _run(RUN_SMALL_KERNEL, str(kernel), cache=str(cache))

    assert number == 22
    assert machine_code.exists()


def test_threads_that_come_first_together_compile_one_kernel_and_announce_it_once(
    kernel: Path, tmp_path: Path
) -> None:
    first, second = (
        _run(LOAD_IN_EIGHT_THREADS, str(kernel), cache=str(tmp_path / "cache")) for _ in range(2)
    )

    assert first[0] == second[0] == 22
    assert first[1].count("kernel_compilation_started") == 1
    assert "compilation" not in second[1]


def test_with_nothing_writable_it_works_and_warns(kernel: Path) -> None:
    number, log = _run(RUN_SMALL_KERNEL, str(kernel), cache=NOWHERE)

    assert number == 22
    assert "kernel_cache_temporary" in log
    assert {path.name for path in kernel.iterdir()} == {"kernel.py", "helper.py"}


def test_a_full_cache_directory_is_replaced_by_a_temporary_one_and_serves_once_it_has_room(
    kernel: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    environ = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    load = [sys.executable, "-c", RUN_SMALL_KERNEL, str(kernel)]
    room = 'mount -t tmpfs -o size=8k,mode=700 tmpfs "$0" && "$@" && mount -o remount,size=8m "$0" && "$@"'

    finished = subprocess.run(
        [*PRIVATE_MOUNTS, "sh", "-c", room, str(cache), *load],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (finished.returncode, finished.stdout) == (0, "22\n22\n"), finished.stderr
    assert finished.stderr.count("kernel_cache_temporary") == 1


def test_no_room_for_a_temporary_cache_either_is_trouble_of_the_disk(kernel: Path, tmp_path: Path) -> None:
    """A limit on the size of files counts for both."""
    program = LIMIT_FILES + REPORT_NO_ROOM

    number, log = _run(program, str(kernel), RUN_SMALL_KERNEL, cache=str(tmp_path / "cache"))

    assert number == 3
    assert "File too large; make room there, or set NUMBA_CACHE_DIR to a directory with room" in log
