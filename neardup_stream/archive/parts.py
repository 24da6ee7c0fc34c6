"""Define the protocol of an archive's parts: everything that `freeze --with` adds to the log."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

from neardup_stream.archive.pages import FrozenPage
from neardup_stream.archive.writing import ArchiveWriter

__all__ = ["PartWriter"]


class PartWriter(Protocol):
    """Collects what it needs of each page, and writes its sections; a context manager.

    The same pages give the same bytes, whatever memory there is.

    Attributes:
        name: of the part, as `freeze --with` names it.
    """

    name: str

    def __enter__(self) -> Self:
        """Create temporary files."""

    def __exit__(self, *exc: object) -> None:
        """Remove them."""

    def add(self, pages: Sequence[FrozenPage], first_row: int) -> None:
        """Take in pages that stand one behind the other in the log.

        Args:
            pages: in the order of the log.
            first_row: row of the first one; the first page behind those that came before.
        """

    def facts(self) -> Mapping[str, Any]:
        """Return what the section `facts` says of the part, once all pages came; JSON."""

    def write(self, writer: ArchiveWriter, page_count: int) -> None:
        """Write the sections.

        Raises:
            StreamUnavailable: the disk is full or failed.
        """
