"""Find stored effects of uncommitted records: something was in flight while the stores were read."""

from neardup_stream.invariants.history import History
from neardup_stream.stores.applied_positions import position_of

__all__ = ["has_uncommitted_effects"]


def has_uncommitted_effects(history: History) -> bool:
    """Return whether a page record has taken a record at its committed offset or behind it.

    A record has an effect on clusters only once the record of its page has taken it. So where clusters were
    read before page records, none of the clusters has such an effect either if this is false.

    Cost: that of unpacking every page record.
    """
    for record in history.records.values():
        for each in (record.made_by, *record.later):
            position = position_of(each)
            committed = history.committed.get(position.partition)
            if committed is not None and position.offset >= committed:
                return True
    return False
