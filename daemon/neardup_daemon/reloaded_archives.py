"""The archives of a daemon, opened anew when their files, or their forgets, are replaced."""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from typing import NamedTuple

from neardup_daemon.archives import distinct_archives, open_archive
from neardup_daemon.logs import log_event
from neardup_daemon.settings.settings import Settings
from neardup_stream.archive.gone import gone_path, read_gone
from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.meters import PipelineMeters
from neardup_stream.pipeline.archive_lookup import OpenArchive
from neardup_stream.pipeline.kept_text import PREFIXES, TextParts

__all__ = ["ReloadedArchives"]

_logger = logging.getLogger(__name__)


class _Signature(NamedTuple):
    """The identity of a file, to detect a replacement without reading it."""

    device: int
    inode: int
    size_bytes: int
    modified_ns: int


class _Files(NamedTuple):
    """What stands under the name of an archive, and its forgets; None where there is no such file."""

    archive: _Signature | None
    forgets: _Signature | None


class _Held(NamedTuple):
    """An archive that is asked.

    Attributes:
        archive: open.
        files: that it was opened from.
        renewal: opens the file that has taken its place; None where none is opened.
        refused: what stands under its name and was refused; None while it is the archive itself.
    """

    archive: OpenArchive
    files: _Files
    renewal: "Future[_Held] | None" = None
    refused: _Files | None = None


class ReloadedArchives:
    """The archives of the settings, opened anew when their files, or their forgets, are replaced.

    A file that is missing, damaged or does not fit when it is replaced is logged once, and the former one is
    asked on. So it is with a file that has fuzzy keys where none had at start: pages are not prepared for
    them.
    Where a match decides that a page is skipped, the archives are part of the policy, and only their forgets
    may change, by a rewrite too.

    Args:
        settings: which they are, how often to look, and how pages are compared.
        meters: where it is reported how many are not the file under their name.
        agreed_ids: ids of the archives in the policy that was compared; None where they are no part of it.

    Attributes:
        text_parts: what of the texts of pages they are asked with.

    Raises:
        ConfigError: one of them is missing, is no archive, was made with other settings, or was replaced
            since the policy was compared.
        CorruptData: one of them is damaged.
    """

    def __init__(
        self, settings: Settings, meters: PipelineMeters, agreed_ids: Sequence[str] | None = None
    ) -> None:
        self._settings = settings
        self._meters = meters
        self._paths = [Path(name) for name in settings.archive.files]
        self._held = [self._opened(path, _files(path)) for path in self._paths]
        is_fuzzy = any("fuzzy" in held.archive.index.key_kinds for held in self._held)
        self.text_parts: TextParts = frozenset({PREFIXES} if is_fuzzy else ())
        self._looked_seconds = monotonic()
        self._lock = Lock()
        if agreed_ids is not None:
            self._require_agreed(agreed_ids)
        for held in self._held:
            self._verify(held.archive)

    def current(self) -> list[OpenArchive]:
        """Return the archives to ask now, without repeats.

        Cost: 10 µs a file every `archive.reload_seconds`.

        A replaced file is opened in a thread of its own, because to verify it takes a second a GB.
        """
        with self._lock:
            now = monotonic()
            is_due = now - self._looked_seconds >= self._settings.archive.reload_seconds
            if is_due:
                self._looked_seconds = now
            pairs = list(zip(self._paths, self._held, strict=True))
            self._held = [self._looked_at(path, held, is_due=is_due) for path, held in pairs]
            self._meters.refused_archives(sum(held.refused is not None for held in self._held))
            return distinct_archives((held.archive for held in self._held), lambda each: each.index.header)

    def _looked_at(self, path: Path, held: _Held, *, is_due: bool) -> _Held:
        if held.renewal is not None and held.renewal.done():
            held, is_due = held.renewal.result(), True  # what is forgotten may have changed meanwhile
        if not is_due:
            return held
        files = _files(path)
        held = _with_forgets(path, held, files)
        if held.renewal is not None or files == held.refused:
            return held
        if files == held.files:
            return held._replace(refused=None)
        if held.files.archive == files.archive:
            return self._renewed(path, held, files)
        return held._replace(renewal=_begun(partial(self._renewed, path, held, files)))

    def _renewed(self, path: Path, held: _Held, files: _Files) -> _Held:
        """Return what takes the place of an archive: the former one where the new one is refused."""
        try:
            renewed = self._reopened(path, held, files)
        except (ConfigError, CorruptData, OSError, MemoryError) as error:
            log_event(
                _logger, "archive_reload_failed", level=logging.WARNING, path=str(path), error=str(error)
            )
            return held._replace(refused=files)
        archive_id = renewed.archive.index.header.archive_id.hex()
        log_event(_logger, "archive_reloaded", path=str(path), archive=archive_id)
        return renewed

    def _reopened(self, path: Path, held: _Held, files: _Files) -> _Held:
        """Return what stands there now; where its forgets alone are others, they are read and no more."""
        if held.files.archive == files.archive:
            return _Held(_without_gone(path, held.archive), files)
        opened = self._opened(path, files)
        self._require_allowed(path, held.archive, opened.archive)
        self._verify(opened.archive)
        return opened

    def _opened(self, path: Path, files: _Files) -> _Held:
        return _Held(open_archive(path, self._settings), files)

    def _verify(self, archive: OpenArchive) -> None:
        if self._settings.archive.verify_at_start:
            archive.index.file.check_all()

    def _require_agreed(self, agreed_ids: Sequence[str]) -> None:
        for path, held, agreed in zip(self._paths, self._held, agreed_ids, strict=True):
            if (now := held.archive.index.header.rows_id.hex()) != agreed:
                raise ConfigError(
                    f"{path} is archive {now} now, and was archive {agreed} when verdict.policy was compared:"
                    " it was replaced meanwhile; put the former file back, or stop all daemons and raise"
                    " verdict.policy by one; then start again"
                )

    def _require_allowed(self, path: Path, former: OpenArchive, new: OpenArchive) -> None:
        if "fuzzy" in new.index.key_kinds and not self.text_parts:
            raise ConfigError(
                f"{path} has fuzzy keys now, and pages are not prepared for them: start the daemon again; the"
                " former archive is asked until then"
            )
        before, now = (each.index.header.rows_id.hex() for each in (former, new))
        if self._settings.archive.on_match == "skip" and before != now:
            raise ConfigError(
                f"{path} is archive {now} now, and archive.on_match is skip: stop all daemons, raise"
                f" verdict.policy by one, and start them again; archive {before} is asked until then"
            )


def _with_forgets(path: Path, held: _Held, files: _Files) -> _Held:
    """Return an archive with what is forgotten of it, though another file, or none, stands under its name."""
    if files.archive == held.files.archive or files.forgets in (None, held.files.forgets):
        return held
    try:
        archive = _without_gone(path, held.archive)
    except (ConfigError, CorruptData):  # forgets of the other file
        return held
    return held._replace(archive=archive, files=held.files._replace(forgets=files.forgets))


def _without_gone(path: Path, archive: OpenArchive) -> OpenArchive:
    """Return an open archive without what is forgotten of it by now."""
    return replace(archive, gone=read_gone(path, archive.index.header))


def _begun(renew: Callable[[], _Held]) -> Future[_Held]:
    """Run it in a thread for which the end of the process does not wait."""
    renewal = Future[_Held]()

    def run() -> None:
        try:
            renewal.set_result(renew())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            renewal.set_exception(error)

    Thread(target=run, name="renew-archive", daemon=True).start()
    return renewal


def _files(path: Path) -> _Files:
    return _Files(_signature(path), _signature(gone_path(path)))


def _signature(path: Path) -> _Signature | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return _Signature(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
