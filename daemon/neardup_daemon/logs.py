"""Write logs: one JSON object a line on standard error, or text for a terminal; one line per state change.

A line is an event with a stable name, and fields. The library and the daemon both write
`logger.info("name", extra={"fields": {...}})`; `log_event` spells that for the daemon. Secrets in URLs are
masked here, whichever module wrote them.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Literal, TextIO

from neardup_daemon.redaction import redact
from neardup_daemon.repeated_lines import RepeatedLines
from neardup_daemon.terminal import printable, printable_json

__all__ = [
    "LogFormat",
    "LogLevel",
    "are_for_collectors",
    "configure_command_logs",
    "configure_logs",
    "log_event",
    "silence_library_logs",
    "write_warnings_as_text",
]

LogFormat = Literal["json", "text"]
LogLevel = Literal["debug", "info", "warning", "error"]

_CHATTY_LIBRARIES = ("aiokafka", "aiohttp", "asyncio", "numba", "opentelemetry", "redis", "urllib3")


def configure_logs(level: LogLevel, log_format: LogFormat, stream: TextIO | None = None) -> None:
    """Send every log line to `stream`, by default standard error; calling again replaces the handlers.

    Libraries log from WARNING on, whatever the level, and the same message at most once a minute.
    """
    handler = logging.StreamHandler(stream) if stream else _ToStandardError()
    is_terminal = (stream or sys.stderr).isatty()
    handler.setFormatter(_JsonLines() if log_format == "json" else _Text(is_dated=not is_terminal))
    handler.addFilter(RepeatedLines(_CHATTY_LIBRARIES))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    for library in _CHATTY_LIBRARIES:
        logging.getLogger(library).setLevel(max(logging.WARNING, logging.getLogger().level))


def configure_command_logs(level: LogLevel, log_format: LogFormat) -> None:
    """Send the logs of a command to standard error, as text where that is a terminal."""
    configure_logs(level, "text" if sys.stderr.isatty() else log_format)


def silence_library_logs() -> None:
    """Drop what libraries log until logs are set up: our own errors say what is wrong."""
    for library in _CHATTY_LIBRARIES:
        logging.getLogger(library).addHandler(logging.NullHandler())


def write_warnings_as_text() -> None:
    """Write warnings and errors to standard error as text, in a command that sets up no logs.

    Python's own handler of last resort writes the bare name of an event, without its fields.
    """
    handler = _ToStandardError()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_Text(is_dated=not sys.stderr.isatty()))
    logging.lastResort = handler


def are_for_collectors() -> bool:
    """Return whether logs are JSON or dated lines, among which a plain sentence would be out of place."""
    formatters = [handler.formatter for handler in logging.getLogger().handlers]
    return any(isinstance(one, _JsonLines) or (isinstance(one, _Text) and one.is_dated) for one in formatters)


def log_event(logger: logging.Logger, event: str, level: int = logging.INFO, **fields: object) -> None:
    """Write one line.

    Args:
        logger: the module's own.
        event: what changed, in snake_case; operators search for it, so it never changes.
        level: of `logging`.
        fields: facts, with units in their names; anything that is not JSON is written as text.
    """
    logger.log(level, event, extra={"fields": fields})


class _ToStandardError(logging.StreamHandler[TextIO]):
    """Writes to standard error as it is at that moment: progress replaces it, to keep its line the last."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


class _JsonLines(logging.Formatter):
    """`ts`, `level`, `logger`, `event`, the fields, and `traceback` if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "ts": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": redact(record.getMessage()),
            **_fields(record),
        }
        if record.exc_info:
            line["traceback"] = redact(self.formatException(record.exc_info))
        return printable_json(json.dumps(line, ensure_ascii=False, default=_as_text))


class _Text(logging.Formatter):
    """Time, level, event, `name=value` fields; a traceback follows on its own lines.

    Args:
        is_dated: whether times are those of JSON lines, with date and zone; else they are of the day.
    """

    def __init__(self, *, is_dated: bool) -> None:
        super().__init__()
        self.is_dated = is_dated

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f"  {name}={printable(value)}" for name, value in _fields(record).items())
        time = _timestamp(record) if self.is_dated else _time(record).astimezone().strftime("%H:%M:%S")
        line = f"{time} {record.levelname.lower():7} {printable(redact(record.getMessage()))}{fields}"
        if not record.exc_info:
            return line
        traceback = redact(self.formatException(record.exc_info)).splitlines()
        return "\n".join([line, *map(printable, traceback)])


def _timestamp(record: logging.LogRecord) -> str:
    return _time(record).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _time(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, tz=UTC)


def _fields(record: logging.LogRecord) -> dict[str, object]:
    fields: dict[str, object] = getattr(record, "fields", {})
    return {name: redact(value) if isinstance(value, str) else value for name, value in fields.items()}


def _as_text(value: object) -> str:
    return redact(str(value))
