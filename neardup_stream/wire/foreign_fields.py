"""Rename the fields of a crawler's pages to ours.

The values are copied as raw JSON under our names, so the page decoder validates exactly the bytes that the
crawler wrote.
"""

from collections.abc import Collection, Mapping

import msgspec

from neardup_stream.errors import ConfigError
from neardup_stream.message import Skipped
from neardup_stream.wire.presets import AMENDMENTS, PRESETS, Preset

__all__ = ["ForeignFields"]

_PAGE = msgspec.json.Decoder(dict[str, msgspec.Raw])
_INNER = msgspec.json.Decoder(dict[str, msgspec.Raw] | None)
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_OPENING = ord("[")
_NULL = b"null"
_VERBATIM = "meta"
"""The field whose value may be a list."""


class ForeignFields:
    """Map a crawler's field names to ours.

    Args:
        paths: our name → dotted path, e.g. `{"html": "content", "url": "target.url"}`; an omitted name is
            its own path. Two names may share a path, and one path may be a prefix of another. A list with
            one value, as some crawlers write for multi-valued fields, is replaced by that value.
        names: every name a page may have.
        preset: the crawler; `paths` take precedence over what is known of it.

    Raises:
        ConfigError: an unknown name, or a path with an empty step.
    """

    def __init__(self, paths: Mapping[str, str], names: Collection[str], preset: Preset = "none") -> None:
        for name, path in paths.items():
            if name not in names:
                raise ConfigError(f"page.fields.{name}: no such field; valid names are {', '.join(names)}")
            if "" in path.split("."):
                raise ConfigError(f"page.fields.{name} = {path!r}: a path consists of names joined by dots")
        every: dict[str, tuple[str, ...]] = {name: (name,) for name in names}
        every |= {**PRESETS[preset], **{name: (path,) for name, path in paths.items()}}
        self._steps = {name: [path.split(".") for path in every[name]] for name in names}
        self._amend = AMENDMENTS.get(preset)
        self._set_names = frozenset(paths)

    def renamed(self, json: bytes) -> bytes | Skipped:
        """Return the page under our names, or why its crawler's are skipped; omits fields that do not exist.

        Raises:
            msgspec.DecodeError: invalid JSON, or a step of a path is not an object.
        """
        page = _PAGE.decode(json)
        found = ((name, _first_at(page, paths)) for name, paths in self._steps.items())
        fields = {
            name: raw if name == _VERBATIM else _only_value(raw) for name, raw in found if raw is not None
        }
        if self._amend is not None:
            amended = self._amend(page, fields)
            if isinstance(amended, Skipped):
                return amended
            fields |= {name: raw for name, raw in amended.items() if name not in self._set_names}
        return b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), raw) for name, raw in fields.items())


def _first_at(page: Mapping[str, msgspec.Raw], paths: list[list[str]]) -> msgspec.Raw | None:
    """Return the first value that is there and not null; null if there is none but that."""
    first = None
    for steps in paths:
        raw = _at(page, steps)
        if raw is not None and memoryview(_only_value(raw)) != _NULL:
            return raw
        first = raw if first is None else first
    return first


def _at(members: Mapping[str, msgspec.Raw], steps: list[str]) -> msgspec.Raw | None:
    for step in steps[:-1]:
        if step not in members:
            return None
        members = _INNER.decode(_only_value(members[step])) or {}
    return members.get(steps[-1])


def _only_value(raw: msgspec.Raw) -> msgspec.Raw:
    """Return the value of a list of one; any other value unchanged."""
    if memoryview(raw)[0] != _OPENING:
        return raw
    values = _LIST.decode(raw)
    return values[0] if len(values) == 1 else raw
