"""Print on standard output, whose reader may leave."""

from rich.console import Console

__all__ = ["PlainlyEndingConsole"]


class PlainlyEndingConsole(Console):
    """A console that ends as every command does when its reader has left, not with exit code 1."""

    def on_broken_pipe(self) -> None:
        """Let the error through, which is being handled."""
        raise BrokenPipeError
