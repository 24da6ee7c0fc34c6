"""`python -m neardup_daemon`, also installed as `neardup-stream`."""

import signal
import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line; SIGTERM and SIGHUP unwind like an exit, so that whatever was opened is closed."""
    is_interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_interruptible:  # ends the process while nothing is open, without a traceback of imports
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from neardup_daemon.cli import main as run  # noqa: PLC0415 - takes a while, in which a signal may come
    from neardup_daemon.ending_signals import heard_signals  # noqa: PLC0415 - the same
    from neardup_daemon.exit_codes import after_signal  # noqa: PLC0415 - the same
    from neardup_daemon.gc_tuning import collect_rarely  # noqa: PLC0415 - the same
    from neardup_daemon.standard_streams import (  # noqa: PLC0415 - the same
        buffer_standard_output,
        open_closed_streams,
    )

    if is_interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    collect_rarely()
    open_closed_streams()
    buffer_standard_output()
    for number in heard_signals():
        if number != signal.SIGINT:
            signal.signal(number, lambda received, _frame: sys.exit(after_signal(received)))
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
