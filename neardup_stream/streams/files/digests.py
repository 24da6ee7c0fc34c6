"""Compute the identities of files: before they are read, or beside that, where they are needed at the end."""

import hashlib
import os
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import Final, Self

from neardup_stream.cut_short import check_cut
from neardup_stream.errors import StreamUnavailable

__all__ = ["LateDigests", "digest_of"]

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

    def begin(self, path: str, descriptor: int) -> None:
        """Digest an open file; its owner may read, move in and close it meanwhile."""
        if path not in self._digests:
            own = os.dup(descriptor)
            digest = self._executor.submit(digest_of, own, self._is_left)
            digest.add_done_callback(lambda _: os.close(own))  # also where it was cancelled
            self._digests[path] = digest

    def of_paths(self) -> Mapping[str, str]:
        """Return the digest of each path, when all are computed.

        Raises:
            StreamUnavailable: a file cannot be read.
        """
        try:
            return {path: digest.result() for path, digest in self._digests.items()}
        except OSError as error:
            raise StreamUnavailable(f"cannot read the input: {error.strerror}", "disk") from error


def digest_of(descriptor: int, is_left: Event | None = None) -> str:
    """Return the digest of a file, in hexadecimal; its position is not moved. Calls `check_cut` now and then.

    Args:
        descriptor: of the file.
        is_left: once it is set, the digest is of no use, and the rest is not read.
    """
    digest, at = hashlib.blake2b(digest_size=_DIGEST_BYTES), 0
    while chunk := os.pread(descriptor, _CHUNK_BYTES, at):
        digest.update(chunk)
        at += len(chunk)
        check_cut()
        if is_left is not None and is_left.is_set():
            break
    return digest.hexdigest()
