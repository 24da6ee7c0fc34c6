"""Collect what is counted of a batch once its messages are acknowledged. Pure."""

from collections import Counter
from collections.abc import Sequence

from neardup_stream.meters import Delivered
from neardup_stream.pipeline.arrival import Prepared
from neardup_stream.pipeline.conclusion import LongEnoughPositions
from neardup_stream.pipeline.delivery_guarantees import OutgoingMessage
from neardup_stream.wire.events import event_name

__all__ = ["delivered"]


def delivered(
    prepared: Prepared, events: Sequence[OutgoingMessage], long_enough: LongEnoughPositions
) -> Delivered:
    """Add up one batch: its events by name, and the pages and duplicates of each site.

    Pages that are too short are not counted by their sites; messages without headers, as files take them, are
    not counted as events.

    Cost: 0.1 ms for 256 records.
    """
    pages = [page for page in prepared.arrivals if page.record.position in long_enough.pages]
    found = [page for page in pages if page.record.position in long_enough.duplicates]
    return Delivered(
        records=prepared.records,
        event_counts=Counter(name for each in events if (name := event_name(each.message))),
        duplicate_bytes=sum(page.record.size_bytes for page in found),
        site_pages=Counter(page.site for page in pages if page.site),
        site_duplicates=Counter(page.site for page in found if page.site),
    )
