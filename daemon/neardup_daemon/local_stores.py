"""Build the stores of a run that keeps nothing: arrays and dicts of this process, and no server."""

import secrets
from time import time

from neardup_daemon.failpoints import with_failpoints
from neardup_daemon.loop_wiring import LoopStores, build_clusters
from neardup_daemon.policy import policy
from neardup_daemon.preparing import cluster_rule, index_layout, sketch_config
from neardup_daemon.settings.settings import Settings
from neardup_stream.clusters.unclustered import Unclustered
from neardup_stream.hashing.handles import KEY_BYTES
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.pipeline.descriptions import Descriptions
from neardup_stream.pipeline.former_versions import FormerVersions
from neardup_stream.pipeline.short_path import ArrayStores
from neardup_stream.pipeline.short_placing import Placing
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.stores.arrays.records import ArrayRecords
from neardup_stream.stores.arrays.tables import ArrayTables, load_tables_kernel
from neardup_stream.stores.index_identity import new_token
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.memory.frames import MemoryFrames

__all__ = ["local_stores"]


def local_stores(settings: Settings) -> LoopStores:
    """Return the stores of a new index in the memory of this process."""
    points = settings.failpoints.points()
    layout, sketch = index_layout(settings), sketch_config(settings)
    load_tables_kernel()  # else the first batch waits for it
    index = PermutedIndex(ArrayTables(), layout)
    records = ArrayRecords(
        layout.shard_bits + layout.slot_bits, sketch.sketch_bytes if sketch else 0, layout.config.bands
    )
    cluster_store = MemoryClusters(time)
    guarded_records = with_failpoints("records", records, points)
    guarded_store = with_failpoints("cluster_store", cluster_store, points)
    former = FormerVersions()
    clusters = build_clusters(settings, guarded_store, Descriptions(guarded_records, former))
    decider = with_failpoints("clusters", clusters or Unclustered(guarded_store), points)
    rule, in_arrays = cluster_rule(settings), None
    if rule is not None and not points:
        placing = Placing(cluster_store, Descriptions(records, former), rule, settings.clusters.pending_edges)
        in_arrays = ArrayStores(index, records, placing)
    return LoopStores(
        pages=PageStores(
            with_failpoints("index", index, points),
            guarded_records,
            decider,
            secrets.token_bytes(KEY_BYTES),
            former,
            outlives_run=False,
        ),
        frames=with_failpoints("frames", MemoryFrames(), points),
        clusters=clusters,
        index_token=new_token(int(1000 * time())),
        policy=policy(settings),
        in_arrays=in_arrays,
    )
