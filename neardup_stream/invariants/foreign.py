"""Find stored pages of inputs whose events may be elsewhere: clusters then are of more than was read."""

from neardup_stream.invariants.history import History
from neardup_stream.invariants.published import PublishedEvents
from neardup_stream.message import is_forgets, is_topic, topic_of
from neardup_stream.stores.applied_positions import position_of
from neardup_stream.wire.events import event_id

__all__ = ["foreign_input"]


def foreign_input(history: History) -> str:
    """Return that there are pages of another input, and what to give for it; empty if there are none.

    Forgets of `forget --state` are no other input where their events were read.

    Cost: that of reading all events, if there are such forgets.
    """
    known = {topic_of(partition.input_id) for partition in history.committed}
    applied = (at for record in history.records.values() for at in record.applied)
    foreign = (at for at in applied if topic_of(at[0]) not in known)
    events: PublishedEvents | None = None
    for at in foreign:
        input_id = at[0]
        if not is_forgets(input_id):
            return f"there are pages of other inputs too: {input_id}{_remedy(known)}"
        events = events or PublishedEvents(history.events, history.index_token)
        if events.get(event_id("gone", position_of(at), history.index_token)) is None:
            said = f"pages were removed by 'forget --state': {input_id}"
            return f"{said}; give the events that it wrote with --events"
    return ""


def _remedy(known: set[str]) -> str:
    """Return how to read them too; empty for a topic, beside which no other input is read."""
    if any(map(is_topic, known)):
        return ""
    return "; give its file with --pages and its events with --events, unless it was a pipe"
