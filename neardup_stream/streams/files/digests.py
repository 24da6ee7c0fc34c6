"""Compute the identities of files: before they are read, or beside that, where they are needed at the end."""

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Final, Self

from neardup_stream.cut_short import CHECK_SECONDS, check_cut
from neardup_stream.errors import StreamUnavailable

__all__ = ["FILE", "EarlyDigests", "Identify", "LateDigests", "identity_of"]

Identify = Callable[[str, int], str]
"""Returns the input id of a regular file, given its path and the descriptor that reads it."""

FILE: Final = "file:"
"""Prefix of the input id of a regular file, before its digest."""

_PATH: Final = "path:"
"""The same while its digest is not known, before its path."""

_DIGEST_BYTES: Final = 16

_CHUNK_BYTES: Final = 1 << 20
"""Bytes read at once: few enough that they are in the processor's cache when they are digested."""


class LateDigests:
    """Digests files while another thread reads them; a context manager."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1)
        self._digests: dict[str, Future[str]] = {}
        self._is_left = Event()

    def __enter__(self) -> Self:
        """Take files from now on."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Finish no digest that was begun."""
        self._is_left.set()
        self._executor.shutdown(cancel_futures=True)

    def identify(self, path: str, descriptor: int) -> str:
        """Return `path:<path>`, and begin a digest; the file may be read, moved in and closed meanwhile."""
        if path not in self._digests:
            own = os.dup(descriptor)
            digest = self._executor.submit(self._digest, own)
            digest.add_done_callback(lambda _: os.close(own))  # also where it was cancelled
            self._digests[path] = digest
        return f"{_PATH}{path}"

    def settled_ids(self) -> Mapping[str, str]:
        """Return the input ids of files by those of `identify`, when all are computed.

        Raises:
            StreamUnavailable: a file cannot be read.
        """
        try:
            return {f"{_PATH}{path}": f"{FILE}{digest.result()}" for path, digest in self._digests.items()}
        except OSError as error:
            raise StreamUnavailable(f"cannot read the input: {error.strerror}", "disk") from error

    def _digest(self, descriptor: int) -> str:
        digest = _Digest(descriptor)
        digest.go_on(self._is_left)
        return digest.hexadecimal()


class EarlyDigests:
    """Digests each file before it is opened to be read; a context manager.

    The first is digested beside whatever its reader has to load, each other one while its predecessor is
    read, all in one thread.

    Args:
        paths: of regular files, in the order in which they will be read.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = deque(paths)
        self._next: _EarlyDigest | None = None

    def __enter__(self) -> Self:
        """Begin with the first."""
        self._begin_next()
        return self

    def __exit__(self, *exc: object) -> None:
        """Finish none that was begun."""
        self._leave()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do without the thread meanwhile: a process that has several is not to be forked."""
        if self._next is not None:
            self._next.pause()
        try:
            yield
        finally:
            if self._next is not None:
                self._next.go_on()

    def identify(self, path: str, descriptor: int) -> str:
        """Return `file:<digest>`, once it is computed, and begin with the next file.

        A file that is not the one that was next, or was written to since, is digested again. Calls
        `check_cut` now and then.
        """
        known = self._next.result(descriptor) if self._next is not None else None
        self._leave()
        self._begin_next()
        return identity_of(path, descriptor) if known is None else f"{FILE}{known}"

    def _begin_next(self) -> None:
        if self._paths:
            with suppress(OSError):  # its reader will say so
                self._next = _EarlyDigest(self._paths.popleft())
                self._next.go_on()

    def _leave(self) -> None:
        if self._next is not None:
            self._next.close()
            self._next = None


class _EarlyDigest:
    """A digest that a thread computes, and that can be paused."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open("rb", buffering=0)  # noqa: SIM115 - closed by its owner
        self._state = _state(self._file.fileno())
        self._digest = _Digest(self._file.fileno())
        self._is_left = Event()
        self._thread: Thread | None = None

    def go_on(self) -> None:
        self._is_left.clear()
        thread = Thread(target=self._compute, name="digest")
        with suppress(RuntimeError):  # no thread can be started: it is digested when it is read
            thread.start()
            self._thread = thread

    def pause(self) -> None:
        self._is_left.set()
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        self.pause()
        self._file.close()

    def result(self, descriptor: int) -> str | None:
        """Return the digest, or None where the descriptor reads another file, or what it is now."""
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(CHECK_SECONDS)
            check_cut()
        is_same = self._state == _state(descriptor) == _state(self._file.fileno())
        return self._digest.hexadecimal() if is_same and self._digest.is_complete else None

    def _compute(self) -> None:
        with suppress(OSError):  # its reader will say so
            self._digest.go_on(self._is_left)


class _Digest:
    """The digest of a file as far as it was read; the position of the file is not moved."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._hash = hashlib.blake2b(digest_size=_DIGEST_BYTES)
        self._at = 0
        self.is_complete = False

    def go_on(self, is_left: Event | None = None) -> None:
        """Read to the end, or until `is_left` is set; calls `check_cut` now and then."""
        while is_left is None or not is_left.is_set():
            chunk = os.pread(self._descriptor, _CHUNK_BYTES, self._at)
            if not chunk:
                self.is_complete = True
                break
            self._hash.update(chunk)
            self._at += len(chunk)
            check_cut()

    def hexadecimal(self) -> str:
        return self._hash.hexdigest()


def identity_of(_path: str, descriptor: int) -> str:
    """Return `file:<digest>`, see `Identify`; calls `check_cut` now and then.

    Cost: the file is read once.
    """
    digest = _Digest(descriptor)
    digest.go_on()
    return f"{FILE}{digest.hexadecimal()}"


def _state(descriptor: int) -> tuple[int, ...]:
    """Return what differs where a file is another one, or was written to."""
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
