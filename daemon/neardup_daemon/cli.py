"""The command line: its commands, and the exit code and message of each way of ending.

A command is imported when it is chosen, so that `--help` and the small commands start at once.
"""

import contextlib
import difflib
import functools
import importlib
import logging
import mmap
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

import click
from click.shell_completion import shell_complete

from neardup_daemon.bash_completion import use_own_bash_completion
from neardup_daemon.exit_codes import (
    BUG,
    DEPENDENCY_LOST,
    OK,
    READER_LEFT,
    USAGE,
    after_signal,
    exit_code_of,
    leaves,
)
from neardup_daemon.logs import are_for_collectors, log_event, silence_library_logs, write_warnings_as_text
from neardup_daemon.redaction import redact
from neardup_daemon.standard_streams import discard
from neardup_daemon.terminal import PROGRAM, printable
from neardup_stream.errors import ConfigError
from neardup_stream.kernel_cache import on_compilation
from neardup_stream.version import __version__

__all__ = ["COMMANDS", "main"]

_COMPLETION = "_NEARDUP_STREAM_COMPLETE"
"""Set by the shell that wants words completed, or the script for that: `bash_source`, `zsh_complete` …"""

_logger = logging.getLogger(__name__)

_is_said: Final = defaultdict[str, mmap.mmap](functools.partial(mmap.mmap, -1, 1))
"""By command: 1 once it is said that its kernels are compiled, also by a process that was forked since."""


class _Entry(NamedTuple):
    """Where a command lives (`module:attribute`) and what it does, in one line."""

    target: str
    summary: str


COMMANDS: Final = {
    "run": _Entry("neardup_daemon.commands.run:run", "Read pages from Kafka and publish duplicate events."),
    "dedup": _Entry("neardup_daemon.commands.dedup:dedup", "The same for files or standard input."),
    "demo": _Entry(
        "neardup_daemon.commands.demo:demo", "Find the duplicates of a sample crawl, before your eyes."
    ),
    "fingerprint": _Entry(
        "neardup_daemon.commands.fingerprint:fingerprint", "Print the simhash of each page."
    ),
    "find-all": _Entry(
        "neardup_daemon.commands.find:find_all", "Print all pairs of hashes within a distance."
    ),
    "find-clusters": _Entry(
        "neardup_daemon.commands.find:find_clusters", "Print the clusters of hashes within a distance."
    ),
    "query": _Entry("neardup_daemon.commands.query:query", "Show what a page matches, and its cluster."),
    "explain": _Entry("neardup_daemon.commands.explain:explain", "Say why two pages match, or do not."),
    "produce": _Entry("neardup_daemon.commands.produce:produce", "Publish pages of files to Kafka."),
    "tail": _Entry("neardup_daemon.commands.tail:tail", "Follow the events as they come."),
    "replay": _Entry(
        "neardup_daemon.commands.replay:replay", "Put dead letters back, as they are or corrected."
    ),
    "forget": _Entry("neardup_daemon.commands.forget:forget", "Remove pages: ask the daemon to forget them."),
    "expire": _Entry("neardup_daemon.commands.expire:expire", "Expire pages not seen for long, now."),
    "recover": _Entry("neardup_daemon.commands.recover:recover", "Build a lost index anew from the topics."),
    "rebuild": _Entry("neardup_daemon.commands.rebuild:rebuild", "Fill the index from the page records."),
    "freeze": _Entry(
        "neardup_daemon.commands.freeze:freeze", "Keep the pages of a crawl in an archive file."
    ),
    "archive": _Entry(
        "neardup_daemon.commands.archive:archive", "Show, check, query and rewrite archives; forget pages."
    ),
    "search": _Entry("neardup_daemon.commands.search:search", "Show which pages of archives hold words."),
    "overlap": _Entry("neardup_daemon.commands.overlap:overlap", "Find archived pages that share passages."),
    "plan": _Entry("neardup_daemon.commands.plan:plan", "Plan an index: memory, machines, recall, settings."),
    "frames": _Entry("neardup_daemon.commands.frames:frames", "Learn, show or forget what sites repeat."),
    "verify": _Entry("neardup_daemon.commands.verify:verify", "Judge whether every promise was kept."),
    "serve": _Entry("neardup_daemon.commands.serve:serve", "Answer queries over HTTP."),
    "status": _Entry(
        "neardup_daemon.commands.status:status", "Show how full, how far behind, and who reads."
    ),
    "check": _Entry(
        "neardup_daemon.commands.check:check",
        "Connect to every server, and report faults with their remedies.",
    ),
    "config": _Entry("neardup_daemon.commands.config:config", "Show the settings in force, or their schema."),
}


class _LazyGroup(click.Group):
    """Imports a command when it is asked for by name; lists them without importing any."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, in the order of the table."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command itself, or None for a name that is not in the table."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name the one that was probably meant."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            close = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            ctx.fail(f"there is no command {name!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


@click.command(
    PROGRAM,
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Try 'neardup-stream demo' first. Each command explains itself: 'neardup-stream dedup --help'.",
)
@click.version_option(__version__, prog_name=PROGRAM)
def _neardup_stream() -> None:
    """Find near-duplicate web pages in a stream.

    Pages come from Kafka or from files; simhash fingerprints of their text are kept in Redis; an event
    says which earlier pages a page repeats.
    """


def main(argv: Sequence[str]) -> int:
    """Run one command.

    Returns:
        The exit code, as `exit_codes.py` defines it. What went wrong was written to standard error: in one
        line, but for our own bugs, which are logged with their traceback.
    """
    silence_library_logs()
    write_warnings_as_text()
    command = next((word for word in argv if not word.startswith("-")), "")
    on_compilation(functools.partial(_say_that_kernels_are_compiled, command, _is_said[command]))
    try:
        code = _invoke(argv)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else OK
    except (KeyboardInterrupt, click.Abort):
        code = after_signal(signal.SIGINT)
    except Exception as error:  # noqa: BLE001 - the top of the process: every ending gets its exit code
        code = _explained(error)
    return _flushed(code)


def _say_that_kernels_are_compiled(command: str, is_said: mmap.mmap) -> None:
    """Say once, as a log line where those are written, why nothing else happens for so long.

    Other commands use other kernels, so the line says whose these are. Where a forked process compiles some
    at the same time, the first to begin says it for both.

    Args:
        command: whose kernels they are.
        is_said: a byte that forked processes share.
    """
    if is_said[0]:
        return
    is_said[0] = 1
    if are_for_collectors() or logging.getLogger().isEnabledFor(logging.INFO):
        log_event(_logger, "kernel_compilation_started", command=command, takes="up to a minute, once")
        return
    with contextlib.suppress(OSError):
        sys.stderr.write(  # above a progress line, which click bypasses
            f"compiling the kernels of '{command}' for this machine, once; this takes up to a minute\n"
        )


def _invoke(argv: Sequence[str]) -> int:
    """Parse and run; `click`'s own `main` would turn a broken pipe into exit code 1."""
    if instruction := os.environ.get(_COMPLETION):
        use_own_bash_completion()
        return shell_complete(_neardup_stream, {}, PROGRAM, _COMPLETION, instruction)
    try:
        is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"  # https://no-color.org
        color = False if is_plain else None
        with _neardup_stream.make_context(PROGRAM, list(argv), color=color) as context:
            code = _neardup_stream.invoke(context)
    except click.exceptions.Exit as ended:
        code = ended.exit_code
    return code if isinstance(code, int) else OK


def _explained(error: Exception) -> int:
    code = exit_code_of(error)
    if code == BUG:
        fields = {"remedy": f"this is a bug in {PROGRAM} {__version__}: report the traceback"}
        _logger.critical("internal_error", exc_info=error, extra={"fields": fields})
    elif isinstance(error, click.exceptions.NoArgsIsHelpError):
        with contextlib.suppress(OSError):
            error.show()
    elif code != READER_LEFT:
        sentence = "; ".join(dict.fromkeys(_sentence(leaf) for leaf in leaves(error)))
        _report(sentence, is_logged=not isinstance(error, click.UsageError))
    return code


def _sentence(error: BaseException) -> str:
    if isinstance(error, click.ClickException):
        context = error.ctx if isinstance(error, click.UsageError) else None
        remedy = f" (see '{context.command_path} --help')" if context else ""
        return error.format_message().rstrip(".") + remedy
    if isinstance(error, OSError) and error.strerror:
        return f"cannot write {error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _report(sentence: str, *, is_logged: bool = True) -> None:
    """Print one line: JSON for a log collector, else text for a person; drop it if it cannot be written.

    Args:
        sentence: what is wrong.
        is_logged: False for a wrong command line, which may be refused before logs are set up.
    """
    line = printable(redact(" ".join(sentence.split())))
    if is_logged and are_for_collectors():
        log_event(_logger, "failed", level=logging.ERROR, error=line)
        return
    with contextlib.suppress(OSError):
        click.echo(f"{PROGRAM}: {line}", err=True)


def _flushed(code: int) -> int:
    """`code`, unless what waits for standard output does not arrive there."""
    failure = OK
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        failure = READER_LEFT
    except ConfigError as error:  # it is closed
        if code == OK:
            _report(str(error))
        failure = USAGE
    except OSError as error:
        if code == OK:
            _report(_sentence(error))
        failure = DEPENDENCY_LOST
    if failure:
        discard(sys.stdout)
    try:
        sys.stderr.flush()
    except OSError:
        discard(sys.stderr)
    return code or failure
