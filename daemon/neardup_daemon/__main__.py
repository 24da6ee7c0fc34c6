"""`python -m neardup_daemon`, also installed as `neardup-stream`."""

import signal
import sys
from typing import NoReturn

from neardup_daemon.cli import main as run
from neardup_daemon.exit_codes import after_signal
from neardup_daemon.gc_tuning import collect_rarely
from neardup_daemon.standard_streams import open_closed_streams

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line; SIGTERM and SIGHUP unwind like an exit, so that whatever was opened is closed."""
    collect_rarely()
    open_closed_streams()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, lambda received, _frame: sys.exit(after_signal(received)))
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
