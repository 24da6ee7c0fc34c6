from typing import Any

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from neardup_stream.clusters.placements import ClusterState, Departure, Placement, lone_cluster_id
from neardup_stream.clusters.planning import stands_alone
from neardup_stream.clusters.requests import PageVersion
from neardup_stream.event_parts import LeftCluster, PreviousPlace
from neardup_stream.events import DuplicateFound, Gone, Undecided, UniqueFound, event_type
from neardup_stream.match import Match, MatchKind
from neardup_stream.message import Partition, Position, RecordMetadata
from neardup_stream.page import Fingerprint64, Handle, Page, PageId
from neardup_stream.pipeline.archived import ArchivedMatch, ArchivedMatches
from neardup_stream.pipeline.arrival import Arrival, Forget, Judged, Registered
from neardup_stream.pipeline.event_building import (
    gone_decision_record,
    lone_decision_record,
    page_decision_record,
)
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.pipeline.forgetting import Forgotten
from neardup_stream.stores.page_record import PageRecord, PageState
from neardup_stream.wire.events import from_message, to_message

POSITION = Position(Partition("pages", 0), 1)
RECORD = PageRecord.first(
    page_id=PageId("page"), url="page", text_fingerprint=1, position=POSITION, seen_seconds=0
)
ARRIVAL = Arrival(
    record=RecordMetadata(position=POSITION),
    page=Page(id=PageId("page"), url="page", fetched_at_seconds=0),
    fingerprint=Fingerprint64(1),
    text_fingerprint=1,
    token_count=100,
    has_enough_tokens=True,
)


RETURNED = msgspec.structs.replace(RECORD, is_return=True)
ARCHIVED = msgspec.structs.replace(RECORD, state="archived")
OWN = PageVersion(Handle(2), 1, PageId("page"), "page")
SHORT = msgspec.structs.replace(ARRIVAL, has_enough_tokens=False)


def match_with(name: str, kind: MatchKind, resemblance: float) -> Match:
    return Match(Handle(1), PageId(name), name, 1, 0, kind, resemblance=resemblance)


def test_a_copy_that_left_its_match_for_the_page_is_published_first_and_makes_it_exact() -> None:
    own, left = match_with("own", "near", 0.8), match_with("left", "exact", 1.0)
    placement = Placement(
        matches=(own, left),
        cluster=ClusterState("c", 1, 3, PageVersion(Handle(1), 1, PageId("own"), "own")),
        is_duplicate=True,
        merges=(),
        departure=None,
        was_linked=False,
        is_superseded=False,
    )
    judged = Judged(Registered(ARRIVAL, Handle(2), RECORD, "new"), (own,))

    (message,) = page_decision_record(judged, placement, EventConfig(), to_message).events

    event = msgspec.json.decode(message.value or b"", type=DuplicateFound)
    assert (event.kind, [match.id for match in event.matches]) == ("exact", ["left", "own"])


def test_a_page_that_another_record_has_decided_since_is_superseded() -> None:
    placement = msgspec.structs.replace(stands_alone(OWN), cluster=None, is_superseded=True)
    judged = Judged(Registered(ARRIVAL, Handle(2), RECORD, "changed"))

    assert page_decision_record(judged, placement, EventConfig(), to_message).outcome == "superseded"


LEFT = msgspec.structs.replace(
    stands_alone(OWN),
    departure=Departure("c", 3, 1, OWN, remaining=None, is_representative_change=False),
    was_linked=True,
)
"""The placement of a page that was in a cluster with others."""


@pytest.mark.parametrize(
    ("arrival", "record", "reason"),
    [(SHORT, RECORD, "too_short"), (ARRIVAL, ARCHIVED, "archived")],
    ids=["too short", "left to archives"],
)
def test_a_page_that_leaves_its_cluster_and_is_not_judged_any_more_says_where_it_was(
    arrival: Arrival, record: PageRecord, reason: str
) -> None:
    judged = Judged(Registered(arrival, Handle(2), record, "changed"))

    (message,) = page_decision_record(judged, LEFT, EventConfig(), to_message).events

    event = msgspec.json.decode(message.value or b"", type=Undecided)
    assert (event.reason, event.previous) == (reason, PreviousPlace(version=1, cluster="c"))


LONE = Departure(lone_cluster_id(OWN.handle, 1), 1, 1, OWN, remaining=None, is_representative_change=False)
"""By the clusters, which place every page, also one that is undecided."""

OF_BEFORE = pytest.mark.parametrize(
    ("state", "cluster"),
    [("short", UNSET), ("archived", UNSET), ("live", LONE.cluster_id)],
    ids=["it was too short", "it was left to archives", "it stood alone"],
)


@OF_BEFORE
@pytest.mark.parametrize("departure", [LONE, None], ids=["just decided", "decided long ago"])
def test_a_page_that_was_undecided_was_in_no_cluster(
    departure: Departure | None, state: PageState, cluster: str | UnsetType
) -> None:
    former = msgspec.structs.replace(RECORD, state=state, rank=7)
    record = former.followed_by(RECORD)
    judged = Judged(Registered(ARRIVAL, OWN.handle, record, "changed", former))
    placement = msgspec.structs.replace(stands_alone(OWN._replace(version=2)), departure=departure)

    (message,) = page_decision_record(judged, placement, EventConfig(unique=True), to_message).events

    event = msgspec.json.decode(message.value or b"", type=UniqueFound)
    assert event.previous == PreviousPlace(version=1, cluster=cluster)


@OF_BEFORE
@pytest.mark.parametrize("departure", [LONE, None], ids=["just decided", "decided long ago"])
def test_a_page_that_is_forgotten_left_no_cluster_where_it_was_undecided(
    departure: Departure | None, state: PageState, cluster: str | UnsetType
) -> None:
    former = msgspec.structs.replace(RECORD, state=state, rank=7)
    asked = Forget(RecordMetadata(position=POSITION), (PageId("page"),))
    forgotten = Forgotten(asked, "forgotten", OWN.handle, former.forgotten_by(POSITION, 1), former)
    stub = OWN._replace(version=2)
    placement = msgspec.structs.replace(stands_alone(stub), cluster=None, departure=departure)

    (message,) = gone_decision_record(forgotten, stub, placement, EventConfig(), to_message).events

    event = msgspec.json.decode(message.value or b"", type=Gone)
    assert event.cluster == (LeftCluster(id=cluster, epoch=1) if cluster else UNSET)


IN_FLIGHT = pytest.mark.parametrize("state", ["short", "archived"])
"""Version 2 is decided in one batch with version 3; version 1 is the last that was decided before."""
BEFORE = msgspec.structs.replace(RECORD, rank=7)
IN_FLIGHT_AT = LONE._replace(version=2, cluster_id=lone_cluster_id(OWN.handle, 2))


@IN_FLIGHT
def test_a_page_was_in_no_cluster_where_the_undecided_version_is_in_flight_with_the_next(
    state: PageState,
) -> None:
    former = BEFORE.followed_by(msgspec.structs.replace(RECORD, state=state))
    record = former.followed_by(RECORD)
    judged = Judged(Registered(ARRIVAL, OWN.handle, record, "changed", former, decided_before=BEFORE))
    placement = msgspec.structs.replace(stands_alone(OWN._replace(version=3)), departure=IN_FLIGHT_AT)

    (message,) = page_decision_record(judged, placement, EventConfig(unique=True), to_message).events

    event = msgspec.json.decode(message.value or b"", type=UniqueFound)
    assert event.previous == PreviousPlace(version=2)


@IN_FLIGHT
def test_a_page_left_no_cluster_where_the_undecided_version_is_in_flight_with_its_forget(
    state: PageState,
) -> None:
    former = BEFORE.followed_by(msgspec.structs.replace(RECORD, state=state))
    asked = Forget(RecordMetadata(position=POSITION), (PageId("page"),))
    stored = former.forgotten_by(POSITION, 1)
    forgotten = Forgotten(asked, "forgotten", OWN.handle, stored, former, decided_before=BEFORE)
    stub = OWN._replace(version=3)
    placement = msgspec.structs.replace(stands_alone(stub), cluster=None, departure=IN_FLIGHT_AT)

    (message,) = gone_decision_record(forgotten, stub, placement, EventConfig(), to_message).events

    event = msgspec.json.decode(message.value or b"", type=Gone)
    assert event.cluster is UNSET


@pytest.mark.parametrize("is_wanted", [False, True])
def test_a_page_that_is_left_to_archives_is_undecided_beside_its_matches_where_that_is_wanted(
    *, is_wanted: bool
) -> None:
    found = ArchivedMatch("0a", "old.nda", match_with("old", "near", 0.9), 0, ("text",))
    arrival = msgspec.structs.replace(ARRIVAL, archived=ArchivedMatches((found,), 1))
    judged = Judged(Registered(arrival, Handle(2), ARCHIVED, "new"))

    messages = page_decision_record(
        judged, stands_alone(OWN), EventConfig(undecided=is_wanted), to_message
    ).events

    types = [from_message(message).type for message in messages]
    assert types == [event_type("undecided")] * is_wanted + [event_type("archived")]


def test_the_decision_record_of_a_lone_page_is_known_before_its_placement() -> None:
    lone = Judged(Registered(ARRIVAL, Handle(2), RECORD, "new"))

    assert lone_decision_record(lone, EventConfig()) == page_decision_record(
        lone, stands_alone(OWN), EventConfig(), to_message
    )


@pytest.mark.parametrize(
    ("arrival", "record", "containers", "config"),
    [
        pytest.param(ARRIVAL, RECORD, (), EventConfig(unique=True), id="its event is wanted"),
        pytest.param(ARRIVAL, RETURNED, (), EventConfig(), id="it was known before"),
        pytest.param(SHORT, RECORD, (), EventConfig(), id="it is too short"),
        pytest.param(
            ARRIVAL,
            RECORD,
            (match_with("a", "near", 0.1),),
            EventConfig(contained=True),
            id="it is inside another",
        ),
    ],
)
def test_a_page_that_is_published_has_no_decision_record_before_its_placement(
    arrival: Arrival, record: PageRecord, containers: tuple[Match, ...], config: EventConfig
) -> None:
    page = Judged(Registered(arrival, Handle(2), record, "new"), containers=containers)

    assert lone_decision_record(page, config) is None


@pytest.mark.parametrize(
    ("former", "is_published"),
    [
        pytest.param({"version": 1}, False, id="its first version: no subscriber can know it"),
        pytest.param({"version": 2}, False, id="its first version, above the floor of its slot"),
        pytest.param({"version": 2, "is_return": True}, True, id="a return that was not decided"),
        pytest.param({"version": 2, "is_return": True, "rank": 7}, False, id="a return that was decided"),
        pytest.param({"version": 2, "state": "expiring", "rank": 7}, True, id="an expiring version"),
        pytest.param({"version": 2, "state": "gone", "rank": 7}, True, id="a stub"),
    ],
)
def test_a_change_is_published_without_an_event_for_the_former_version(
    former: dict[str, Any], *, is_published: bool
) -> None:
    replaced = msgspec.structs.replace(RECORD, **former)
    changed = replaced.followed_by(RECORD)
    judged = Judged(Registered(ARRIVAL, Handle(2), changed, "changed", replaced))
    node = PageVersion(Handle(2), changed.version, PageId("page"), "page")
    placement = Placement((), ClusterState("c", 1, 1, node), False, (), None, False, False)  # noqa: FBT003 - it stands alone

    messages = page_decision_record(judged, placement, EventConfig(), to_message).events

    assert [from_message(message).type for message in messages] == [event_type("unique")] * is_published


@pytest.mark.parametrize(
    ("whole_count", "share"), [(0, UNSET), (300, 0.67), (100, 0.0)], ids=["no-frame", "two-thirds", "nothing"]
)
def test_the_share_of_the_frame_is_reported_as_the_record_has_it(
    whole_count: int, share: float | UnsetType
) -> None:
    """Not as the arrival has it, which may be viewed with another table when it is processed again."""
    record = msgspec.structs.replace(RECORD, shingle_count=100, whole_count=whole_count)
    placement = Placement(
        matches=(match_with("a", "near", 0.8),),
        cluster=ClusterState("c", 1, 3, PageVersion(Handle(1), 1, PageId("a"), "a")),
        is_duplicate=True,
        merges=(),
        departure=None,
        was_linked=False,
        is_superseded=False,
    )
    replayed = Judged(
        Registered(msgspec.structs.replace(ARRIVAL, whole_count=77), Handle(2), record, "replayed")
    )

    (message,) = page_decision_record(replayed, placement, EventConfig(), to_message).events

    event = msgspec.json.decode(message.value or b"", type=DuplicateFound)
    assert event.page.frame_share == share
    assert event.matches[0].view == "whole"


def test_the_view_of_a_match_is_reported_as_it_was_found() -> None:
    by_content = msgspec.structs.replace(match_with("a", "near", 0.8), view="content")
    node = PageVersion(Handle(1), 1, PageId("a"), "a")
    placement = Placement((by_content,), ClusterState("c", 1, 2, node), True, (), None, False, False)  # noqa: FBT003 - a duplicate
    judged = Judged(Registered(ARRIVAL, Handle(2), RECORD, "new"), (by_content,))

    (message,) = page_decision_record(judged, placement, EventConfig(), to_message).events

    assert b'"view":"content"' in (message.value or b"")
