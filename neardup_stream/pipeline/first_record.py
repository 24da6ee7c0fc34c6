"""Build the first page record of a page from what was computed of it. Pure."""

from collections.abc import Sequence

import msgspec

from neardup_stream.page import Handle
from neardup_stream.pipeline.arrival import Arrival, Registered
from neardup_stream.stores.page_record import PageRecord

__all__ = ["arrival_record", "first_record", "new_pages"]


def first_record(arrival: Arrival, now_seconds: int, floor: int, *, was_dropped: bool) -> PageRecord:
    """Return the record of a page that has none; one that is not indexed has nothing to be found by.

    Args:
        arrival: the page as it came.
        now_seconds: epoch seconds.
        floor: its version is above this one.
        was_dropped: whether the page had a record before.
    """
    page = arrival.page
    if not arrival.has_enough_tokens or arrival.is_left_to_archives:
        return PageRecord.first(
            page_id=page.id,
            url=page.url,
            text_fingerprint=arrival.text_fingerprint,
            position=arrival.record.position,
            seen_seconds=now_seconds,
            scope=arrival.scope,
            floor=floor,
            is_return=was_dropped,
            state="archived" if arrival.has_enough_tokens else "short",
        )
    record = PageRecord.first(
        page_id=page.id,
        url=page.url,
        text_fingerprint=arrival.text_fingerprint,
        position=arrival.record.position,
        seen_seconds=now_seconds,
        floor=floor,
        fingerprint=arrival.fingerprint,
        sketch=arrival.sketch,
        shingle_count=arrival.shingle_count,
        bands=arrival.bands,
    )
    if not (was_dropped or arrival.scope or arrival.whole_count):
        return record
    return msgspec.structs.replace(
        record,
        scope=arrival.scope,
        is_return=was_dropped,
        whole=arrival.whole,
        whole_count=arrival.whole_count,
        whole_bands=arrival.whole_bands if arrival.is_whole_indexed else b"",
    )


def arrival_record(arrival: Arrival) -> PageRecord:
    """Return the record that an empty index would store for a page, but for the time."""
    return first_record(arrival, now_seconds=0, floor=0, was_dropped=False)


def new_pages(
    arrivals: Sequence[Arrival],
    handles: Sequence[Handle],
    floors: Sequence[int],
    now_seconds: int,
    version_floor: int,
) -> list[Registered]:
    """Return the pages as they are registered where none of them has a record.

    Args:
        arrivals: as they came.
        handles: of the pages.
        floors: version floors of their slots.
        now_seconds: epoch seconds.
        version_floor: first versions of pages are above it.
    """
    return [
        Registered(
            arrival,
            handle,
            first_record(arrival, now_seconds, max(floor, version_floor), was_dropped=False),
            "new",
        )
        for arrival, handle, floor in zip(arrivals, handles, floors, strict=True)
    ]
