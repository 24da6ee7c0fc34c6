"""Describe what an archive holds and whether it is whole, for `archive info` and `archive check`."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import click
import msgspec

from neardup_daemon.terminal import counted, printable
from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.gone import read_gone
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.passage_reading import PassageLists
from neardup_stream.archive.search_tiles import SearchTiles
from neardup_stream.archive.texts import TEXTS_FRAMES, KeptTexts
from neardup_stream.indexes.fuzzy_keys import read_reference
from neardup_stream.wire.times import rfc3339

__all__ = ["ArchiveFacts", "SectionFacts", "archive_facts", "check_archive", "readable"]

_PARTS: Final[Mapping[str, Callable[[LoggedArchive], object]]] = {
    "passages.blocks": PassageLists,
    "search.tiles": SearchTiles,
    TEXTS_FRAMES: KeptTexts,
}
"""What opens a further part, which holds that its sections fit, by a section that only this part has."""


class SectionFacts(msgspec.Struct, frozen=True):
    """One section of the file.

    Attributes:
        name: of the section.
        bytes: without padding.
        bytes_per_page: the same, divided by the pages.
    """

    name: str
    bytes: int
    bytes_per_page: float


class ArchiveFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What an archive says of itself.

    Attributes:
        id: the same for equal content.
        pages: in the document log, forgotten ones too.
        forgotten: of these.
        latest_fetched_at: of the pages that are not removed; null without such pages.
        keys: distinct ones under which near-duplicates are found; 0 where it was frozen without.
        key_kinds: of these keys, beside those of exact texts; none where it was frozen without.
        bits_per_key: what the perfect hash takes, without the slots; 0 without keys.
        bytes: of the file.
        facts: what it was made of.
        sections: of the file.
    """

    id: str
    pages: int
    forgotten: int
    latest_fetched_at: str | None
    keys: int
    key_kinds: tuple[str, ...]
    bits_per_key: float
    bytes: int
    facts: dict[str, object]
    sections: tuple[SectionFacts, ...]

    @property
    def removed(self) -> int:
        """Pages that `archive rewrite` removed, of those in the document log."""
        counts = self.facts.get("counts")
        removed = counts.get("removed", 0) if isinstance(counts, dict) else 0
        return removed if isinstance(removed, int) else 0


def archive_facts(path: Path) -> ArchiveFacts:
    """Read what an archive says of itself.

    Raises:
        ConfigError: there is no such file, or it is no archive.
        CorruptData: it is damaged.
    """
    index = LoggedArchive(path)
    header = index.header
    hashed = sum(
        section.size_bytes
        for section in header.sections
        if section.name in {"key.parts", "key.owners", "key.ranks"}
    )
    return ArchiveFacts(
        id=header.archive_id.hex(),
        pages=header.page_count,
        forgotten=int(read_gone(path, header).sum()),
        latest_fetched_at=rfc3339(header.created_ms) if header.created_ms else None,
        keys=index.key_count,
        key_kinds=tuple(sorted(FrozenIndex(path).key_kinds)) if "key.slots" in index.file.sections else (),
        bits_per_key=round(8 * hashed / index.key_count, 3) if index.key_count else 0.0,
        bytes=header.file_bytes,
        facts=dict(index.facts),
        sections=tuple(
            SectionFacts(each.name, each.size_bytes, round(each.size_bytes / max(header.page_count, 1), 2))
            for each in header.sections
        ),
    )


def check_archive(path: Path) -> str:
    """Read an archive to its last byte; return a line that says it is sound.

    Raises:
        ConfigError: there is no such file, or it is no archive.
        CorruptData: it is damaged.
    """
    index = LoggedArchive(path)
    index.file.check_all()
    pages = sum(1 for _ in index.log.all_pages())
    if "key.slots" in index.file.sections:
        read_reference(FrozenIndex(path))
    for section, part in _PARTS.items():
        if section in index.file.sections:
            part(index)
    read_gone(path, index.header)
    size = counted(index.header.file_bytes, "byte")
    return f"{printable(str(path))}: {counted(pages, 'page')}, {size}, sound"


def readable(facts: ArchiveFacts) -> str:
    """Return the same as text for a person."""
    return "\n".join(_lines(facts))


def _lines(facts: ArchiveFacts) -> Iterator[str]:
    yield f"{click.style('archive ' + facts.id, bold=True)}"
    parts = ((facts.removed, "removed"), (facts.forgotten, "forgotten"))
    left_out = "".join(f", {count:,} of them {how}" for count, how in parts if count)
    until = f", fetched until {facts.latest_fetched_at}" if facts.latest_fetched_at else ""
    yield f"  {counted(facts.pages, 'page')}{left_out}{until}"
    per_page = facts.bytes / max(facts.pages, 1)
    yield f"  {counted(facts.bytes, 'byte')}, {per_page:.1f} a page"
    if facts.keys:
        kinds = " and ".join(facts.key_kinds)
        yield f"  {facts.keys:,} keys ({kinds}); their perfect hash takes {facts.bits_per_key:.2f} bits a key"
    for section in facts.sections:
        yield f"  {section.name:>16} {section.bytes:>14,} bytes {section.bytes_per_page:>8.2f} a page"
