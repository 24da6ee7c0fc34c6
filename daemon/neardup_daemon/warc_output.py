"""Writes the WARC files of a `dedup` run anew, with duplicates as `revisit` records."""

from collections.abc import Sequence
from typing import Self

import msgspec

from neardup_stream.errors import ConfigError
from neardup_stream.events import event_type
from neardup_stream.message import Message
from neardup_stream.streams.files.inputs import is_pipe
from neardup_stream.streams.files.outputs import OutputFile
from neardup_stream.streams.files.warc_revisits import Duplicates, RevisitTally, write_revisits
from neardup_stream.streams.protocol import Sink

__all__ = ["NotedDuplicates", "check_warc_inputs", "write_warc"]

_WARC_NAMES = (".warc", ".warc.gz", ".wacz")


class _Page(msgspec.Struct, frozen=True):
    id: str


class _Cluster(msgspec.Struct, frozen=True):
    representative: _Page | None = None


class _Data(msgspec.Struct, frozen=True):
    page: _Page = _Page("")
    cluster: _Cluster = _Cluster()


class _Line(msgspec.Struct, frozen=True):
    id: str
    type: str
    data: _Data
    index: str = ""


_LINES = msgspec.json.Decoder(_Line)


class NotedDuplicates:
    """A sink that notes which events say `duplicate`, and passes all of them on.

    Cost: some 250 bytes a duplicate.

    Args:
        sink: where events go, as lines of JSON.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._index = ""
        self._representatives: dict[str, tuple[str, str]] = {}

    async def __aenter__(self) -> Self:
        """Return itself; the sink was opened before."""
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Leave the sink open."""

    @property
    def max_message_bytes(self) -> int | None:
        """Return the limit of the sink."""
        return self._sink.max_message_bytes

    async def send(self, messages: Sequence[Message]) -> None:
        """Pass messages on, then note them."""
        await self._sink.send(messages)
        for message in messages:
            line = _LINES.decode(message.value or b"")
            self._index = line.index
            kept = line.data.cluster.representative
            if line.type == event_type("duplicate") and kept is not None:
                self._representatives[line.id] = (line.data.page.id, kept.id)

    def noted(self) -> Duplicates:
        """Return what was noted."""
        return Duplicates(self._index, self._representatives)


def check_warc_inputs(paths: Sequence[str]) -> None:
    """Refuse inputs whose records cannot be written anew.

    Raises:
        ConfigError: one is a pipe, or no WARC file.
    """
    for path in paths:
        if is_pipe(path) or not path.endswith(_WARC_NAMES):
            raise ConfigError(
                f"{path}: --write-warc reads its inputs twice and copies records; it needs files named"
                f" {', '.join(_WARC_NAMES)}"
            )


def write_warc(paths: Sequence[str], output: str, duplicates: Duplicates) -> RevisitTally:
    """Write the records of all files to one.

    Raises:
        ConfigError: the output may not be written.
        CorruptData: an input is damaged; the output is left unfinished.
        StreamUnavailable: the disk is full.
    """
    with OutputFile(output) as file:
        return write_revisits(paths, file, duplicates)
