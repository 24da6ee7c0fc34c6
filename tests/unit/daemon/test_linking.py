"""Which links hang the pages of a cluster together."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from neardup_daemon.query_api.linking import Pair, forest

from neardup_stream.match import Match, MatchKind
from neardup_stream.page import Handle, PageId


def pair(first: int, second: int, resemblance: float, kind: MatchKind = "near") -> Pair:
    match = Match(
        handle=Handle(second),
        id=PageId(str(second)),
        url=str(second),
        version=1,
        distance_bits=0,
        fingerprint=0,
        kind=kind,
        rank=1,
        resemblance=resemblance,
    )
    return Pair(first, second, match)


def ends(links: list[Pair]) -> list[tuple[int, int]]:
    return [link[:2] for link in links]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[Pair]]:
    """Some pages, and some of the pairs of them."""
    count = draw(st.integers(1, 9))
    places = list(itertools.combinations(range(count), 2))
    drawn = draw(st.lists(st.sampled_from(places), unique=True)) if places else []
    return count, [pair(*each, resemblance=draw(st.sampled_from([0.6, 0.8, 1.0]))) for each in drawn]


def test_the_strongest_links_lead_from_the_representative_to_every_page() -> None:
    pairs = [pair(0, 1, 0.9), pair(1, 2, 0.8), pair(0, 2, 0.7)]

    assert ends(forest(3, pairs, 0)) == [(0, 1), (1, 2)]
    assert ends(forest(3, pairs, 2)) == [(2, 1), (1, 0)]


def test_copies_come_before_pages_of_the_same_resemblance() -> None:
    assert ends(forest(3, [pair(0, 1, 1.0), pair(1, 2, 1.0), pair(0, 2, 1.0, "exact")], 0))[0] == (0, 2)


def test_among_equal_links_the_one_nearer_to_the_representative_is_taken() -> None:
    pairs = [pair(*each, resemblance=1.0, kind="exact") for each in itertools.combinations(range(6), 2)]

    assert ends(forest(6, pairs, 3)) == [(3, 0), (3, 1), (3, 2), (3, 4), (3, 5)]


@given(graphs(), st.data())
def test_a_forest_reaches_what_links_reach_and_closes_no_circle(
    graph: tuple[int, list[Pair]], data: st.DataObject
) -> None:
    count, pairs = graph
    root = data.draw(st.integers(0, count - 1))

    tree = forest(count, pairs, root)

    reached = {link.second for link in tree}
    assert len(reached) == len(tree)  # each page is reached once
    assert root not in reached
    assert components(count, tree) == components(count, pairs)
    assert {frozenset(each) for each in ends(tree)} <= {frozenset(each) for each in ends(pairs)}


def components(count: int, links: list[Pair]) -> set[frozenset[int]]:
    groups = [{place} for place in range(count)]
    for link in links:
        one, other = (next(group for group in groups if end in group) for end in link[:2])
        if one is not other:
            groups.remove(other)
            one |= other
    return {frozenset(group) for group in groups}
