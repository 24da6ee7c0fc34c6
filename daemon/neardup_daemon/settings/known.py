"""List the settings that exist: type, limits, default and description of each, from a struct of structs."""

import functools
from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

__all__ = ["Known", "known_settings", "notes_of", "parts_of"]


class Known(NamedTuple):
    """One setting that exists.

    Attributes:
        type: annotation, with its limits.
        default: the value if no source sets it.
        description: one sentence, from the annotation.
    """

    type: object
    default: object
    description: str

    @property
    def choices(self) -> tuple[str, ...]:
        """The words it can be, empty for settings that are no choice of words."""
        plain_type = get_args(self.type)[0]
        return tuple(map(str, get_args(plain_type))) if get_origin(plain_type) is Literal else ()

    @property
    def is_secret(self) -> bool:
        """Return whether its value is secret."""
        schema = (note.extra_json_schema or {} for note in notes_of(self.type))
        return any(part.get("writeOnly", False) for part in schema)


def known_settings(of: type[msgspec.Struct], prefix: str = "") -> dict[str, Known]:
    """Return every setting by its dotted name, in the order they are written."""
    found: dict[str, Known] = {}
    for name, part in parts_of(of).items():
        if isinstance(part, Known):
            found[prefix + name] = part
        else:
            found |= known_settings(part, f"{prefix}{name}.")
    return found


@functools.cache
def parts_of(of: type[msgspec.Struct]) -> Mapping[str, Known | type[msgspec.Struct]]:
    """Return the settings of a struct, and the structs of its sections, by the names of the fields.

    Cost: 0.2 ms the first time, for annotations have to be evaluated.
    """
    hints = get_type_hints(of, include_extras=True)
    return {
        field.name: hint
        if isinstance(hint := hints[field.name], type) and issubclass(hint, msgspec.Struct)
        else Known(hint, field.default, _description(hint))
        for field in msgspec.structs.fields(of)
    }


def _description(hint: object) -> str:
    return next((note.description for note in notes_of(hint) if note.description), "")


def notes_of(hint: object) -> list[msgspec.Meta]:
    """Return what an annotation says beside the type: limits, pattern, examples, description."""
    return [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, msgspec.Meta)]
