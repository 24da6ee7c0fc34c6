"""Write to pipes and terminals that another program made non-blocking."""

import select
from io import FileIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["WaitingFile"]


class WaitingFile(FileIO):
    """A file whose `write` waits where a non-blocking pipe is full, instead of returning None."""

    def write(self, data: "Buffer", /) -> int:
        """Write as much as the operating system takes, once it takes any."""
        count: int | None
        while (count := super().write(data)) is None:
            poll = select.poll()
            poll.register(self, select.POLLOUT)
            poll.poll()
        return count

    def write_all(self, data: "Buffer", /) -> None:
        """Write everything, however little the operating system takes at a time."""
        rest = memoryview(data)
        while rest:
            rest = rest[self.write(rest) :]
