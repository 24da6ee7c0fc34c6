"""What a run has left behind, read for the invariants."""

from collections.abc import Mapping, Sequence

from neardup_stream.clusters.rules import components
from neardup_stream.invariants.history import Expectations, History, Matching, StoredCluster
from neardup_stream.invariants.inputs import read_inputs
from neardup_stream.message import Partition, Record
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import all_records
from tests.pipelines import Pipeline

__all__ = ["expectations_of", "read_pipeline"]


async def read_pipeline(
    pipeline: Pipeline, records: Sequence[Record], committed: Mapping[Partition, int]
) -> History:
    """Return what a pipeline was given, published and stored; nothing may be in flight."""
    packed = [each async for walked in all_records(pipeline.records) for each in walked.records]
    return History(
        inputs=read_inputs(records, pipeline.preparation()),
        committed=committed,
        events=pipeline.events.messages,
        dead_letters=pipeline.dead_letters.messages,
        records={handle: PageRecord.unpack(value) for handle, value in packed},
        clusters={
            cluster_id: StoredCluster(representative, tuple(members))
            async for cluster_id, representative, members in pipeline.decider().walk()
        },
    )


def expectations_of(pipeline: Pipeline, *, may_expire: bool = False) -> Expectations:
    """Return what may be concluded from its history; matches connect by the rule `components` alone."""
    is_connecting = pipeline.rule is components
    return Expectations(
        publishes_unique=pipeline.event_config.unique,
        publishes_undecided=pipeline.event_config.undecided,
        may_expire=may_expire,
        matching=Matching(pipeline.verdict, pipeline.layout, lambda _match: True) if is_connecting else None,
        verdict=pipeline.verdict,
    )
