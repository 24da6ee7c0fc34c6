"""Files that a test writes, and the records read from them."""

from pathlib import Path

__all__ = ["MAX_PAGE_BYTES", "write"]

MAX_PAGE_BYTES = 100


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path
