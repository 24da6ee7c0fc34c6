"""Which signals end a command."""

import signal

from neardup_stream.held_signals import ENDING_SIGNALS

__all__ = ["heard_signals"]


def heard_signals() -> list[signal.Signals]:
    """Return the signals that end a command: all but a SIGHUP that is ignored, as nohup wants it.

    SIGINT ends also what a shell without job control has started in the background, ignoring it.
    """
    is_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [number for number in ENDING_SIGNALS if number != signal.SIGHUP or not is_ignored]
