"""Files that a test writes, and the records read from them."""

from collections.abc import Sequence
from pathlib import Path

from neardup_stream.message import Record
from neardup_stream.streams.files.source import FileSource
from tests.contracts.streams import read_records

__all__ = ["MAX_PAGE_BYTES", "read_files", "skippable_frame", "write"]

MAX_PAGE_BYTES = 100


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def skippable_frame(content: bytes) -> bytes:
    """Return a frame of zstd that holds no compressed data, as that with the dictionary of a WARC file."""
    return b"\x5d\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content


async def read_files(*paths: Path, max_page_bytes: int = MAX_PAGE_BYTES) -> Sequence[Record]:
    """Return every record of the files."""
    async with FileSource([str(path) for path in paths], max_page_bytes) as source:
        return await read_records(source)
