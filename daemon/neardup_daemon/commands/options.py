"""The flags that every command with settings has."""

import functools
import math
import os
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from neardup_daemon.commands.completion import NamedPath, complete_settings, complete_words
from neardup_daemon.cores import MOST_WORKERS, WORKER_LIMIT, default_workers
from neardup_daemon.logs import configure_command_logs
from neardup_daemon.settings.abbreviations import FACTORS
from neardup_daemon.settings.environment import ignored_variables
from neardup_daemon.settings.known import known_settings
from neardup_daemon.settings.loading import Given
from neardup_daemon.settings.settings import Settings
from neardup_daemon.terminal import printable
from neardup_stream.streams.files.outputs import STANDARD_OUTPUT, check_outputs

__all__ = [
    "Count",
    "Number",
    "WholeNumber",
    "flags_as_settings",
    "report_ignored_variables",
    "settings_files",
    "used_files",
    "with_json",
    "with_settings",
    "with_state",
    "with_workers",
]

Command = Callable[..., Any]

_KNOWN: Final = known_settings(Settings)
_SETTINGS_FILE: Final = "neardup_daemon.settings_file"


class Count(click.ParamType[int]):
    """A whole number, also as 500k, 20M or 1.5G."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        text = str(value).replace("_", "").replace(",", "").lower()
        factor = FACTORS.get(text[-1:], 1)
        try:
            number = float(text[:-1] if factor > 1 else text) * factor if text.isascii() else 0.0
        except ValueError:
            number = 0.0
        if not 1 <= number <= 10**12 or (factor == 1 and number != round(number)):
            self.fail(f"{value!r} must be a number from 1 to 1000G, like 200000, 500k or 20M", param, ctx)
        return round(number)


class WholeNumber(click.IntRange):
    """A whole number within bounds."""

    name = "whole number"


class Number(click.FloatRange):
    """A finite number within bounds."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


def flags_as_settings(*names: str) -> Callable[[Command], Command]:
    """Add `--config`, `--set`, and a flag of its own for each setting in `names`.

    The command is called with `config: Path | None` and `overrides: list[str | Given]`, for `Settings.load`;
    `redis.url` becomes `--redis-url`, which wins over `--set redis.url=…`.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_overrides(*args: Any, overrides: tuple[str, ...], **rest: Any) -> Any:
            given = {name: rest.pop(_parameter(name)) for name in names}
            own = [
                Given(name, _spelled(value), "flag", _flag(name))
                for name, value in given.items()
                if value is not None
            ]
            return command(*args, overrides=[*overrides, *own], **rest)

        decorated: Command = with_overrides
        for name in reversed(names):
            decorated = _own_flag(name)(decorated)
        return _CONFIG(_SET(decorated))

    return decorate


def with_settings(*names: str, has_logs: bool = False) -> Callable[[Command], Command]:
    """Add the same flags, and call the command with `settings: Settings`, read and valid.

    Standard output may be none of the files that the settings are read from or name.

    Args:
        names: settings with a flag of their own.
        has_logs: whether the command writes logs; they are set up before it is called.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_loaded(*args: Any, config: Path | None, overrides: list[str | Given], **rest: Any) -> Any:
            click.get_current_context().meta[_SETTINGS_FILE] = config
            if rest.get("state_dir") is not None and is_given("redis_url"):
                raise click.UsageError("--state names a directory's index, --redis-url a server's: choose")
            settings = Settings.load(config, overrides, os.environ)
            if has_logs:
                configure_command_logs(settings.log.level, settings.log.format)
            check_outputs(used_files(settings), (STANDARD_OUTPUT,))
            return command(*args, settings=settings, **rest)

        return flags_as_settings(*names)(with_loaded)

    return decorate


def used_files(settings: Settings) -> list[str]:
    """Return what a command reads beside its pages: files of settings, and archives."""
    return [*settings_files(settings), *map(str, settings.archive.files)]


def settings_files(settings: Settings) -> list[str]:
    """Return the file that the settings are read from, and the files that they name, such as certificates."""
    config = click.get_current_context().meta[_SETTINGS_FILE]
    named = [attrgetter(name)(settings) for name in _KNOWN if name.endswith("_file")]
    return [str(path) for path in (config, *named) if path]


def is_given(parameter: str) -> bool:
    """Return whether an option of the running command is on the command line, under its parameter's name."""
    source = click.get_current_context().get_parameter_source(parameter)
    return source is ParameterSource.COMMANDLINE


def report_ignored_variables() -> None:
    """Print which environment variables begin as settings do and are none."""
    for variable in ignored_variables(os.environ, _KNOWN):
        click.echo(f"ignored: environment variable {printable(variable)} names no setting", err=True)


with_state: Final = click.option(
    "--state",
    "state_dir",
    type=NamedPath(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Use the index that 'dedup --state DIR' keeps, not the one in the Redis of redis.url.",
)
with_workers: Final = click.option(
    "--workers",
    type=int,
    default=default_workers,
    metavar="N",
    help=f"Processes that read and fingerprint pages, some 150 MB each, at most {WORKER_LIMIT}."
    f"  [default: one for each core, at most {MOST_WORKERS}]",
)
with_json: Final = click.option("--json", "as_json", is_flag=True, help="One line of JSON on a terminal too.")

_CONFIG: Final = click.option(
    "--config",
    type=NamedPath(path_type=Path),
    metavar="FILE",
    help="Read settings from this TOML file.",
)
_SET: Final = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="SECTION.KEY=VALUE",
    shell_complete=complete_settings(_KNOWN),
    help="Set anything, such as --set http.port=9000; may be repeated. Over the environment"
    " (NEARDUP_HTTP__PORT=9000), which is over the file.",
)


def _parameter(name: str) -> str:
    return name.replace(".", "_")


def _flag(name: str) -> str:
    return "--" + name.replace(".", "-").replace("_", "-")


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _own_flag(name: str) -> Callable[[Command], Command]:
    """Return a flag of text, whatever the type: `Settings.load` converts and refuses it, as elsewhere."""
    known = _KNOWN[name]
    flag = _flag(name)
    description = f"{known.description}  [default: {_spelled(known.default)}]"
    if isinstance(known.default, bool):
        switch = f"{flag}/--no-{flag.removeprefix('--')}"
        return click.option(switch, _parameter(name), default=None, help=description)
    metavar = "|".join(known.choices) or ("NUMBER" if isinstance(known.default, int | float) else "TEXT")
    completion = complete_words(known.choices) if known.choices else None
    return click.option(flag, _parameter(name), metavar=metavar, shell_complete=completion, help=description)
