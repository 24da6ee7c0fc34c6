"""Write to pipes and terminals, also where one is full: wait for its reader until the work is cut short."""

import os
import select
from io import FileIO
from stat import S_ISREG
from typing import TYPE_CHECKING, Final

from neardup_stream.cut_short import CHECK_SECONDS, check_cut

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["NamedFile", "WaitingFile", "wait_for"]

_WAIT_MS: Final = int(CHECK_SECONDS * 1000)


class WaitingFile(FileIO):
    """A file whose `write` waits where a pipe is full, blocking or not, and calls `check_cut` meanwhile."""

    def write(self, data: "Buffer", /) -> int:
        """Write as much as the operating system takes, once it takes any."""
        count: int | None = None
        is_regular = S_ISREG(os.fstat(self.fileno()).st_mode)
        while count is None:
            if not is_regular:
                wait_for(self, select.POLLOUT)
                data = memoryview(data).cast("B")[: select.PIPE_BUF]  # a pipe with any room takes so much
            count = super().write(data)
        return count

    def write_all(self, data: "Buffer", /) -> None:
        """Write everything, however little the operating system takes at a time."""
        rest = memoryview(data)
        while rest:
            rest = rest[self.write(rest) :]


class NamedFile(WaitingFile):
    """A file to write; an OSError of a descriptor would not say which file it is."""

    def __init__(self, file: str | int, shown_name: str, *, closefd: bool = True) -> None:
        super().__init__(file, "w", closefd=closefd)
        self._shown_name = shown_name

    def write(self, data: "Buffer", /) -> int:
        """Write as much as the operating system takes, once it takes any."""
        try:
            return super().write(data)
        except OSError as error:
            error.filename = self._shown_name
            raise


def wait_for(file: FileIO, event: int) -> None:
    """Wait until a pipe has room (`POLLOUT`), or something to read or no writer any more (`POLLIN`)."""
    poll = select.poll()
    poll.register(file, event)
    while not poll.poll(_WAIT_MS):
        check_cut()
