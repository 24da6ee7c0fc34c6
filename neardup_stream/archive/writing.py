"""Write archive files section by section under a temporary name, and link them once all is on disk."""

import errno
import fcntl
import os
import re
import secrets
from array import array
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from hashlib import blake2b
from pathlib import Path
from stat import S_IMODE, S_ISREG
from types import TracebackType
from typing import IO, Self

import msgspec
import numpy as np

from neardup_stream.archive.gone import forgets_locked, gone_beside, require_no_other_forgets
from neardup_stream.archive.layout import (
    CHECKS,
    MAX_FILE_BYTES,
    MAX_SECTIONS,
    TAIL_BYTES,
    Header,
    Section,
    checksums,
    padded,
)
from neardup_stream.archive.steps import OnStep, no_step
from neardup_stream.archive.units import PAGE_BYTES
from neardup_stream.durable_names import sync_directory
from neardup_stream.errors import ConfigError, InvariantBroken, StreamUnavailable

__all__ = ["ArchiveWriter"]

_CHUNK_BYTES = 1 << 20
_DIGEST_BYTES = 16
_SUFFIX_BYTES = 8
"""Random bytes in the name of a partial file: process ids repeat between containers that share a volume."""
_READ_RIGHTS = 0o444


class ArchiveWriter:
    """Writes one archive file; a context manager.

    Until `finish` there is only a file of another name in the same directory, which is removed when the block
    ends without it. Afterwards the name leads to all of the new file; readers of a replaced one keep the old.
    The new file is read-only. A replaced file decides who may read it, else the umask does. If a name that
    may be replaced is a link, the file that it leads to is replaced: forgets and their lock are beside that.

    Args:
        path: where the file is to be.
        replaces: whether a file of that name may be replaced.
        rewritten_from: rows id of the archive that it is rewritten from; empty where it is not.
        on_step: called before each step.

    Attributes:
        directory: where the file is to be made.

    Raises:
        ConfigError: the name is taken, has other forgets beside it, or its directory may not be written.
    """

    def __init__(
        self,
        path: Path,
        *,
        replaces: bool = False,
        rewritten_from: bytes = b"",
        on_step: OnStep = no_step,
    ) -> None:
        self.reach = on_step
        self._name = path
        self._path = _led_to(path) if replaces else path
        self.directory = self._path.absolute().parent
        self._rewritten_from = rewritten_from
        self._replaces = replaces
        self._sections: list[Section] = []
        self._checks = array("I")
        self._partial = self._path
        self._new_rights = 0
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Create the file under its other name; remove those that killed processes left."""
        names = {self._name, self._path}
        for name in names:
            _require_place_of_a_file(name)
        _remove_abandoned(self._path)
        if not self._replaces and os.path.lexists(self._path):
            raise _taken(self._path)
        for name in names:
            require_no_other_forgets(name, self._rewritten_from)
        try:
            descriptor, self._partial, self._new_rights = _create_partial(self._path)
        except OSError as error:
            raise ConfigError(f"cannot write {self._path}: {error.strerror}") from error
        self._file = os.fdopen(descriptor, "w+b", buffering=0)
        try:
            with self._reporting():
                self._write(bytes(PAGE_BYTES))
        except StreamUnavailable:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        """Close it; remove what was not finished."""
        if self._file is not None:
            self._file.close()
            with suppress(FileNotFoundError):
                self._partial.unlink()

    def add(self, name: str, chunks: Iterable[bytes], item_count: int, item_bits: int = 0) -> None:
        """Write a section.

        Args:
            name: not used before; ASCII, at most 16 bytes.
            chunks: its bytes, in pieces of any size.
            item_count: how many items it has.
            item_bits: width of an item; 0 where they differ.

        Raises:
            StreamUnavailable: the disk is full or failed.
            ConfigError: there are too many sections, or the file is too large.
        """
        if len(self._sections) >= MAX_SECTIONS - 1:
            raise InvariantBroken(f"section {name} is one too many: at most {MAX_SECTIONS}")
        digest, size, offset = blake2b(digest_size=_DIGEST_BYTES), 0, self._end
        pending = bytearray()
        with self._reporting():
            for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                pending += chunk
                if len(pending) >= _CHUNK_BYTES:
                    whole = len(pending) // PAGE_BYTES * PAGE_BYTES
                    self._write_pages(bytes(pending[:whole]))
                    del pending[:whole]
            self.reach("section")
            tail = padded(size + TAIL_BYTES) - size if size else 0
            self._write_pages(bytes(pending) + bytes(tail))
        if self._end > MAX_FILE_BYTES:
            raise ConfigError(
                f"{self._path} would be larger than {MAX_FILE_BYTES} bytes; freeze less at once"
            )
        self._sections.append(Section(name, offset, size, item_count, item_bits, 0, digest.digest()))

    def finish(self, page_count: int, created_ms: int, seed: int, schema: dict[str, str | int]) -> Header:
        """Write checksums and header, make all of it durable, and give it its name.

        Args:
            page_count: pages in it.
            created_ms: latest time of a page; 0 without pages.
            seed: of the keys.
            schema: everything that decides the bytes kept of a page.

        Raises:
            StreamUnavailable: the disk is full or failed.
            ConfigError: the name was taken meanwhile, or pages of the archive there were forgotten.
        """
        self.reach("checks")
        self._add_checks()
        self.reach("header")
        header = Header(
            file_bytes=self._end,
            page_count=page_count,
            created_ms=created_ms,
            seed=seed,
            archive_id=_digest(b"".join(section.digest for section in self._sections)),
            schema_id=_digest(msgspec.json.encode(schema, order="deterministic")),
            sections=tuple(self._sections),
            **({"rewritten_from": self._rewritten_from} if self._rewritten_from else {}),
        )
        file = self._opened
        with self._reporting():
            os.pwrite(file.fileno(), header.pack(), 0)
            os.fchmod(file.fileno(), self._rights())
            self.reach("sync")
            os.fsync(file.fileno())
            self.reach("publish")
            with forgets_locked(gone_beside(self._path)) if self._replaces else nullcontext():
                self._publish()
        return header

    def _publish(self) -> None:
        require_no_other_forgets(self._path, self._rewritten_from)
        if self._replaces:
            self._partial.replace(self._path)
            self.reach("published")
        else:
            try:
                os.link(self._partial, self._path, follow_symlinks=False)
            except FileExistsError as error:
                raise _taken(self._path) from error
            self.reach("published")
            self._partial.unlink()
        sync_directory(self._path.parent)

    def _rights(self) -> int:
        if self._replaces:
            with suppress(FileNotFoundError):
                return S_IMODE(self._path.stat().st_mode) & _READ_RIGHTS
        return self._new_rights

    @property
    def _end(self) -> int:
        return PAGE_BYTES * (1 + len(self._checks))

    @property
    def _opened(self) -> IO[bytes]:
        if self._file is None:
            raise InvariantBroken("an archive is written before it is opened")
        return self._file

    def _add_checks(self) -> None:
        """Write the checksums of all pages except the header's and their own, as the last section."""
        checks = np.concatenate([np.zeros(1, "<u4"), np.array(self._checks, "<u4")]).tobytes()
        self.add(CHECKS, [checks], len(checks) // 4, 32)

    def _write_pages(self, pages: bytes) -> None:
        self._write(pages)
        self._checks.extend(checksums(pages, 1 + len(self._checks)).tolist())

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._opened.fileno(), view) :]

    def _reporting(self) -> "_Reporting":
        return _Reporting(self._path)


def _led_to(path: Path) -> Path:
    """Return the file that a link leads to, through further ones; else the path itself."""
    with suppress(OSError):  # such as a name that is too long; to create the file raises a better error
        if path.is_symlink():
            return Path(os.path.realpath(path))
    return path


def _create_partial(path: Path) -> tuple[int, Path, int]:
    """Create the partial file of one writer, and lock it: the lock shows that its process is alive.

    Returns:
        Its descriptor, its path, and who may read a new file here by the umask or the rules of the directory.
        Until it is complete, only its owner may.
    """
    while True:
        partial = path.with_name(f".{path.name}.{secrets.token_hex(_SUFFIX_BYTES)}.tmp")
        descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, _READ_RIGHTS)
        try:
            rights = S_IMODE(os.fstat(descriptor).st_mode)
            os.fchmod(descriptor, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            partial.stat()
        except FileNotFoundError:  # another process removed it before it was locked
            os.close(descriptor)
        except OSError:  # as where the file system has no locks
            os.close(descriptor)
            partial.unlink(missing_ok=True)
            raise
        else:
            return descriptor, partial, rights


def _remove_abandoned(path: Path) -> None:
    """Remove what killed processes left beside an archive."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]+\.tmp")
    with suppress(OSError):  # a directory that may not be read; writing to it raises a better error
        for partial in [each for each in path.parent.iterdir() if pattern.fullmatch(each.name)]:
            _remove_unless_locked(partial)


def _remove_unless_locked(partial: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(partial, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            partial.unlink()
        finally:
            os.close(descriptor)


class _Reporting:
    """Turns errors of the disk into ours."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError):
            hint = "; make room there" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
            raise StreamUnavailable(f"cannot write {self._path}: {error.strerror}{hint}", "disk") from error


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST_BYTES).digest()


def _require_place_of_a_file(path: Path) -> None:
    """Raise for what a rename would destroy, or would only seem to write to: pipes, devices, directories."""
    try:
        is_file = S_ISREG(path.stat().st_mode)
    except OSError:  # nothing is there, or creating it will fail
        is_file = True
    if not is_file or path.absolute().parent == Path("/dev") or str(path) == "-":
        raise ConfigError(f"cannot write an archive to {path}: it must be a file")


def _taken(path: Path) -> ConfigError:
    return ConfigError(f"{path} exists already: name another file, or replace it with --force")
