"""Find whether something was in flight while topics and stores were read: records that are not committed."""

from neardup_stream.invariants.history import History
from neardup_stream.stores.applied_positions import position_of

__all__ = ["is_all_committed"]


def is_all_committed(history: History) -> bool:
    """Return whether the group has committed every record that was read, and every one that a page has taken.

    A record has an effect on clusters only once the record of its page has taken it. So where clusters were
    read before page records, none of the clusters has an effect of an uncommitted record either.

    Cost: that of unpacking every page record.
    """
    committed = history.committed
    if any(each.position.offset >= committed.get(each.position.partition, 0) for each in history.inputs):
        return False
    taken = (position_of(at) for record in history.records.values() for at in record.applied)
    return all(at.partition not in committed or at.offset < committed[at.partition] for at in taken)
