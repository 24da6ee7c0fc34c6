"""The events that a recovered index publishes, and the state that subscribers fold from them."""

from collections.abc import Iterable

from neardup_stream.clusters.placements import ClusterState
from neardup_stream.clusters.requests import PageVersion
from neardup_stream.events import DuplicateFound, Event
from neardup_stream.fold import Fold
from neardup_stream.message import Partition, Position
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.corrections import Corrections
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.wire.events import from_message, to_message
from tests.events import At, delivered, duplicate

FLOOR = 7
CORRECTIONS = Corrections("nd", "0193a0b1", FLOOR, 1_790_000_000_000, VerdictConfig(None, 3))


def record(name: str, offset: int, fingerprint: int = 5) -> PageRecord:
    return PageRecord.first(
        page_id=PageId(name),
        url=name,
        text_fingerprint=fingerprint,
        fingerprint=fingerprint,
        position=Position(Partition("pages", 0), offset),
        seen_seconds=1_790_000_000,
        floor=FLOOR,
    )


A, B, C = record("a", 1), record("b", 2), record("c", 3, fingerprint=4)
CLUSTER = ClusterState("1.8", 1, 3, PageVersion(Handle(1), FLOOR + 1, PageId("a"), "a", 5))


def folded(events: Iterable[Event]) -> Fold:
    """After an earlier index that held `b` for the representative, and a page that is lost now."""
    fold = Fold()
    for data in (duplicate("a", At("B", 1, "b"), version=7), duplicate("lost", At("B", 1, "b"), version=7)):
        fold.feed(delivered(data))
    for event in events:
        fold.feed(from_message(to_message(event)))
    return fold


def test_every_member_but_the_representative_is_a_duplicate_of_it() -> None:
    members = {Handle(1): A, Handle(2): B, Handle(3): C}

    events = list(CORRECTIONS.of_cluster(CLUSTER, A, members.items()))

    fold = folded(events)
    assert fold.clusters() == {"1.8": {"a", "b", "c"}}
    assert fold.deletable() == {"b", "c"}
    assert [event.data.kind for event in events] == ["exact", "near"]  # type: ignore[union-attr] # duplicates
    assert len({event.id for event in events}) == 2


def test_a_correction_says_when_its_page_was_seen_and_that_it_has_one_match() -> None:
    (event,) = CORRECTIONS.of_cluster(CLUSTER, A, [(Handle(2), B)])

    assert isinstance(event.data, DuplicateFound)
    assert event.data.page.fetched_at == "2026-09-21T14:13:20.000Z"
    assert (event.data.matches_total, len(event.data.matches)) == (1, 1)


def test_a_representative_that_has_a_unique_event_as_well_is_kept_for_its_duplicates() -> None:
    members = {Handle(1): A, Handle(2): B}
    own, others = (
        CORRECTIONS.of_own_cluster(A, CLUSTER),
        list(CORRECTIONS.of_cluster(CLUSTER, A, members.items())),
    )

    for events in ([own, *others], [*others, own]):
        assert folded(events).clusters() == {"1.8": {"a", "b"}}
        assert folded(events).deletable() == {"b"}


def test_the_same_corrections_have_the_same_ids_and_other_indexes_have_others() -> None:
    other = Corrections("nd", "0193a0b2", FLOOR, 0, VerdictConfig(None, 3))

    assert CORRECTIONS.of_forgotten_page(A).id == CORRECTIONS.of_forgotten_page(A).id
    assert CORRECTIONS.of_forgotten_page(A).id != other.of_forgotten_page(A).id


def test_a_page_that_no_topic_holds_may_not_be_deleted_for_another_one() -> None:
    fold = folded([CORRECTIONS.of_lost_page(PageId("lost"), "https://example.com/lost", 0)])

    assert fold.cluster_of("lost") is None
    assert fold.deletable() == frozenset()


def test_a_page_that_stands_alone_and_one_that_was_forgotten_are_in_no_cluster_with_others() -> None:
    alone = ClusterState("2.8", 1, 1, CLUSTER.representative)

    fold = folded([CORRECTIONS.of_own_cluster(B, alone), CORRECTIONS.of_forgotten_page(A)])

    assert fold.clusters() == {}
    assert (fold.cluster_of("b"), fold.cluster_of("a")) == ("2.8", None)
