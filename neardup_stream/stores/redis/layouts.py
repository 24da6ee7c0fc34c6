"""Keep the numbered layouts of the tables of an index in its meta record.

An index that was never laid out again has none there: what it was made for follows from its schema. Layout
0 is that of its creation, which page records and clusters keep.
"""

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.keys import meta_key

__all__ = ["TableSettings", "add_layout", "read_layouts"]


class TableSettings(NamedTuple):
    """The settings that tables are laid out by.

    Attributes:
        expected_pages: `index.expected_pages`.
        blocks: `index.blocks`.
        substrings: `index.substrings`; layouts of releases before there were any have one.
    """

    expected_pages: int
    blocks: int
    substrings: int = 1


_DEFAULTS: Final = TableSettings._field_defaults


async def read_layouts(client: RedisClient, namespace: str) -> Mapping[int, TableSettings]:
    """Return the settings of each layout of the index under a namespace, by number.

    Raises:
        ConfigError: a later release has laid them out by settings that this one does not have.
        CorruptData: the meta record is not ours.
    """
    meta = meta_key(namespace)
    fields = await client.execute("HGETALL", meta)
    prefix = _prefix(fields.get(b"token", b"").decode())
    try:
        return {
            int(field.decode().removeprefix(prefix)): _unpacked(dict(json.loads(value)))
            for field, value in sorted(fields.items())
            if field.decode().startswith(prefix)
        }
    except (ValueError, TypeError) as error:
        raise CorruptData(f"{meta} in Redis does not hold a layout: {error}") from error


def _unpacked(stored: Mapping[str, int]) -> TableSettings:
    if unknown := sorted(stored.keys() - set(TableSettings._fields)):
        names = " and ".join(f"index.{name}" for name in unknown)
        raise ConfigError(
            f"'rebuild --into' of a later release laid the tables out by {names}, which this release does not"
            " have: use that release"
        )
    return TableSettings(**stored)


async def add_layout(
    client: RedisClient, namespace: str, token: str, number: int, tables: TableSettings
) -> None:
    """Store a layout, unless one has its number.

    A setting that is what releases had before they had the setting is left out: they read the layout then.
    """
    fields = {name: each for name, each in tables._asdict().items() if each != _DEFAULTS.get(name)}
    packed = json.dumps(fields, sort_keys=True)
    await client.execute("HSETNX", meta_key(namespace), f"{_prefix(token)}{number}", packed)


def _prefix(token: str) -> str:
    """Return the prefix of the fields; an index that takes the place of another has another token."""
    return f"layout:{token}:"
