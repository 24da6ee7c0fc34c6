"""Choose the cache directory of compiled kernels.

A stale kernel is never loaded, and an import never fails.

Numba decides whether a cached kernel is current by the file of the compiled function. It ignores functions in
other files that it calls, so after an edit there, the cached machine code would still be the old one.
Here the directory's name is a hash of every source file of the kernel, and of where it is: an edit of
any of them gives an empty cache, as another installation does.

Numba also fails at import if it can write neither beside the source nor into the user's home, as in a
read-only container. Then a temporary directory is used, for this process and its children, and removed with
it, or by the next one if it was killed. Each kernel that a read-only directory holds, as in an image that was
built with it, is copied from there. A directory without room for what was compiled is replaced in the same
way; each file that Numba has left there is whole, and the next process completes them.
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
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from types import ModuleType

from neardup_stream.held_signals import held_signals
from neardup_stream.numba_compat import loading_machine_code
from neardup_stream.private_directory import private_directory
from neardup_stream.temporary_files import temporary_files_unavailable
from neardup_stream.version import __version__

__all__ = [
    "cache_name",
    "cache_places",
    "load_compiled",
    "on_compilation",
    "prepare_kernel_cache",
    "read_only_places",
]

_log = logging.getLogger(__name__)

_NUMBA_SETTING = "NUMBA_CACHE_DIR"

_NAME = re.compile(rf"{re.escape(__version__)}-[0-9a-f]{{16}}")
"""The form of a kernel directory's name."""

_REPLACED = "replaced"
"""In a temporary directory, a link to the read-only one in place of which it is used."""

_COMPLETE = "complete"
"""A file beside the compiled functions, made once all are there: a process may end while it compiles."""

_loading = Lock()
"""Serializes loading: a second thread could import Numba half initialized, or with another kernel's
directory.
"""

_listeners: list[Callable[[], None]] = []


def on_compilation(listener: Callable[[], None]) -> None:
    """Call a function before each kernel that this process compiles, instead of logging it at INFO."""
    _listeners.append(listener)


def load_compiled(name: str, module: str, sources: Sequence[Path]) -> ModuleType:
    """Import a kernel, compiled into a cache directory of its own.

    Args:
        name: of the kernel, for the log.
        module: its module's name.
        sources: every file that holds compiled code of the kernel.

    Raises:
        StreamUnavailable: no cache directory can be written, or has room, and no temporary one either.
    """
    with _loading:
        before = set(sys.modules)
        try:
            return _import(name, module, prepare_kernel_cache(sources))
        except OSError:  # a disk that is full takes empty files
            _forget(sources, before)
        directory, places = cache_name(sources), cache_places()
        try:
            return _import(name, module, _prepared(directory, places, None))
        except OSError as error:
            _forget(sources, before)
            raise temporary_files_unavailable(error, _NUMBA_SETTING) from error


def _import(name: str, module: str, cache: Path) -> ModuleType:
    """Import a kernel, and say so before if it must be compiled.

    Raises:
        OSError: there is no room for what was compiled.
    """
    if holds_kernel(cache) or module in sys.modules:
        with held_signals(), loading_machine_code():  # which calls Python functions
            return importlib.import_module(module)
    level = logging.DEBUG if _listeners else logging.INFO
    fields = {"kernel": name, "takes": "up to a minute, once"}
    _log.log(level, "kernel_compilation_started", extra={"fields": fields})
    for listener in _listeners:
        listener()
    kernel = importlib.import_module(module)
    (cache / _COMPLETE).touch()
    return kernel


def _forget(sources: Sequence[Path], before: Collection[str]) -> None:
    """Remove modules imported since, whose functions keep their cache directory."""
    files = {str(source.absolute()) for source in sources}
    for name in sys.modules.keys() - before:
        if getattr(sys.modules[name], "__file__", None) in files:
            del sys.modules[name]


def prepare_kernel_cache(sources: Sequence[Path]) -> Path:
    """Set Numba's cache directory for the kernels of these files, and return it.

    Must be called before Numba is first imported. The directory is in `NUMBA_CACHE_DIR` if that is set, else
    in the user's cache directory, else temporary and removed at exit: with a copy of the kernel if one of
    them holds it, or, with a warning, empty. It is empty if the kernel is not yet compiled for this version,
    source and processor.

    Args:
        sources: every file that holds compiled code of the kernel.

    Raises:
        OSError: a source cannot be read.
        StreamUnavailable: no temporary directory can be created.
    """
    name = cache_name(sources)
    places = cache_places()
    return _prepared(name, places, next((place for place in places if _is_writable(place / name)), None))


def _prepared(name: str, places: Sequence[Path], writable: Path | None) -> Path:
    place = writable or _temporary(places[:1])
    directory = place / name
    directory.mkdir(exist_ok=True)
    read_only = [each / name for each in (place / _REPLACED, *places)] if _is_temporary(place) else []
    if not holds_kernel(directory) and not _copy_kernel(read_only, directory) and writable is None:
        fields = {
            "directory": str(directory),
            "remedy": "set NUMBA_CACHE_DIR to a writable directory with room",
        }
        _log.warning("kernel_cache_temporary", extra={"fields": fields})
    os.environ[_NUMBA_SETTING] = str(directory)
    if (numba := sys.modules.get("numba")) is not None:
        numba.config.CACHE_DIR = str(directory)  # Numba read the environment when it was imported
    return directory


def cache_name(sources: Sequence[Path]) -> str:
    """Return the name of the directory for what follows from these files, this processor and this Python."""
    digest = hashlib.sha256()
    for part in (platform.machine(), platform.processor(), platform.python_version()):
        digest.update(part.encode() + b"\0")
    for source in sorted(sources):
        digest.update(bytes(source.absolute().parent) + b"\0")  # Numba compiles for each path anew
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    return f"{__version__}-{digest.hexdigest()[:16]}"


def cache_places() -> list[Path]:
    """Return where such directories may be, the operator's place first; neither need exist."""
    return [place for place in (_operators_cache(), _user_cache()) if place is not None]


def read_only_places() -> list[Path]:
    """Return where they are that cannot be written to, in the place of which a temporary one is used."""
    return [place / _REPLACED for place in cache_places() if _is_temporary(place)]


def _operators_cache() -> Path | None:
    """Return the directory that the operator, or the parent process, has set."""
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
    """Return whether files can be written there; creates the directory if needed."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def _temporary(replaced: Sequence[Path]) -> Path:
    """Make a temporary directory, with a link to the one it replaces, if there is one.

    Raises:
        StreamUnavailable: there is no room for one.
    """
    kept = ExitStack()
    try:
        parent = Path(tempfile.gettempdir())
        directory = kept.enter_context(private_directory(parent, "neardup-stream-kernels-"))
    except OSError as error:
        raise temporary_files_unavailable(error, _NUMBA_SETTING) from error
    atexit.register(kept.close)
    for each in replaced:
        (directory / _REPLACED).symlink_to(each.absolute())
    return directory


def _is_temporary(place: Path) -> bool:
    return (place / _REPLACED).is_symlink()


def _copy_kernel(read_only: Sequence[Path], directory: Path) -> bool:
    """Copy the first of these directories that holds a kernel; return whether there is one."""
    filled = next((each for each in read_only if holds_kernel(each)), None)
    if filled is None:
        return False
    copy = Path(tempfile.mkdtemp(dir=directory.parent))
    shutil.copytree(filled, copy, dirs_exist_ok=True)
    for copied in (copy, *copy.rglob("*")):
        copied.chmod(0o700)
    try:
        copy.rename(directory)  # at once: another process may load it
    except OSError:  # one has copied it meanwhile
        shutil.rmtree(copy)
    _log.info("kernel_copied", extra={"fields": {"source": str(filled)}})
    return True


def holds_kernel(directory: Path) -> bool:
    """Return whether a cache directory holds each compiled function of a kernel."""
    return (directory / _COMPLETE).exists()
