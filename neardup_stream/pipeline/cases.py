"""Builds cluster requests of registered pages and forgets, and decision records from the answers. Pure."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from neardup_stream.clusters.placements import Placement
from neardup_stream.clusters.requests import (
    ConfirmRequest,
    ForgetRequest,
    LoneRequest,
    PageVersion,
    PlaceRequest,
    QuietRequest,
    Request,
    UnknownRequest,
)
from neardup_stream.indexes.protocol import IndexedPage
from neardup_stream.message import Message, Position
from neardup_stream.page import Handle
from neardup_stream.pipeline.arrival import Judged
from neardup_stream.pipeline.decision_record import DecisionRecord
from neardup_stream.pipeline.event_building import (
    RenderEvent,
    gone_decision_record,
    lone_decision_record,
    page_decision_record,
)
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.pipeline.forgetting import Forgotten
from neardup_stream.pipeline.frame_views import is_distinct
from neardup_stream.pipeline.indexed import indexed_pages
from neardup_stream.stores.page_record import PageRecord

__all__ = ["Case", "forget_case", "lone_request", "page_case", "place_request"]


class Case(NamedTuple):
    """A record that is not decided yet: its cluster request, and how the answer becomes a decision record.

    Attributes:
        request: to the clusters.
        record: builds the decision record from the answer.
        former: index entries of the version that was replaced.
        is_distinct: whether it is a new page that nearly equals no other.
    """

    request: Request
    record: Callable[[Placement | None, RenderEvent], DecisionRecord]
    former: Sequence[IndexedPage] = ()
    is_distinct: bool = False


def page_case(judged: Judged, events: EventConfig, left_behind: tuple[Message, ...] = ()) -> Case:
    """Return the case of a page.

    Args:
        judged: the page as it was registered, and what it matches.
        events: which events are published.
        left_behind: where the page is unchanged, the events of its version that are still to be published.
    """
    page = judged.registered
    position, record = page.arrival.record.position, page.record
    former = _indexed_former(page.handle, page.former)
    if page.change == "superseded":
        return _superseded(position, former)
    if page.change == "unchanged":
        node = _node(page.handle, record)
        return Case(
            ConfirmRequest(position, node, record.content, record.maker, bool(record.rank)),
            lambda _placement, _render: DecisionRecord("unchanged", events=left_behind),
            former,
        )
    return Case(
        place_request(judged),
        lambda placement, render: page_decision_record(judged, placement, events, render),
        former,
        is_distinct=page.change == "new" and _is_distinct(judged),
    )


def lone_request(judged: Judged, events: EventConfig) -> LoneRequest | None:
    """Return the request of a new page that matches nothing, and of which nothing is published; else None.

    Args:
        judged: the page as it was registered, and what it matches.
        events: which events are published.
    """
    page, record = judged.registered, judged.registered.record
    if page.change != "new" or judged.matches or record.version != 1:
        return None
    decision = lone_decision_record(judged, events)
    if decision is None:
        return None
    return LoneRequest(
        page.arrival.record.position,
        page.handle,
        record.id,
        record.url,
        record.fingerprint,
        record.content,
        decision.pack(),
    )


def place_request(judged: Judged) -> PlaceRequest:
    """Return the request of a page that takes a place."""
    page = judged.registered
    node = _node(page.handle, page.record)
    return PlaceRequest(
        page.arrival.record.position, node, judged.matches, page.record.content, page.claimed_from
    )


def _is_distinct(judged: Judged) -> bool:
    """Return whether the page nearly equals no other one (of archives, where it is left to them)."""
    arrival = judged.registered.arrival
    if not judged.registered.is_left_to_archives:
        return is_distinct(judged.matches, is_sibling=arrival.is_sibling)
    archived = arrival.archived
    others = [each.match for each in archived.matches if each.match.id != arrival.page.id]
    return len(archived.matches) == archived.total and is_distinct(others)


def forget_case(each: Forgotten, events: EventConfig) -> Case:
    """Return the case of a forget.

    Args:
        each: as it was registered.
        events: which events are published.
    """
    position = each.forget.record.position
    if each.handle is None or each.record is None:
        return Case(
            UnknownRequest(position, each.places),
            lambda _placement, _render: DecisionRecord("forget_unknown"),
        )
    former = _indexed_former(each.handle, each.former)
    if each.result == "superseded":
        return _superseded(position, former)
    stub = _node(each.handle, each.record)
    return Case(
        ForgetRequest(position, stub),
        lambda placement, render: gone_decision_record(each, stub, placement, events, render),
        former,
    )


def _superseded(position: Position, former: Sequence[IndexedPage]) -> Case:
    return Case(QuietRequest(position), lambda _placement, _render: DecisionRecord("superseded"), former)


def _node(handle: Handle, record: PageRecord) -> PageVersion:
    return PageVersion(handle, record.version, record.id, record.url, record.fingerprint)


def _indexed_former(handle: Handle, former: PageRecord | None) -> list[IndexedPage]:
    return indexed_pages(handle, former) if former is not None and former.is_indexed else []
