"""Standard input, output and error that are closed at the start, or whose reader leaves."""

import os
import sys
from typing import TextIO

__all__ = ["discard", "open_closed_streams"]


def open_closed_streams() -> None:
    """Open `/dev/null` in the place of each standard stream that the process was started without.

    Otherwise the first files and sockets get the numbers of these streams, and events are written into them.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this stream's
            os.set_inheritable(descriptor, True)  # noqa: FBT003 - positional only
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def discard(stream: TextIO) -> None:
    """Let all that is written to a stream go nowhere.

    The interpreter flushes once more when it ends, and would complain of what could not be written.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
