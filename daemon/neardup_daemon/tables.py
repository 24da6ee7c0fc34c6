"""Open the tables of an index, by the number of their layout."""

from typing import Final

from neardup_daemon.preparing import index_layout
from neardup_daemon.settings.settings import Settings
from neardup_daemon.table_settings import StoredLayouts, stored_layouts
from neardup_stream.errors import ConfigError
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.stores.cluster_store import ClusterStore
from neardup_stream.stores.guarded_clusters import change_layout, stored_layout
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.keys import Keys, laying_key
from neardup_stream.stores.redis.layouts import TableSettings, add_layout
from neardup_stream.stores.redis.leases import Lease
from neardup_stream.stores.redis.namespace import Namespace
from neardup_stream.stores.redis.tables import RedisTables, remove_tables
from neardup_stream.stores.table_layouts import LayoutState, TableLayouts

__all__ = ["Tables"]

_CHANGED_MEANWHILE: Final = (
    "another 'rebuild --into' has changed the layout of the tables meanwhile; run one at a time"
)


class Tables:
    """The tables of an index, in all their layouts.

    Args:
        client: reaches the server or cluster; opened and closed by its owner.
        cells: where the state is stored.
        changing: the same, with failpoints.
        namespace: identity of the index.
        layouts: those known so far.
        state: which one is in use.
    """

    def __init__(
        self,
        client: RedisClient,
        cells: ClusterStore,
        changing: ClusterStore,
        namespace: Namespace,
        layouts: StoredLayouts,
        state: TableLayouts,
    ) -> None:
        self.layouts = layouts
        self.state = state
        self._client = client
        self._cells = cells
        self._changing = changing
        self._namespace = namespace

    async def index(self, number: int) -> PermutedIndex:
        """Return the index over the tables of a layout.

        Raises:
            StoreUnavailable: Redis is unavailable.
        """
        layout = index_layout(await self._settings_of(number))
        return PermutedIndex(RedisTables(self._client, self.keys(number)), layout)

    async def settings_in_force(self) -> Settings:
        """Return the settings, with those of the layout in force as it is stored now."""
        await self.learn()
        return await self._settings_of(self.state.found.current)

    async def _settings_of(self, number: int) -> Settings:
        """Return the settings, with those of a layout, which may have been stored since they were read."""
        if number and number not in self.layouts.known:
            await self.read_layouts()
        return self.layouts.settings(number)

    def lease(self) -> Lease:
        """Return the lease of the one process that may lay the tables out."""
        key = laying_key(self._namespace_name, self._namespace.schema_id)
        return Lease(self._client, key, "'rebuild --into'")

    async def learn(self) -> None:
        """Read the state that is stored; what is only looked up is looked up in the layout in force then."""
        self.state.learn(await stored_layout(self._cells, self._namespace.token))

    async def add(self, number: int, tables: TableSettings) -> None:
        """Store the settings of a layout.

        Raises:
            ConfigError: other settings have been stored under its number.
        """
        await add_layout(self._client, self._namespace_name, self._namespace.token, number, tables)
        await self.read_layouts()
        if self.layouts.tables(number) != tables:
            raise ConfigError(_CHANGED_MEANWHILE)

    async def change(self, current: int, filling: int | None) -> None:
        """Change which layout is in force, and which one is filled.

        Raises:
            ConfigError: the state has changed since it was read.
        """
        former = self.state.found
        state = LayoutState(former.change + 1, current, filling)
        if not await change_layout(self._changing, self._namespace.token, former, state):
            await self.learn()  # the answer to our own change may have been lost
            if self.state.found != state:
                raise ConfigError(_CHANGED_MEANWHILE)
        self.state.learn(state)

    async def read_layouts(self) -> None:
        """Read which layouts there are by now."""
        self.layouts = await stored_layouts(self._client, self.layouts.base)

    async def remove(self, number: int) -> int:
        """Remove the tables of a layout; return how many buckets there were. Safe to repeat."""
        layout = index_layout(self.layouts.settings(number))
        return await remove_tables(self._client, self.keys(number), [cut.bucket_bits for cut in layout.cuts])

    def keys(self, number: int) -> Keys:
        """Return the keys of the index, where its tables have a layout; records keep that of its creation."""
        base, layout = index_layout(self.layouts.base), index_layout(self.layouts.settings(number))
        return Keys(
            namespace=self._namespace_name,
            schema_id=self._namespace.schema_id,
            shard_bits=base.shard_bits,
            table_count=layout.table_count,
            bucket_bits=layout.key_bucket_bits,
            slot_bits=base.slot_bits,
            layout=number,
        )

    @property
    def _namespace_name(self) -> str:
        return self.layouts.base.redis.namespace
