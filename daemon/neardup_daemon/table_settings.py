"""Know the layouts of an index: that of its creation, and those its tables were laid out by since.

Page records and clusters stay as they were laid out at creation; `rebuild --into` changes the tables alone.
So the settings may state any of these layouts, and what is in force is what is stored.
"""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace

from neardup_daemon.index_schema import schema
from neardup_daemon.settings.settings import Settings
from neardup_stream.errors import ConfigError, InvariantBroken
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.layouts import TableSettings, read_layouts

__all__ = ["StoredLayouts", "is_same_layout", "stored_layouts", "with_tables"]


class StoredLayouts(NamedTuple):
    """The layouts of an index.

    Attributes:
        base: the settings, with the layout of the index's creation.
        known: each layout of its tables, by number; empty where they were never laid out again.
    """

    base: Settings
    known: Mapping[int, TableSettings]

    def tables(self, number: int) -> TableSettings:
        """Return the settings of a layout, which is known or that of the index's creation."""
        if number in self.known:
            return self.known[number]
        if number:
            raise InvariantBroken(f"layout {number} of the tables is in use, and its settings are not known")
        index = self.base.index
        return TableSettings(index.expected_pages, index.blocks, index.substrings)

    def settings(self, number: int) -> Settings:
        """Return the settings, with those of a layout."""
        return with_tables(self.base, self.tables(number))


async def stored_layouts(client: RedisClient, settings: Settings) -> StoredLayouts:
    """Return the layouts of the index under the namespace of the settings.

    Raises:
        ConfigError: the settings state none of them.
        CorruptData: the meta record is not ours.
    """
    known = await read_layouts(client, settings.redis.namespace)
    if not known:
        return StoredLayouts(settings, known)
    if not any(is_same_layout(settings, with_tables(settings, each)) for each in known.values()):
        latest = known[max(known)]
        raise ConfigError(
            f"the tables under redis.namespace {settings.redis.namespace!r} are laid out by"
            f" index.expected_pages = {latest.expected_pages}, index.blocks = {latest.blocks} and"
            f" index.substrings = {latest.substrings}, and not by {settings.index.expected_pages},"
            f" {settings.index.blocks} and {settings.index.substrings}: set these; 'rebuild --into' changes"
            " them"
        )
    return StoredLayouts(with_tables(settings, known[0]), known)


def with_tables(settings: Settings, tables: TableSettings) -> Settings:
    """Return the settings with those of a layout."""
    return replace(settings, index=replace(settings.index, **tables._asdict()))


def is_same_layout(one: Settings, other: Settings) -> bool:
    """Return whether two settings give the same keys and members."""
    return schema(one) == schema(other)
