"""Define the exit codes of the process, and which error gets which.

Supervisors rely on these numbers: 2 is not worth a restart, 3 is, 4 and 70 want a person.
"""

import errno
from collections.abc import Iterator
from typing import Final

import click

from neardup_stream.errors import ConfigError, CorruptData, DependencyLost, Unavailable

__all__ = [
    "BUG",
    "CORRUPT_DATA",
    "DEPENDENCY_LOST",
    "DISK_TROUBLE",
    "OK",
    "READER_LEFT",
    "USAGE",
    "after_signal",
    "exit_code_of",
    "leaves",
]

OK: Final = 0
USAGE: Final = 2
"""The settings or the command line are wrong, or contradict what is stored."""
DEPENDENCY_LOST: Final = 3
"""Redis, Kafka or the disk stayed unavailable longer than the settings allow."""
CORRUPT_DATA: Final = 4
"""What is stored is not what this program writes."""
BUG: Final = 70
"""`EX_SOFTWARE` of sysexits.h: a broken promise inside this program."""
READER_LEFT: Final = 141
"""128 + SIGPIPE, as the shell reports it for any program whose reader left."""

_CODES: Final[tuple[tuple[type[BaseException], int], ...]] = (
    (CorruptData, CORRUPT_DATA),
    (ConfigError, USAGE),
    (click.ClickException, USAGE),
    (DependencyLost, DEPENDENCY_LOST),
    (Unavailable, DEPENDENCY_LOST),
    (BrokenPipeError, READER_LEFT),
)
DISK_TROUBLE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What writing a file or a pipe may meet that is no fault of the program; EFBIG by `ulimit -f`."""
_WORST_FIRST: Final = (BUG, CORRUPT_DATA, USAGE, DEPENDENCY_LOST, READER_LEFT)


def after_signal(signal_number: int) -> int:
    """Return the code of a process that a signal stopped before it could finish.

    129 for SIGHUP, 130 for SIGINT, 143 for SIGTERM.

    >>> after_signal(2)
    130
    """
    return 128 + signal_number


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors inside nested exception groups, or the error itself."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error


def exit_code_of(error: BaseException) -> int:
    """Return the exit code of a run that ended with `error`; a group is as bad as its worst member."""
    codes = {_code_of_one(leaf) for leaf in leaves(error)}
    return next(code for code in _WORST_FIRST if code in codes)


def _code_of_one(error: BaseException) -> int:
    if isinstance(error, OSError) and error.errno in DISK_TROUBLE:
        return DEPENDENCY_LOST
    return next((code for kind, code in _CODES if isinstance(error, kind)), BUG)
