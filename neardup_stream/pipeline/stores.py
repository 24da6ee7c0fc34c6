"""The stores that the stages from register to commit work on."""

from dataclasses import dataclass, field

from neardup_stream.clusters.protocol import Decider
from neardup_stream.indexes.protocol import Index
from neardup_stream.pipeline.former_versions import FormerVersions
from neardup_stream.stores.protocol import RecordStore
from neardup_stream.stores.table_layouts import TableLayouts

__all__ = ["PageStores"]


@dataclass(frozen=True, slots=True)
class PageStores:
    """What is stored of pages.

    Attributes:
        index: finds candidates.
        records: keeps the page records.
        clusters: decides, and keeps the decision records.
        handle_key: secret of this index.
        former: the versions that pages in flight replace: those that the descriptions of `clusters` read.
        version_floor: first versions of pages are above it.
        outlives_run: whether earlier runs may have filled the stores, and may not have delivered all events.
        layouts: which layout of the tables is in use.
    """

    index: Index
    records: RecordStore
    clusters: Decider
    handle_key: bytes
    former: FormerVersions
    version_floor: int = 0
    outlives_run: bool = True
    layouts: TableLayouts = field(default_factory=TableLayouts)
