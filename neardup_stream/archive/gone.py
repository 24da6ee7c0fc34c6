"""List the forgotten pages of an archive in a small file next to it, because the archive never changes."""

import errno
import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from stat import S_IMODE

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.layout import Header
from neardup_stream.archive.steps import OnStep, no_step
from neardup_stream.archive.units import PAGE_BYTES
from neardup_stream.durable_names import sync_directory
from neardup_stream.errors import ConfigError, CorruptData, StreamUnavailable

__all__ = [
    "ReplacedMeanwhile",
    "forgets_locked",
    "gone_beside",
    "gone_path",
    "read_gone",
    "require_no_other_forgets",
    "write_gone",
]

_MAGIC = b"\x89NDGONE\n"
_ID_BYTES = 16
_DIGEST_BYTES = 16
_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_BITS_START = len(_MAGIC) + _ID_BYTES


class ReplacedMeanwhile(ConfigError):  # noqa: N818 - as the errors of neardup_stream.errors are named
    """The archive at a path is another one than the one that was read there."""


def gone_path(archive: Path) -> Path:
    """Return where the forgets of an archive are kept: beside the file itself, also of one that is a link."""
    return gone_beside(Path(os.path.realpath(archive)))


def gone_beside(name: Path) -> Path:
    """Return where the forgets will be kept of an archive that takes this name, and the place of a link."""
    return Path(f"{name}.gone")


def read_gone(archive: Path, header: Header) -> NDArray[np.bool_]:
    """For each page of an archive whether it is forgotten.

    Args:
        archive: path of the archive.
        header: of the archive.

    Raises:
        CorruptData: the file is damaged, or belongs to another archive.
        ConfigError: it may not be read, or there are forgets beside a link to the archive.
    """
    path, beside_link = gone_path(archive), gone_beside(archive)
    if archive.is_symlink() and os.path.lexists(beside_link):
        raise ConfigError(f"{beside_link} stands beside a link to the archive: move it to {path}")
    try:
        packed = path.read_bytes()
    except FileNotFoundError:
        return np.zeros(header.page_count, np.bool_)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    bits = packed[_BITS_START:-_DIGEST_BYTES]
    if packed != _packed(bits, header) or len(bits) != -(-header.page_count // 8):
        raise CorruptData(
            f"{path} is damaged, or belongs to another archive than {archive.name}:"
            " restore it, or remove it and forget its pages again"
        )
    flags = np.unpackbits(np.frombuffer(bits, np.uint8), count=header.page_count, bitorder="little")
    return flags.astype(np.bool_)


def require_no_other_forgets(archive: Path, rows_id: bytes) -> None:
    """Refuse to write an archive beside the forgets of another one: it would have the withdrawn pages again.

    Args:
        archive: path of the archive to be written.
        rows_id: forgets of archives that have it hold for the new one too; none do for an empty one.

    Raises:
        ConfigError: there are forgets.
    """
    path = gone_beside(archive)
    try:
        packed = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    if rows_id and packed[len(_MAGIC) : _BITS_START] == rows_id:
        return
    count = int.from_bytes(packed[_BITS_START:-_DIGEST_BYTES], "little").bit_count()
    raise ConfigError(
        f"{path} notes {count} forgotten pages, which a new {archive.name} could hold again: name another"
        f" file and forget the pages there, or remove {path.name} first"
    )


def write_gone(archive: Path, header: Header, rows: Iterable[int], on_step: OnStep = no_step) -> int:
    """Add pages to those that are forgotten; return how many of them were not before.

    Processes that do so at the same time, or replace the archive, wait for each other. `mv` waits for no
    lock: if another archive is at this path afterwards, the former file is restored. What is added is
    durable.

    Raises:
        ReplacedMeanwhile: the archive at this path does not have the rows of this header.
        ConfigError: we may not write beside the archive.
        CorruptData: the file that is there is damaged, or belongs to another archive.
        StreamUnavailable: the disk is full or failed.
    """
    with forgets_locked(gone_path(archive)):
        _require_rows(archive, header)
        gone = read_gone(archive, header)
        before = int(gone.sum())
        former = _packed_flags(gone, header) if gone_path(archive).exists() else None
        gone[list(rows)] = True
        added = int(gone.sum()) - before
        if added:
            packed = _packed_flags(gone, header)
            _replace(gone_path(archive), packed, on_step)
            try:
                _require_rows(archive, header)
            except ConfigError:
                _restore(gone_path(archive), packed, former)
                raise
    return added


def _restore(path: Path, written: bytes, former: bytes | None) -> None:
    """Undo a replacement, unless the file was replaced once more meanwhile."""
    try:
        if path.read_bytes() != written:
            return
        if former is None:
            path.unlink()
            return
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unwritten(path, error) from error
    _replace(path, former, no_step)


def _require_rows(archive: Path, header: Header) -> None:
    try:
        with archive.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            present = Header.unpack(file.read(PAGE_BYTES), str(archive), size)
    except OSError as error:
        raise ConfigError(f"cannot read {archive}: {error.strerror}") from error
    if present.rows_id != header.rows_id:
        raise ReplacedMeanwhile(
            f"{archive} was replaced by archive {present.archive_id.hex()} while pages were forgotten of"
            f" {header.archive_id.hex()}: forget them again"
        )


@contextmanager
def forgets_locked(path: Path) -> Iterator[None]:
    """Wait for other writers of the forgets of an archive, and for those who replace it, and exclude them.

    Args:
        path: of the forgets.

    Raises:
        ConfigError: we may not write beside the archive.
        StreamUnavailable: the lock file cannot be made, or locked.

    The lock file is never removed: a process that waits for a removed one would exclude no other.
    """
    lock = path.with_name(f".{path.name}.lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise _unwritten(lock, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            raise _unwritten(lock, error) from error
        yield
    finally:
        os.close(descriptor)


def _replace(path: Path, content: bytes, on_step: OnStep) -> None:
    """Replace a file durably: both its content and its name are on disk afterwards. Its rights stay."""
    partial = path.with_name(f".{path.name}.tmp")  # of the process with the lock; a killed one may leave it
    try:
        with partial.open("wb") as file:
            with suppress(FileNotFoundError):
                os.fchmod(file.fileno(), S_IMODE(path.stat().st_mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        on_step("forget")
        partial.replace(path)
        on_step("forgotten")
        sync_directory(path.parent)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise _unwritten(path, error) from error


def _unwritten(path: Path, error: OSError) -> ConfigError | StreamUnavailable:
    words = f"cannot write {path}: {error.strerror}"
    return ConfigError(words) if error.errno in _REFUSED else StreamUnavailable(words, "disk")


def _packed_flags(gone: NDArray[np.bool_], header: Header) -> bytes:
    return _packed(np.packbits(gone, bitorder="little").tobytes(), header)


def _packed(bits: bytes, header: Header) -> bytes:
    content = _MAGIC + header.rows_id + bits
    return content + blake2b(content, digest_size=_DIGEST_BYTES).digest()
