"""Reads files as far as they can be read."""

from collections.abc import Sequence

from neardup_stream.errors import CorruptData
from neardup_stream.message import Record
from neardup_stream.streams.files.digests import Identify
from neardup_stream.streams.files.source import FileSource
from neardup_stream.streams.protocol import EndOfStream

__all__ = ["ReadableSource"]


class ReadableSource(FileSource):
    """Files as far as they can be read: where they are damaged the pipeline finishes what came before.

    Attributes:
        damage: of files, once all were read.
        run_name: as it was given.
    """

    damage: CorruptData | None = None

    def __init__(self, paths: Sequence[str], max_page_bytes: int, run_name: str, identify: Identify) -> None:
        super().__init__(paths, max_page_bytes, run_name, identify)
        self.run_name = run_name

    async def read(self, max_records: int, max_bytes: int) -> Sequence[Record]:
        """Return the next records; a damaged file ends like others."""
        try:
            return await super().read(max_records, max_bytes)
        except CorruptData as error:
            self.damage = error
            raise EndOfStream from error
