"""The subscriber kit's fold, fed with events as this package decodes them."""

import msgspec

from neardup_stream.errors import CorruptData
from neardup_stream.events import EVENT_DECODERS
from neardup_stream.subscriber.facts import facts_of
from neardup_stream.subscriber.fold import ClusterFold
from neardup_stream.wire.events import CloudEvent

__all__ = ["Fold"]


class Fold(ClusterFold):
    """Takes in the events that `from_message` returns."""

    def feed(self, event: CloudEvent[msgspec.Raw]) -> None:
        """Take in one event, of whatever type: other types change nothing.

        `contained` and `archived` change nothing either, unless they are the first of a later index.

        Raises:
            CorruptData: the data is not what the type promises; nothing was taken in.
        """
        decoder = EVENT_DECODERS.get(event.type)
        if decoder is None:
            return
        try:
            data = decoder.decode(event.data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise CorruptData(f"event {event.id!r} is no {event.type}: {error}") from error
        self.take_in(facts_of(event.type, data), event.index or "")
