"""`config show` and `config schema`: print the settings in force, and a schema of all settings."""

import os
from collections.abc import Container, Mapping, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path

import click
import msgspec

from neardup_daemon.commands.options import flags_as_settings, report_ignored_variables
from neardup_daemon.redaction import HIDDEN, redact_setting
from neardup_daemon.settings.known import Known, known_settings
from neardup_daemon.settings.loading import Given, read_settings
from neardup_daemon.settings.settings import Settings
from neardup_stream.streams.files.file_names import utf8_name
from neardup_stream.streams.files.outputs import STANDARD_OUTPUT, check_outputs

__all__ = ["config"]


@click.group()
def config() -> None:
    """Show the settings in force, or the schema of all of them."""


@config.command()
@flags_as_settings()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of TOML.")
def show(config: Path | None, overrides: Sequence[str | Given], *, as_json: bool) -> None:
    """Print the settings in force.

    Each line says where its value came from. What is printed is a settings file; what has secrets is a
    comment in it, with *** in their places, and so is a name of a file that is not UTF-8:

        neardup-stream config show --config crawl.toml --set index.blocks=5
    """
    known = known_settings(Settings)
    report_ignored_variables()
    check_outputs([str(config)] if config else [], (STANDARD_OUTPUT,))
    settings, kinds = read_settings(Settings, config, overrides, os.environ)
    values = {name: _shown(settings, name, setting) for name, setting in known.items()}
    if as_json:
        click.echo(_as_json(values), nl=False)
        return
    origins = {name: kinds.get(name, "default") + _not_writable(settings, name) for name in known}
    hidden = {name for name, value in values.items() if value != attrgetter(name)(settings)}
    click.echo(_as_toml(values, origins, hidden), nl=False)


@config.command()
def schema() -> None:
    """Print the JSON Schema of all settings.

    Editors complete and check by it.

    \b
        neardup-stream config schema > neardup-stream.schema.json
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    click.echo(_pretty(msgspec.json.schema(Settings)), nl=False)


def _shown(settings: Settings, name: str, known: Known) -> object:
    value: object = attrgetter(name)(settings)
    if known.is_secret and value:
        return HIDDEN
    return _redacted(value)


def _redacted(value: object) -> object:
    """File names may hold an @ of their own, and bytes that are not UTF-8."""
    if isinstance(value, tuple):
        return tuple(map(_redacted, value))
    if isinstance(value, str):
        value = utf8_name(value)
        return value if value.startswith("/") else redact_setting(value)
    return value


def _not_writable(settings: Settings, name: str) -> str:
    """Return what a line says of a value that no settings file can hold; empty for others."""
    value: object = attrgetter(name)(settings)
    parts = value if isinstance(value, tuple) else (value,)
    is_writable = all(utf8_name(part) == part for part in parts if isinstance(part, str))
    return "" if is_writable else ", not UTF-8: TOML cannot hold it"


def _as_toml(values: Mapping[str, object], origins: Mapping[str, str], hidden: Container[str]) -> str:
    """TOML values are written as JSON, which they equal for strings, numbers, booleans and lists of these.

    Args:
        values: to show, by their names.
        origins: where each came from.
        hidden: names of those that differ from the settings in force: their lines are comments.
    """
    lines: list[str] = []
    for section, settings in groupby((name.rpartition(".") for name in values), key=itemgetter(0)):
        lines += ["", f"[{section}]"]
        for _, _, key in settings:
            name = f"{section}.{key}"
            value = msgspec.json.encode(values[name]).decode()
            mark = "# " if name in hidden else ""
            lines.append(f"{mark}{key} = {value}  # {origins[name]}")
    return "\n".join(lines[1:]) + "\n"


def _as_json(values: Mapping[str, object]) -> str:
    nested: dict[str, object] = {}
    for name, value in values.items():
        *sections, key = name.split(".")
        table = nested
        for section in sections:
            table = table.setdefault(section, {})  # type: ignore[assignment] # sections hold tables only
        table[key] = value
    return _pretty(nested)


def _pretty(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
