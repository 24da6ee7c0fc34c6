"""Events as a subscriber reads them, for tests of the subscriber kit."""

from collections.abc import Iterable, Sequence

from neardup_stream.events import Event, EventData, event_subject
from neardup_stream.subscriber import CloudEvent, decode
from neardup_stream.wire.events import to_message
from tests.events import event_name

__all__ = ["read_event", "read_events", "written_event"]


def written_event(data: EventData, index: str = "", event_id: str = "1") -> Event:
    """Return the event of an index as the daemon writes it."""
    return Event(
        id=event_id,
        name=event_name(data),
        source="/neardup/nd/p",
        subject=event_subject(data),
        time_ms=0,
        data=data,
        index=index,
    )


def read_event(data: EventData, index: str = "", event_id: str = "1") -> CloudEvent:
    """Return the event of an index as the kit decodes it."""
    message = to_message(written_event(data, index, event_id))
    return decode(message.value, message.headers)


def read_events(published: Iterable[EventData]) -> Sequence[CloudEvent]:
    """Return events with ids of their own."""
    return [read_event(data, event_id=str(number)) for number, data in enumerate(published)]
