"""Handle consumer groups that did not start at the first record."""

from neardup_stream.invariants.history import History
from neardup_stream.invariants.spilled import spilled_inputs
from neardup_stream.message import Partition

__all__ = ["since_the_first_trace"]


def since_the_first_trace(history: History) -> History:
    """Return the history without the records before the first that left a trace in the store.

    Whether a record before the first trace was lost, or was never to be read, cannot be observed.
    """
    first: dict[Partition, int] = {}
    for record in history.records.values():
        for input_id, number, offset in record.applied:
            partition = Partition(input_id, number)
            first[partition] = min(offset, first.get(partition, offset))
    ends = {partition: first.get(partition, end) for partition, end in history.committed.items()}
    kept = (each for each in history.inputs if each.position.offset >= ends.get(each.position.partition, 0))
    return history._replace(inputs=spilled_inputs(kept))
