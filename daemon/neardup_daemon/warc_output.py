"""Writes the WARC files of a `dedup` run anew, with duplicates as `revisit` records."""

from collections.abc import Sequence

import msgspec

from neardup_daemon.noting_sink import NotingSink
from neardup_daemon.preparing import page_decoder
from neardup_daemon.settings.settings import Settings
from neardup_stream.errors import ConfigError
from neardup_stream.events import event_type
from neardup_stream.message import Partition, Position
from neardup_stream.streams.files.file_names import has_ending
from neardup_stream.streams.files.inputs import compressible_endings, is_pipe
from neardup_stream.streams.files.outputs import OutputFile
from neardup_stream.streams.files.warc_revisits import Duplicates, RevisitTally, RunLimits, write_revisits
from neardup_stream.streams.protocol import Sink

__all__ = ["NotedDuplicates", "check_warc_inputs", "write_warc"]

_WARC_NAMES = (*compressible_endings((".warc",)), ".wacz")


class _Page(msgspec.Struct, frozen=True):
    id: str


class _Cluster(msgspec.Struct, frozen=True):
    representative: _Page | None = None


class _Data(msgspec.Struct, frozen=True):
    page: _Page = _Page("")
    cluster: _Cluster = _Cluster()


class _Event(msgspec.Struct, frozen=True):
    id: str
    type: str
    data: _Data
    index: str = ""


_EVENTS = msgspec.json.Decoder(_Event)


class NotedDuplicates(NotingSink):
    """A sink that notes which events say `duplicate`, and passes all of them on.

    Cost: some 250 bytes a duplicate.

    Args:
        sink: where events go, as lines of JSON.
    """

    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._index = ""
        self._representatives: dict[str, tuple[str, str]] = {}
        self._dead_letters: set[Position] = set()

    async def _note(self, line: bytes) -> None:
        event = _EVENTS.decode(line)
        self._index = event.index
        kept = event.data.cluster.representative
        if event.type == event_type("duplicate") and kept is not None:
            self._representatives[event.id] = (event.data.page.id, kept.id)

    def note_dead_letter(self, position: Position) -> None:
        """Note that a record is no page."""
        self._dead_letters.add(position)

    def noted(self) -> Duplicates:
        """Return what was noted."""
        return Duplicates(self._index, self._representatives, self._dead_letters)


def check_warc_inputs(paths: Sequence[str]) -> None:
    """Refuse inputs whose records cannot be written anew.

    Raises:
        ConfigError: one is a pipe, or no WARC file.
    """
    for path in paths:
        if is_pipe(path) or not has_ending(path, _WARC_NAMES):
            raise ConfigError(
                f"{path}: --write-warc reads its inputs again and copies records; it needs files named"
                f" {', '.join(_WARC_NAMES)}"
            )


def write_warc(
    inputs: Sequence[tuple[str, Partition]],
    output: str,
    duplicates: Duplicates,
    settings: Settings,
) -> RevisitTally:
    """Write the records of all files to one; where it is cut short, the output keeps what it was.

    Args:
        inputs: paths of the run, and what it has read there.
        output: to write.
        duplicates: what the run decided.
        settings: of the run.

    Raises:
        ConfigError: the output may not be written.
        CorruptData: an input is damaged or has changed; the output is left unfinished.
        StreamUnavailable: the disk is full.
    """
    limits = RunLimits(page_decoder(settings), settings.limits.max_page_bytes)
    with OutputFile(output) as file:
        return write_revisits(inputs, file, duplicates, limits)
