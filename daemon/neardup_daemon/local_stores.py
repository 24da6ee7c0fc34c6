"""The stores of a run that nothing outlives: arrays and dicts of this process, and no server."""

import secrets
from time import time

from neardup_daemon.failpoints import with_failpoints
from neardup_daemon.loop_wiring import LoopStores, build_clusters
from neardup_daemon.policy import policy
from neardup_daemon.preparing import index_layout
from neardup_daemon.settings.settings import Settings
from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.hashing.handles import KEY_BYTES
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.stores.arrays.tables import ArrayTables
from neardup_stream.stores.index_identity import new_token
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.memory.frames import MemoryFrames
from neardup_stream.stores.memory.records import MemoryRecords

__all__ = ["local_stores"]


def local_stores(settings: Settings) -> LoopStores:
    """Return the stores of a new index in the memory of this process."""
    points = settings.failpoints.points()
    layout = index_layout(settings)
    index = with_failpoints("index", PermutedIndex(ArrayTables(), layout), points)
    records = with_failpoints("records", MemoryRecords(layout.shard_bits + layout.slot_bits), points)
    cluster_store = with_failpoints("cluster_store", MemoryClusters(time), points)
    clusters = build_clusters(settings, cluster_store, records)
    decider = with_failpoints("clusters", clusters or Unclustered(cluster_store), points)
    return LoopStores(
        judged=PageStores(index, records, decider, secrets.token_bytes(KEY_BYTES), outlives_run=False),
        frames=with_failpoints("frames", MemoryFrames(), points),
        clusters=clusters,
        index=new_token(int(1000 * time())),
        policy=policy(settings),
    )
