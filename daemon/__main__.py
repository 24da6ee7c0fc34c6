"""`python -m daemon`, also installed as `neardup-stream`."""

import signal
import sys
from typing import NoReturn

from daemon.cli import main as run
from daemon.exit_codes import after_signal

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line; SIGTERM unwinds like an exit, so that whatever was opened is closed."""
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(after_signal(number)))
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
