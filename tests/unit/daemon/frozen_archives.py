"""Archives of a few pages, and a daemon's view of them."""

from pathlib import Path
from typing import Literal

from msgspec.structs import replace
from neardup_daemon.archives import archive_schema
from neardup_daemon.reloaded_archives import ReloadedArchives
from neardup_daemon.settings.settings import Settings

from neardup_stream.archive.building import LEAST_MEMORY_BYTES, ArchiveBuilder
from neardup_stream.archive.matching import MatchingWriter
from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.meters import NoMeters, PipelineMeters

__all__ = ["SETTINGS", "freeze", "reloading"]

SETTINGS = Settings()
_NO_METERS = NoMeters()


def freeze(path: Path, *pages: FrozenPage, settings: Settings = SETTINGS, unicode: str = "") -> None:
    schema = archive_schema(settings) | ({"unicode": unicode} if unicode else {})
    with (
        ArchiveWriter(path, replaces=True) as writer,
        ArchiveBuilder(
            writer, path.parent, LEAST_MEMORY_BYTES, [MatchingWriter(path.parent, 8, LEAST_MEMORY_BYTES)]
        ) as builder,
    ):
        for page in pages:
            builder.add(page)
        builder.finish({"schema": schema})


def reloading(
    path: Path,
    on_match: Literal["report", "skip"] = "report",
    meters: PipelineMeters = _NO_METERS,
    other: Path | None = None,
) -> ReloadedArchives:
    files = tuple(map(str, filter(None, (path, other))))
    archive = replace(SETTINGS.archive, files=files, reload_seconds=1e-9, on_match=on_match)
    return ReloadedArchives(replace(SETTINGS, archive=archive), meters)
