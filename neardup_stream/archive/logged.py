"""Read what every archive has, regardless of its parts: the header, the facts and the document log."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from neardup_stream.archive.document_log import DocumentLog
from neardup_stream.archive.layout import Section
from neardup_stream.archive.reading import ArchiveFile
from neardup_stream.errors import ConfigError, CorruptData

__all__ = ["LoggedArchive"]


class LoggedArchive:
    """Opens one archive file. Every byte is checked before an answer rests on it.

    Several threads may ask at once.

    Args:
        path: of the file.

    Attributes:
        file: mapped.
        header: of the file.
        log: URLs, ids and times.

    Raises:
        ConfigError: there is no such file, or it is no archive.
        CorruptData: it is damaged or cut off.
    """

    def __init__(self, path: Path) -> None:
        self.file = ArchiveFile(path)
        self.header = self.file.header
        self.log = DocumentLog(self.file)

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """Return what the archive was made of, see docs/archive-format.md.

        Raises:
            CorruptData: they cannot be read.
        """
        try:
            facts: dict[str, Any] = msgspec.json.decode(self.file.section("facts").tobytes(), type=dict)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CorruptData(f"{self.file.path}: its facts cannot be read: {error}") from error
        return facts

    @property
    def key_count(self) -> int:
        """Return the distinct keys under which pages are found; 0 where none were frozen."""
        slots = self.file.sections.get("key.slots")
        return slots.item_count if slots else 0

    def require_part(self, part: str, section: str) -> Section:
        """Return the entry of a section that archives have only if they were frozen with a part.

        Args:
            part: as `freeze --with` names it.
            section: name of the section.

        Raises:
            ConfigError: the archive was frozen without the part.
        """
        if section not in self.file.sections:
            raise ConfigError(
                f"{self.file.path} was frozen without {part}: freeze its pages again with '--with {part}'"
            )
        return self.file.sections[section]
