"""The page kernel's cache, seen from processes of their own: never stale, never in the way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import neardup_stream.fingerprints
from neardup_stream.fingerprints.reference import fingerprint_page
from neardup_stream.fingerprints.simhash import SimhashConfig

PACKAGE = Path(neardup_stream.fingerprints.__file__).parent
TEXT = "the quick brown fox jumps over the lazy dog"
NOWHERE = "/dev/null/nothing-can-be-made-here"

FINGERPRINT_ONE_TEXT = f"""
import logging
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_texts
logging.basicConfig(level=logging.INFO)
print(fingerprint_texts([{TEXT!r}], SimhashConfig()).fingerprints[0])
"""

FINGERPRINT_IN_EIGHT_THREADS = f"""
from concurrent.futures import ThreadPoolExecutor
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_texts
with ThreadPoolExecutor(8) as threads:
    found = list(threads.map(lambda text: fingerprint_texts([text], SimhashConfig()), [{TEXT!r}] * 8))
print(*{{each.fingerprints[0] for each in found}})
"""

# As the library does it, but with the kernel of another directory.
FINGERPRINT_BY_ANOTHER_KERNEL = (
    """
import sys
from neardup_stream.fingerprints import simhash
sys.path.insert(0, sys.argv[1])
simhash.__file__ = sys.argv[1] + "/simhash.py"
simhash._KERNEL_MODULE = "kernel"
"""
    + FINGERPRINT_ONE_TEXT
)


def _run(program: str, *arguments: str, cache: str) -> tuple[int, str]:
    """The fingerprint printed, and what was logged."""
    places = {"HOME": cache, "XDG_CACHE_HOME": cache, "NUMBA_CACHE_DIR": ""}
    # Python's own cache tells sources apart by time and size alone; what is looked at here is the compiler's.
    places["PYTHONDONTWRITEBYTECODE"] = "1"
    finished = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | places,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return int(finished.stdout), finished.stderr


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    copy = tmp_path / "copy" / "kernel.py"
    copy.parent.mkdir()
    copy.write_text((PACKAGE / "kernel.py").read_text())
    return copy


def test_an_edited_helper_is_compiled_anew(kernel: Path, tmp_path: Path) -> None:
    """Even if size and time of the file stay the same, which is all that the compiler looks at."""
    cache, stamp = str(tmp_path / "cache"), kernel.stat()
    before, _ = _run(FINGERPRINT_BY_ANOTHER_KERNEL, str(kernel.parent), cache=cache)

    source = kernel.read_text()
    kernel.write_text(source.replace("0xFF51AFD7ED558CCD", "0xFF51AFD7ED558CCF"))
    os.utime(kernel, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    after, _ = _run(FINGERPRINT_BY_ANOTHER_KERNEL, str(kernel.parent), cache=cache)

    assert kernel.stat().st_size == stamp.st_size
    assert before == fingerprint_page(TEXT, SimhashConfig()).fingerprint
    assert after != before


def test_the_first_compilation_is_announced_and_only_that(tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")

    first, second = (_run(FINGERPRINT_ONE_TEXT, cache=cache) for _ in range(2))

    assert first[0] == second[0] == fingerprint_page(TEXT, SimhashConfig()).fingerprint
    assert "compiling the page kernel" in first[1]
    assert "compiling the page kernel" not in second[1]


def test_threads_that_come_first_together_wait_for_one_kernel(tmp_path: Path) -> None:
    fingerprint, _ = _run(FINGERPRINT_IN_EIGHT_THREADS, cache=str(tmp_path))

    assert fingerprint == fingerprint_page(TEXT, SimhashConfig()).fingerprint


def test_with_nothing_writable_it_works_and_warns() -> None:
    files_before = sorted(PACKAGE.rglob("*.nb*"))

    fingerprint, log = _run(FINGERPRINT_ONE_TEXT, cache=NOWHERE)

    assert fingerprint == fingerprint_page(TEXT, SimhashConfig()).fingerprint
    assert "no writable cache directory" in log
    assert sorted(PACKAGE.rglob("*.nb*")) == files_before
