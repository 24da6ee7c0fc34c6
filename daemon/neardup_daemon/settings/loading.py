"""Load settings from defaults, one TOML file, the environment and flags; the later one wins.

Generic over the class that says what can be set: a struct of structs, `section.key`, a section inside a
section allowed. Every source is first flattened into `Given` values; each is then looked up and converted
by itself, so that an error names the source and the whole dotted name.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec

from neardup_daemon.redaction import HIDDEN, redact_setting
from neardup_daemon.settings.abbreviations import number_in_digits, seconds_in_digits
from neardup_daemon.settings.characters import characters_wanted
from neardup_daemon.settings.environment import PREFIX, setting_variables
from neardup_daemon.settings.known import Known, known_settings, notes_of, parts_of
from neardup_daemon.settings.settings_file import line_numbers, line_of, read_settings_file
from neardup_daemon.settings.settings_names import (
    closest_name,
    closest_section,
    shown_name,
    shown_variable,
)
from neardup_daemon.settings.text_lists import has_other_integers, list_items
from neardup_stream.errors import ConfigError

__all__ = ["Given", "SourceKind", "read_settings"]

SourceKind = Literal["file", "environment", "flag"]

S = TypeVar("S", bound=msgspec.Struct)

_REFUSALS_SHOWN = 10
_SEE_ALL = "; see 'neardup-stream config show' for all of them"
_ADDRESS = re.compile(r"[A-Za-z+]*(://)?[A-Za-z0-9.-]*(:[0-9]{1,5})?(/[0-9]{0,5})?")
_TYPE = re.compile(r"`(\w+)`")
_TYPE_WORDS: Final = MappingProxyType(
    {"array": "a list", "bool": "true or false", "float": "a number", "int": "a whole number", "str": "text"}
)
"""What the types in messages of msgspec are called."""


class Given(NamedTuple):
    """One value from a source of settings.

    Attributes:
        name: dotted, such as `kafka.pages_topic`.
        value: typed if it comes from TOML, else text.
        kind: of source.
        place: the file and the line, the environment variable, or the flag of its own; empty for `--set`.
    """

    name: str
    value: object
    kind: SourceKind
    place: str


def read_settings(
    into: type[S], config: Path | None, overrides: Sequence[str | Given], environ: Mapping[str, str]
) -> tuple[S, Mapping[str, SourceKind]]:
    """Return the settings in force, and for each one that was given, which kind of source set it.

    Args:
        into: struct of structs with defaults everywhere.
        config: TOML file, or None.
        overrides: `section.key=value`, or what a flag of its own gives; the later one wins.
        environ: variables; `setting_variables` says which of them count.

    Raises:
        ConfigError: a source cannot be read, or names unknown settings or holds values that are not allowed,
            or values contradict each other; all are reported, of contradictions the first of each section.
    """
    known = known_settings(into)
    values: dict[str, object] = {}
    sources: dict[str, Given] = {}
    refused = set[str]()
    refusals: list[str] = []
    for given in (
        *_from_file(config, known),
        *_from_environment(environ, known),
        *_from_flags(overrides, known),
    ):
        if given.name not in known and len(refusals) >= _REFUSALS_SHOWN:
            refusals.append(
                ""
            )  # counted and not shown: finding out which setting is meant takes a millisecond
            continue
        try:
            values[given.name] = _converted(given, known)
            sources[given.name] = given
        except ConfigError as error:
            refused.add(given.name)
            refusals.append(str(error))
    kinds = {name: given.kind for name, given in sources.items()}
    built = _built(into, values, refused, contradictions := list[str]())
    if built is None or refusals:
        raise ConfigError(_all_of([*refusals, *(each + _places(each, sources) for each in contradictions)]))
    return built, kinds


def _all_of(refusals: Sequence[str]) -> str:
    """Return all that is wrong, within reason, so that it can be corrected at once."""
    hidden = len(refusals) - _REFUSALS_SHOWN
    more = [f"and {hidden} more"] if hidden > 0 else []
    return "; ".join([*refusals[:_REFUSALS_SHOWN], *more])


def _from_file(path: Path | None, known: Mapping[str, Known]) -> Iterator[Given]:
    if path is None:
        return
    tables, text = read_settings_file(path)
    lines = line_numbers(text)
    for name, value in _leaves(tables, known):
        number = line_of(name, lines)
        yield Given(name, value, "file", f"{path}, line {number}" if number else str(path))


def _leaves(
    table: Mapping[str, Any], known: Mapping[str, Known], prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        name = prefix + key
        if isinstance(value, dict) and any(other.startswith(f"{name}.") for other in known):
            yield from _leaves(value, known, f"{name}.")
        else:
            yield name, value


def _from_environment(environ: Mapping[str, str], known: Iterable[str]) -> Iterator[Given]:
    for variable, name in setting_variables(environ, known):
        yield Given(name, environ[variable], "environment", variable)


def _from_flags(overrides: Sequence[str | Given], known: Iterable[str]) -> Iterator[Given]:
    for override in overrides:
        if isinstance(override, Given):
            yield override
            continue
        name, equals, value = override.partition("=")
        if not equals:
            raise ConfigError(f"--set {shown_name(name.strip(), known)}: write it as section.key=value")
        yield Given(name.strip(), value, "flag", "")


def _named(given: Given, known: Iterable[str]) -> tuple[str, str]:
    """Return the name to print, and how to name the source to the person who wrote it."""
    if given.kind == "environment":
        variable = shown_variable(given.place)
        return given.name if variable == given.place else HIDDEN, f"environment variable {variable}"
    name = shown_name(given.name, known, is_key=given.kind == "file")
    return name, f"{name} in {given.place}" if given.kind == "file" else given.place or f"--set {name}"


def _converted(given: Given, known: Mapping[str, Known]) -> object:
    setting = known.get(given.name)
    if setting is None:
        name, origin = _named(given, known)
        raise ConfigError(f"{origin}: there is no setting {name!r}{_suggestion(given, known)}")
    if setting.is_secret and given.kind == "flag":
        raise ConfigError(
            f"{_named(given, known)[1]}: every user of the machine can read command lines; "
            f"use {given.name}_file or the environment variable {_variable(given.name)}"
        )
    _require_characters(given.value, given, known)
    try:
        value = _without_line_end(_convert(given, setting), setting)
    except msgspec.ValidationError as error:
        got = HIDDEN if setting.is_secret else _shown(given)
        raise ConfigError(
            f"{_named(given, known)[1]}: {_wanted(error, setting)}, got {got}{_in_digits(given, setting)}"
        ) from error
    _require_characters(value, given, known)  # again, as JSON can have them escaped
    return value


def _require_characters(value: object, given: Given, known: Mapping[str, Known]) -> None:
    wanted = characters_wanted(given.name, value)
    if wanted is not None:
        got = HIDDEN if known[given.name].is_secret else _shown(given)
        raise ConfigError(f"{_named(given, known)[1]}: expected {wanted}, got {got}")


def _convert(given: Given, setting: Known) -> object:
    """Convert a value: a file has types; elsewhere all is text."""
    if given.kind == "file":
        return msgspec.convert(given.value, setting.type)
    text: object = given.value
    if isinstance(setting.default, tuple):
        text = list_items(str(given.value))
    value = msgspec.convert(text, setting.type, strict=False)
    if has_other_integers(text, value):
        raise msgspec.ValidationError("Expected `int` in plain digits")
    return value


def _without_line_end(value: object, setting: Known) -> object:
    """Refuse what a pattern lets pass: the `$` at its end stands in front of a last line end too."""
    if (
        isinstance(value, str)
        and value.endswith("\n")
        and any(note.pattern for note in notes_of(setting.type))
    ):
        raise msgspec.ValidationError("Expected no line end")
    return value


def _in_digits(given: Given, setting: Known) -> str:
    """Return how to write a number that was abbreviated, or a time with its unit.

    Empty where the setting does not allow that number either.
    """
    is_time = given.name.endswith("seconds")
    if not isinstance(given.value, str) or not (is_time or type(setting.default) is int):
        return ""
    digits = seconds_in_digits(given.value) if is_time else number_in_digits(given.value)
    if digits is None or not _is_allowed(digits, given, setting):
        return ""
    written = f"{int(digits):_}" if given.kind == "file" and not is_time else digits
    return f": write {written}, in seconds" if is_time else f": write {written}"


def _is_allowed(text: str, given: Given, setting: Known) -> bool:
    """Return whether a setting may be given as this text in the place of what was given."""
    try:
        _convert(given._replace(value=text, kind="flag"), setting)
    except msgspec.ValidationError:
        return False
    return True


def _shown(given: Given) -> str:
    """Return a value as it may be shown: any part of a misspelled URL may be the password."""
    value = given.value
    if not isinstance(value, str):
        return redact_setting(repr(value))
    if given.name.endswith(".url") and "@" not in value and not _ADDRESS.fullmatch(value):
        return HIDDEN
    return repr(redact_setting(value))


def _wanted(error: msgspec.ValidationError, setting: Known) -> str:
    """Return what would be allowed; after a pattern, also the setting's own description."""
    if setting.choices:
        return f"expected one of {', '.join(setting.choices)}"
    wanted = str(error).partition(" - at `")[0].partition(", got")[0]
    wanted = _TYPE.sub(lambda found: _TYPE_WORDS.get(found[1], found[1]), wanted)
    if "regex" in wanted:
        return _form_of(setting)
    return wanted[:1].lower() + wanted[1:]


def _form_of(setting: Known) -> str:
    """Return what a value with a pattern looks like: examples, and the description."""
    examples = [repr(each) for note in notes_of(setting.type) for each in note.examples or ()]
    likes = f"a value like {' or '.join(examples)}" if examples else "another form"
    return f"expected {likes} ({setting.description})" if setting.description else f"expected {likes}"


def _suggestion(given: Given, known: Iterable[str]) -> str:
    if inside := next((name for name in known if name.startswith(f"{given.name}.")), None):
        return (
            f"; {given.name} is a section, written [{given.name}] in a file, with settings such as {inside}"
        )
    if isinstance(given.value, dict):  # a table of the file that is no section
        section = closest_section(given.name, known)
        return f"; did you mean [{section}]?" if section else _SEE_ALL
    close = closest_name(given.name, known)
    if close is None:
        return _SEE_ALL
    return f"; did you mean {_variable(close) if given.kind == 'environment' else close}?"


def _variable(name: str) -> str:
    return PREFIX + name.upper().replace(".", "__")


def _built(
    into: type[S],
    values: Mapping[str, object],
    refused: Collection[str],
    contradictions: list[str],
    prefix: str = "",
) -> S | None:
    """Return the struct; None if a name or value in it is refused, or values contradict each other.

    Such contradictions are appended to `contradictions`.
    """
    is_refused = any(name.rpartition(".")[0] == prefix.removesuffix(".") for name in refused)
    parts: dict[str, object] = {}
    for name, part in parts_of(into).items():
        full_name = prefix + name
        if not isinstance(part, Known):
            parts[name] = _built(part, values, refused, contradictions, f"{full_name}.")
        elif full_name in values:
            parts[name] = values[full_name]
    if is_refused or None in parts.values():
        return None
    try:
        return into(**parts)
    except ConfigError as error:
        contradictions.append(str(error))
        return None


def _places(message: str, sources: Mapping[str, Given]) -> str:
    """Return where the settings that a message names were given; empty if by default or `--set`."""
    names = [name for name in sources if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", message)]
    places = [place for name in names if (place := _named(sources[name], sources)[1]) != f"--set {name}"]
    return f" ({', '.join(places)})" if places else ""
