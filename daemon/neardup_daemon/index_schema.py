"""Gather what changes stored bytes: the schema of an index."""

from neardup_daemon.preparing import index_layout, simhash_config, sketch_config
from neardup_daemon.settings.settings import Settings
from neardup_stream.fingerprints.simhash import schema_fields
from neardup_stream.fingerprints.sketch import sketch_schema_fields
from neardup_stream.indexes.layout import ENTRY_FORMAT

__all__ = ["schema"]


def schema(settings: Settings) -> dict[str, str | int]:
    """Everything that changes stored bytes, by name: daemons that share a namespace must agree on it."""
    layout = index_layout(settings)
    # Indexes that were made before there were substrings have no such field.
    substrings = {} if settings.index.substrings == 1 else {"substrings": settings.index.substrings}
    # It follows from `slot_bits`, unless a plan is so small that these are 0 whatever it is.
    clusters = {} if layout.slot_bits else {"cluster_slot_bits": layout.cluster_slot_bits}
    return {
        **schema_fields(simhash_config(settings)),
        **sketch_schema_fields(sketch_config(settings)),
        "extraction": settings.text.extraction,
        "blocks": settings.index.blocks,
        **substrings,
        "distance_bits": settings.index.distance_bits,
        "scope": settings.verdict.scope,
        "entry_format": ENTRY_FORMAT,
        "bucket_bits": layout.bucket_bits,
        "slot_bits": layout.slot_bits,
        **clusters,
        "shards": settings.index.shards,
    }
