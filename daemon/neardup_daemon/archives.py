"""Open archives for commands and the daemon: check that they fit the settings, and reload replaced ones."""

import logging
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Final, NamedTuple

from neardup_daemon.logs import log_event
from neardup_daemon.preparing import simhash_config, sketch_config
from neardup_daemon.settings.settings import Settings
from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.gone import gone_path, read_gone
from neardup_stream.archive.keys import BANDS_ONLY, KeyKind
from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.fingerprints.simhash import schema_fields
from neardup_stream.fingerprints.sketch import sketch_schema_fields
from neardup_stream.indexes.fuzzy_keys import key_schema, read_reference
from neardup_stream.pipeline.consultation import OpenArchive
from neardup_stream.pipeline.kept_text import PREFIXES, TextParts
from neardup_stream.streams.files.file_names import utf8_name

__all__ = [
    "ReloadedArchives",
    "archive_ids",
    "archive_schema",
    "open_archive",
    "open_archives",
    "require_text_fit",
    "text_schema",
]

_logger = logging.getLogger(__name__)

_UNICODE: Final = "unicode"
"""The only field that may differ: characters added by a later Unicode are rare, and an archive is kept."""

_TOKEN_FIELDS: Final = ("token_hash", "max_token_characters", _UNICODE)

_SETTINGS: Final = {
    "window_tokens": "text.window_tokens",
    "min_tokens": "verdict.min_tokens",
    "extraction": "text.extraction",
    "scope": "verdict.scope",
    "shingle_tokens": "sketch.shingle_tokens",
    "sketch_bins": "sketch.bins",
    "sketch_code_bits": "sketch.code_bits",
    "bands": "index.bands",
}
"""Which setting decides a field of the schema; the others belong to the program."""


def text_schema(settings: Settings) -> dict[str, str | int]:
    """Everything that decides the tokens of a page, by name; part of the schema of every archive."""
    simhash = schema_fields(simhash_config(settings))
    return {name: simhash[name] for name in _TOKEN_FIELDS} | {"extraction": settings.text.extraction}


def archive_schema(settings: Settings, key_kinds: frozenset[KeyKind] = BANDS_ONLY) -> dict[str, str | int]:
    """Everything that decides what an archive keeps of a page, by name.

    Raises:
        ConfigError: pages are compared without sketches, or found without bands.
    """
    sketch = sketch_config(settings)
    if sketch is None or not sketch.bands:
        raise ConfigError(
            "archives find pages by the bands of their sketches: verdict.scheme must be sketch and"
            " index.bands above 0"
        )
    return {
        **schema_fields(simhash_config(settings)),
        **sketch_schema_fields(sketch),
        "extraction": settings.text.extraction,
        "scope": settings.verdict.scope,
        **key_schema(key_kinds),
    }


class _Signature(NamedTuple):
    """The identity of a file, to detect a replacement without reading it."""

    device: int
    inode: int
    size_bytes: int
    modified_ns: int


class _Held(NamedTuple):
    """An archive and the files that it was opened from."""

    archive: OpenArchive
    seen: tuple[_Signature | None, _Signature | None]


class ReloadedArchives:
    """The archives of the settings, opened anew when their files, or their forgets, are replaced.

    A file that is missing, damaged or does not fit when it is replaced is logged, and the former one is asked
    on. So it is with a file that has fuzzy keys where none had at start: pages are not prepared for them.
    Where a match decides that a page is skipped, the archives are part of the policy, and only their forgets
    may change.

    Args:
        settings: which they are, how often to look, and how pages are compared.
        agreed_ids: ids of the archives in the policy that was compared; None where they are no part of it.

    Attributes:
        text_parts: what of the texts of pages they are asked with.

    Raises:
        ConfigError: one of them is missing, is no archive, was made with other settings, or was replaced
            since the policy was compared.
        CorruptData: one of them is damaged.
    """

    def __init__(self, settings: Settings, agreed_ids: Sequence[str] | None = None) -> None:
        self._settings = settings
        self._paths = [Path(name) for name in settings.archive.files]
        self._held = [self._opened(path) for path in self._paths]
        is_fuzzy = any("fuzzy" in held.archive.index.key_kinds for held in self._held)
        self.text_parts: TextParts = frozenset({PREFIXES} if is_fuzzy else ())
        self._looked_seconds = monotonic()
        self._lock = Lock()
        if agreed_ids is not None:
            self._require_agreed(agreed_ids)
        if settings.archive.verify_at_start:
            for held in self._held:
                held.archive.index.file.check_all()

    def current(self) -> list[OpenArchive]:
        """Return the archives to ask now. Cost: 10 µs a file every `archive.reload_seconds`."""
        with self._lock:
            now = monotonic()
            if now - self._looked_seconds >= self._settings.archive.reload_seconds:
                self._looked_seconds = now
                self._held = [
                    self._renewed(path, held) for path, held in zip(self._paths, self._held, strict=True)
                ]
            return [held.archive for held in self._held]

    def _opened(self, path: Path) -> _Held:
        seen = (_signature(path), _signature(gone_path(path)))
        return _Held(open_archive(path, self._settings), seen)

    def _renewed(self, path: Path, held: _Held) -> _Held:
        if held.seen == (_signature(path), _signature(gone_path(path))):
            return held
        try:
            renewed = self._opened(path)
            self._require_allowed(path, held.archive, renewed.archive)
        except (ConfigError, CorruptData) as error:
            log_event(
                _logger, "archive_reload_failed", level=logging.WARNING, path=str(path), error=str(error)
            )
            return held
        archive = renewed.archive
        log_event(_logger, "archive_reloaded", path=str(path), archive=archive.index.header.archive_id.hex())
        return renewed

    def _require_agreed(self, agreed_ids: Sequence[str]) -> None:
        for path, held, agreed in zip(self._paths, self._held, agreed_ids, strict=True):
            if (now := held.archive.index.header.archive_id.hex()) != agreed:
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
        before, now = (each.index.header.archive_id.hex() for each in (former, new))
        if self._settings.archive.on_match == "skip" and before != now:
            raise ConfigError(
                f"{path} is archive {now} now, and archive.on_match is skip: stop all daemons, raise"
                f" verdict.policy by one, and start them again; archive {before} is asked until then"
            )


def archive_ids(settings: Settings) -> list[str]:
    """Return ids of the archives of the settings, in hexadecimal, in the order of their files.

    Raises:
        ConfigError: one of them is missing, or is no archive.
        CorruptData: one of them is damaged.
    """
    return [FrozenIndex(Path(name)).header.archive_id.hex() for name in settings.archive.files]


def _signature(path: Path) -> _Signature | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return _Signature(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def open_archives(paths: Sequence[Path], settings: Settings) -> list[OpenArchive]:
    """Open archives to compare pages with, in the order given.

    Raises:
        ConfigError: one of them is missing, is no archive, or was made with other settings.
        CorruptData: one of them is damaged.
    """
    return [open_archive(path, settings) for path in paths]


def open_archive(path: Path, settings: Settings) -> OpenArchive:
    """Open one archive to compare pages with.

    Raises:
        ConfigError: it is missing, is no archive, or was made with other settings.
        CorruptData: it is damaged.
    """
    index = FrozenIndex(path)
    _require_fit(path, index.facts.get("schema"), archive_schema(settings, index.key_kinds))
    gone = read_gone(path, index.header)
    return OpenArchive(utf8_name(path.name), index, gone, read_reference(index))


def require_text_fit(path: Path, frozen: object, settings: Settings) -> None:
    """Hold texts to be read as those of an archive were: for the parts that are made of texts.

    Args:
        path: of the archive, for messages.
        frozen: its schema.
        settings: how texts are read now.

    Raises:
        ConfigError: they are read otherwise.
    """
    own = text_schema(settings)
    stored = frozen if isinstance(frozen, dict) else {}
    _require_fit(path, {name: value for name, value in stored.items() if name in own}, own)


def _require_fit(path: Path, frozen: object, own: dict[str, str | int]) -> None:
    stored = frozen if isinstance(frozen, dict) else {}
    differing = [name for name in sorted(own.keys() | stored.keys()) if own.get(name) != stored.get(name)]
    if _UNICODE in differing:
        differing.remove(_UNICODE)
        log_event(
            _logger,
            "archive_unicode_differs",
            level=logging.WARNING,
            path=str(path),
            archive=stored.get(_UNICODE),
            program=own[_UNICODE],
        )
    if differing:
        differences = ", ".join(
            f"{_SETTINGS.get(name, name)} is {own.get(name)!r}, the archive has {stored.get(name)!r}"
            for name in differing
        )
        raise ConfigError(f"{path} was frozen with other settings than the current ones: {differences}")
