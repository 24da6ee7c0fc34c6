"""Which signals end a command."""

import signal

from neardup_stream.held_signals import ENDING_SIGNALS

__all__ = ["heard_signals"]


def heard_signals() -> list[signal.Signals]:
    """Return the signals that end a command, without those that the parent process ignored.

    So nohup does with SIGHUP, and a shell without job control with SIGINT of commands in the background.
    """
    return [number for number in ENDING_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
