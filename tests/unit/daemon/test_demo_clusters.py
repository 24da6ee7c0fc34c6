import io

from neardup_daemon.cluster_files import ClusterRow
from neardup_daemon.demo.clusters import (
    Folded,
    Member,
    build_clusters,
    fold_events,
    print_clusters,
    print_fold,
)
from neardup_daemon.demo.facts import DemoRun
from neardup_daemon.demo.sample_crawl.truth import Relation, SampleCrawl, Story
from rich.console import Console

from neardup_stream.events import EventData
from tests.events import At, delivered, duplicate, merge

TRUTH = SampleCrawl(
    records=(),
    relations={"b": Relation("a", "mirror"), "d": Relation("c", "mirror"), "e": Relation("c", "mirror")},
    expected_outcomes={},
    story=Story(steps=(), kin=frozenset(), cluster=frozenset({"x", "y"})),
)
A_AND_B = ClusterRow("1", "a", ["a", "b"])
C_TO_E = ClusterRow("2", "c", ["c", "d", "e"])


def run_of(*clusters: ClusterRow, published: tuple[EventData, ...] = ()) -> DemoRun:
    return DemoRun(tuple(map(delivered, published)), {}, clusters, seconds=1)


def test_a_cluster_is_right_only_if_it_holds_exactly_who_belongs_together() -> None:
    too_small = ClusterRow("2", "c", ["c", "e"])

    report = build_clusters(TRUTH, run_of(A_AND_B, too_small))

    assert report.sizes == {2: 2}
    assert report.right == 1
    assert report.expected == 3


def test_the_largest_cluster_is_shown_with_how_each_page_came_into_it() -> None:
    published = (duplicate("d", At("2", 1, "c")), merge(At("2", 2, "c"), At("3", 1, "e")))

    report = build_clusters(TRUTH, run_of(A_AND_B, C_TO_E, published=published))

    assert report.shown == "c"
    assert [(member.url, member.match is None) for member in report.members] == [("d", False), ("e", True)]


def test_events_that_add_up_to_what_is_stored_are_found_to() -> None:
    published = (duplicate("b", At("1", 1, "a")),)

    assert fold_events(run_of(A_AND_B, published=published)) == Folded(
        1, frozenset({"b"}), 1, is_as_stored=True
    )


def test_a_representative_that_the_store_does_not_know_is_found_out() -> None:
    published = (duplicate("a", At("1", 1, "b")),)

    assert not fold_events(run_of(A_AND_B, published=published)).is_as_stored


def test_a_cluster_that_no_event_names_is_found_out() -> None:
    assert not fold_events(run_of(A_AND_B)).is_as_stored


def test_a_tree_names_every_page_of_the_cluster_and_whom_it_is_like() -> None:
    report = build_clusters(TRUTH, run_of(C_TO_E, published=(duplicate("d", At("2", 1, "c")),)))
    output = io.StringIO()

    print_clusters(report, Console(file=output, width=80))

    lines = output.getvalue().splitlines()
    assert "1 found, 1 of them exactly as the truth has them; there are 3" in output.getvalue()
    assert lines[-3] == "c"
    assert "0 bits off d, like other" in lines[-2]
    assert "absorbed e" in lines[-1]
    assert report.members[1] == Member("e", None)


def test_no_clusters_are_reported_as_none() -> None:
    output = io.StringIO()

    print_clusters(build_clusters(TRUTH, run_of()), Console(file=output, width=80))

    assert "0 found" in output.getvalue()
    assert "by pages: none" in output.getvalue()


def test_a_store_that_disagrees_is_reported_loudly() -> None:
    output = io.StringIO()

    print_fold(Folded(1, frozenset(), 0, is_as_stored=False), Console(file=output, width=160))

    assert output.getvalue().endswith("the store says: NOT THE SAME\n")
