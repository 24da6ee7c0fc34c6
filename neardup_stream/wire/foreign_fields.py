"""Pages under a crawler's own field names, rewritten to ours.

The values are cut out as raw JSON and put together under our names, so that the page decoder sees, and
judges, the very bytes that the crawler wrote.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType

import msgspec

from neardup_stream.errors import ConfigError
from neardup_stream.wire.presets import Paths

__all__ = ["ForeignFields"]

_PAGE = msgspec.json.Decoder(dict[str, msgspec.Raw])
_INNER = msgspec.json.Decoder(dict[str, msgspec.Raw] | None)
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_OPENING = ord("[")
_NO_PRESET: Paths = MappingProxyType({})
_VERBATIM = "meta"
"""The field that may be a list itself."""


class ForeignFields:
    """Where a crawler keeps our fields.

    Args:
        paths: our name → dotted path, e.g. `{"html": "content", "url": "target.url"}`; names left out are
            their own path. Two names may share a path, or one lie inside another. Of a list of one value,
            which crawlers make of what could be several, the value is taken.
        names: every name a page may have.
        preset: the same of a crawler; `paths` go before it.

    Raises:
        ConfigError: an unknown name, or a path with an empty step.
    """

    def __init__(self, paths: Mapping[str, str], names: Collection[str], preset: Paths = _NO_PRESET) -> None:
        for name, path in paths.items():
            if name not in names:
                raise ConfigError(f"page.fields.{name}: no such field; there are {', '.join(names)}")
            if "" in path.split("."):
                raise ConfigError(f"page.fields.{name} = {path!r}: a path is names joined by dots")
        every: dict[str, tuple[str, ...]] = {name: (name,) for name in names}
        every |= {**preset, **{name: (path,) for name, path in paths.items()}}
        self._steps = {name: [path.split(".") for path in every[name]] for name in names}

    def renamed(self, json: bytes) -> bytes:
        """The same page under our names; a path that leads nowhere leaves its field out.

        Raises:
            msgspec.DecodeError: not JSON, or what a path leads through is no object.
        """
        page = _PAGE.decode(json)
        found = ((name, _first_at(page, paths)) for name, paths in self._steps.items())
        values = (
            (name, raw if raw is None or name == _VERBATIM else _only_value(raw)) for name, raw in found
        )
        fields = [b'"%b":%b' % (name.encode(), raw) for name, raw in values if raw is not None]
        return b"{%b}" % b",".join(fields)


def _first_at(page: Mapping[str, msgspec.Raw], paths: list[list[str]]) -> msgspec.Raw | None:
    found = (_at(page, steps) for steps in paths)
    return next((raw for raw in found if raw is not None), None)


def _at(members: Mapping[str, msgspec.Raw], steps: list[str]) -> msgspec.Raw | None:
    for step in steps[:-1]:
        if step not in members:
            return None
        members = _INNER.decode(_only_value(members[step])) or {}
    return members.get(steps[-1])


def _only_value(raw: msgspec.Raw) -> msgspec.Raw:
    """The one value of a list of one; anything else as it is."""
    if memoryview(raw)[0] != _OPENING:
        return raw
    values = _LIST.decode(raw)
    return values[0] if len(values) == 1 else raw
