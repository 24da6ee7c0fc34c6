"""Where compiled kernels are kept, chosen so that a stale one is never loaded and an import never fails.

Numba decides whether a cached kernel is current by the file that the compiled function is in. A function
it calls from another file is not looked at, so an edited one would go on living, silently, inside the
cached machine code. Here the directory's name is a hash of every source file of the kernel: edit any of
them, and the cache is empty.

Numba also fails at import when it can write neither beside the source nor into the user's home, as in a
read-only container. Then a temporary directory serves, for this process and those it starts. If the directory
that cannot be written holds the compiled kernel, as in an image that was built with it, it is copied there.
"""

import atexit
import hashlib
import importlib
import logging
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from types import ModuleType

from neardup_stream.version import __version__

__all__ = ["load_compiled", "prepare_kernel_cache"]

_log = logging.getLogger(__name__)

_NUMBA_SETTING = "NUMBA_CACHE_DIR"

_NAME = re.compile(rf"{re.escape(__version__)}-[0-9a-f]{{16}}")
"""What a kernel's directory is called."""

_loading = Lock()
"""A thread that came second would meet a compiler half imported, or the directory of another kernel."""


def load_compiled(name: str, module: str, sources: Sequence[Path]) -> ModuleType:
    """Import a kernel, compiled into a cache directory of its own.

    Args:
        name: of the kernel, for the log.
        module: its module's name.
        sources: every file that holds compiled code of the kernel.
    """
    with _loading:
        cache = prepare_kernel_cache(sources)
        if not _holds_kernel(cache):
            _log.info("compiling the %s kernel, once, up to a minute", name)
        return importlib.import_module(module)


def prepare_kernel_cache(sources: Sequence[Path]) -> Path:
    """Make Numba keep the kernels of these files in a directory of their own, and return it.

    To be called before Numba is first imported. The directory lies in `NUMBA_CACHE_DIR` where that is
    set, else in the user's cache directory, else in a temporary one that is removed at exit: a copy of the
    former where that cannot be written, or, with a warning, an empty one. It is empty when the kernel has yet
    to be compiled for this version, source and processor.

    Args:
        sources: every file that holds compiled code of the kernel.

    Raises:
        OSError: a source cannot be read, or not even a temporary directory can be made.
    """
    name = _cache_name(sources)
    places = [place / name for place in (_operators_cache(), _user_cache()) if place is not None]
    directory = next(filter(_is_writable, places), None) or _temporary(places, name)
    os.environ[_NUMBA_SETTING] = str(directory)
    if (numba := sys.modules.get("numba")) is not None:
        numba.config.CACHE_DIR = str(directory)  # it read the environment when it was imported
    return directory


def _cache_name(sources: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for part in (platform.machine(), platform.processor(), platform.python_version()):
        digest.update(part.encode() + b"\0")
    for source in sorted(sources):
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    return f"{__version__}-{digest.hexdigest()[:16]}"


def _operators_cache() -> Path | None:
    """What the operator, or the process that started this one, has set."""
    setting = os.environ.get(_NUMBA_SETTING)
    if not setting:
        return None
    parent = Path(setting)
    return parent.parent if _NAME.fullmatch(parent.name) else parent


def _user_cache() -> Path | None:
    if setting := os.environ.get("XDG_CACHE_HOME"):
        return Path(setting) / "neardup-stream"
    try:
        return Path.home() / ".cache" / "neardup-stream"
    except RuntimeError:  # a container's user without an entry in the password file has no home
        return None


def _is_writable(directory: Path) -> bool:
    """Whether files can be written there; it is made if need be."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def _temporary(read_only: Sequence[Path], name: str) -> Path:
    """A copy of the first of these that holds a kernel, else an empty directory."""
    parent = tempfile.mkdtemp(prefix="neardup-stream-kernels-")
    atexit.register(shutil.rmtree, parent, ignore_errors=True)
    directory = Path(parent) / name
    filled = next((each for each in read_only if _holds_kernel(each)), None)
    if filled is not None:
        shutil.copytree(filled, directory)
        for copied in (directory, *directory.rglob("*")):
            copied.chmod(0o700)
        _log.info("compiled kernels are copied from %s", filled)
    else:
        directory.mkdir()
        _log.warning("no writable cache directory: compiled kernels go to %s and are lost at exit", directory)
    return directory


def _holds_kernel(directory: Path) -> bool:
    return any(directory.rglob("*.nbc"))
