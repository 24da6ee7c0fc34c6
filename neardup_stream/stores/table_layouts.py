"""Say which layout of the tables is in force, and which one is being filled beside it.

Layouts have numbers; the first is 0. The state is stored behind the token of the index, in the cell that
every read of the clusters returns and every commit expects (`guarded_clusters`). So each process learns of a
change with its next read, and no page is decided that was probed and inserted by a former state.
"""

from typing import Final, NamedTuple

from neardup_stream.errors import StoreUnavailable

__all__ = ["LayoutChanged", "LayoutState", "TableLayouts"]

_SEPARATOR: Final = b"/"


class LayoutChanged(StoreUnavailable):
    """The layout of the tables changed after pages were probed: probe them again, in the layout in force."""


class LayoutState(NamedTuple):
    """Where pages are probed and inserted.

    Attributes:
        change: how often the state was changed.
        current: number of the layout in force: pages are probed and inserted there.
        filling: number of the layout that is filled beside it: pages are inserted there too; None for none.
    """

    change: int = 0
    current: int = 0
    filling: int | None = None

    def pack(self) -> bytes:
        """Return what is stored behind the token; nothing where the layout was never changed.

        >>> LayoutState(3, 1, 2).pack()
        b'/3/1/2'
        """
        if not self.change:
            return b""
        filling = b"" if self.filling is None else b"%d" % self.filling
        return b"/%d/%d/%b" % (self.change, self.current, filling)

    @classmethod
    def unpack(cls, packed: bytes) -> "LayoutState | None":
        """Return the state; None if these bytes are none.

        >>> LayoutState.unpack(b"/3/1/2")
        LayoutState(change=3, current=1, filling=2)
        """
        if not packed:
            return cls()
        empty, *fields = packed.split(_SEPARATOR)
        if empty or len(fields) != len(cls._fields) or not all(map(bytes.isdigit, fields[:2])):
            return None
        change, current, filling = fields
        if filling and not filling.isdigit():
            return None
        return cls(int(change), int(current), int(filling) if filling else None)


class TableLayouts:
    """The state that this process uses, and the latest one that it has read."""

    def __init__(self, state: LayoutState | None = None) -> None:
        self.used = self.found = state or LayoutState()

    def learn(self, state: LayoutState) -> None:
        """Take in a state that was read; reads may be answered out of order."""
        self.found = max(self.found, state, key=lambda each: each.change)

    def adopt(self) -> None:
        """Use the latest state from now on; what was probed before is to be probed again."""
        self.used = self.found

    def require(self, probed_change: int) -> None:
        """Require that pages were probed in the state in use, and that this is the latest one.

        Raises:
            LayoutChanged: adopt the latest state, and probe them again.
        """
        if not probed_change == self.used.change == self.found.change:
            raise LayoutChanged(
                f"pages were probed before change {self.found.change} of the layout of the tables"
            )
