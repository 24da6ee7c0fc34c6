"""Open archives for commands and the daemon, and check that they fit the settings."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from neardup_daemon.logs import log_event
from neardup_daemon.preparing import simhash_config, sketch_config
from neardup_daemon.settings.settings import Settings
from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.gone import read_gone
from neardup_stream.archive.keys import BANDS_ONLY, KeyKind
from neardup_stream.archive.layout import Header
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.simhash import SimhashConfig, schema_fields
from neardup_stream.fingerprints.sketch import sketch_schema_fields
from neardup_stream.indexes.fuzzy_keys import key_schema, read_reference
from neardup_stream.pipeline.archive_lookup import OpenArchive
from neardup_stream.streams.files.file_names import utf8_name

__all__ = [
    "archive_ids",
    "archive_schema",
    "differing_fields",
    "distinct_archives",
    "open_archive",
    "open_archives",
    "require_text_fit",
    "text_schema",
    "token_schema",
]

_logger = logging.getLogger(__name__)

_T = TypeVar("_T")

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
    return token_schema(simhash_config(settings)) | {"extraction": settings.text.extraction}


def token_schema(config: SimhashConfig) -> dict[str, str | int]:
    """Everything that makes tokens of a text, by name."""
    simhash = schema_fields(config)
    return {name: simhash[name] for name in _TOKEN_FIELDS}


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


def archive_ids(settings: Settings) -> list[str]:
    """Return ids of the archives of the settings, in hexadecimal, in the order of their files.

    An archive shares its id here with those that are rewritten from it, which differ in forgets only.

    Raises:
        ConfigError: one of them is missing, or is no archive.
        CorruptData: one of them is damaged.
    """
    return [FrozenIndex(Path(name)).header.rows_id.hex() for name in settings.archive.files]


def open_archives(paths: Sequence[Path], settings: Settings) -> list[OpenArchive]:
    """Open archives to compare pages with, in the order given; one that is named twice is opened once.

    Raises:
        ConfigError: one of them is missing, is no archive, or was made with other settings.
        CorruptData: one of them is damaged.
    """
    return distinct_archives((open_archive(path, settings) for path in paths), lambda each: each.index.header)


def distinct_archives(archives: Iterable[_T], header_of: Callable[[_T], Header]) -> list[_T]:
    """Return archives without repeats of earlier ones, whose pages would be found, and counted, twice.

    A repeat is the same archive under another name, a copy of it, or a rewrite, which differs in forgets
    only.

    Args:
        archives: open, in the order given.
        header_of: returns the header of one.
    """
    distinct = dict[bytes, _T]()
    for archive in archives:
        distinct.setdefault(header_of(archive).rows_id, archive)
    return list(distinct.values())


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


def differing_fields(path: Path, stored: Mapping[str, object], own: Mapping[str, str | int]) -> list[str]:
    """Return the fields of a schema that are others in an archive; a differing Unicode is only warned of.

    Args:
        path: of the archive, for the warning.
        stored: its schema, or a part of that.
        own: that of this program.
    """
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
    return differing


def _require_fit(path: Path, frozen: object, own: dict[str, str | int]) -> None:
    stored = frozen if isinstance(frozen, dict) else {}
    if differing := differing_fields(path, stored, own):
        differences = ", ".join(
            f"{_SETTINGS.get(name, name)} is {own.get(name)!r}, the archive has {stored.get(name)!r}"
            for name in differing
        )
        raise ConfigError(f"{path} was frozen with other settings than the current ones: {differences}")
