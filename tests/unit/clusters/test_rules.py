from collections.abc import Callable, Sequence

import msgspec
import pytest

from neardup_stream.clusters.rules import Choice, Rule, Support, anchored, components, linked
from neardup_stream.stores.memory.clusters import MemoryClusters
from tests.cluster_histories import History, Op, match_with, walked


def support(cluster_id: str, *, anchors_matched: int = 1) -> Support:
    matches = (match_with(1),)
    return Support(
        cluster_id=cluster_id,
        size=3,
        representative_rank=1,
        matches=matches,
        anchor_matches=matches[:anchors_matched],
        anchor_count=1,
        is_representative_matched=bool(anchors_matched),
    )


def test_components_joins_everything_and_the_first_survives() -> None:
    assert components([support("a"), support("b", anchors_matched=0), support("c")]) == Choice(
        "a", ("b", "c")
    )


def test_anchored_joins_the_first_whose_anchor_matches_and_merges_nothing() -> None:
    assert anchored([support("a", anchors_matched=0), support("b"), support("c")]) == Choice("b")


def matched(
    cluster_id: str, containments: Sequence[float], size: int, *, anchors_matched: int = 0
) -> Support:
    matches = tuple(
        msgspec.structs.replace(match_with(number), containment=share, contained_in=1.0)
        for number, share in enumerate(containments)
    )
    of_anchors = matches[len(matches) - anchors_matched :]
    return support(cluster_id, anchors_matched=0)._replace(
        matches=matches, anchor_matches=of_anchors, size=size
    )


def test_linked_joins_and_merges_what_is_matched_firmly_and_nothing_else() -> None:
    supports = [matched("a", [0.72], 1), matched("b", [0.8], 9), matched("c", [0.72, 0.9], 2)]

    assert linked(0.775)(supports) == Choice("b", ("c",))


def test_linked_without_a_firm_match_joins_the_cluster_matched_best_and_merges_nothing() -> None:
    supports = [matched("a", [0.72], 1), matched("b", [0.73, 0.76], 4), matched("c", [0.75], 2)]

    assert linked(0.775)(supports) == Choice("b")


def test_linked_without_a_firm_match_joins_no_cluster_that_is_mostly_unlike_the_page() -> None:
    assert linked(0.775)([matched("a", [0.77], 3), matched("b", [0.77, 0.76], 5)]) == Choice(None)


def test_linked_without_a_firm_match_joins_a_large_cluster_by_an_anchor() -> None:
    supports = [matched("a", [0.77], 30), matched("b", [0.73], 30, anchors_matched=1)]

    assert linked(0.775)(supports) == Choice("b")


@pytest.mark.parametrize(
    ("containments", "anchors_matched", "becomes_anchor"),
    [
        ([0.8], 1, True),
        ([0.8], 0, False),
        ([0.77], 1, False),
        ([0.9, 0.72], 1, False),
        ([0.72, 0.9], 1, True),
    ],
)
def test_linked_makes_an_anchor_of_a_page_that_matches_an_anchor_firmly(
    containments: Sequence[float], anchors_matched: int, *, becomes_anchor: bool
) -> None:
    choice = linked(0.775)([matched("a", containments, 1, anchors_matched=anchors_matched)])

    assert choice == Choice("a", becomes_anchor=becomes_anchor)


@pytest.mark.parametrize(("joined", "becomes_anchor"), [("a", True), ("b", False)])
def test_linked_makes_an_anchor_of_a_page_that_joins_by_its_representative(
    joined: str, *, becomes_anchor: bool
) -> None:
    supports = [
        matched("a", [0.73], 9, anchors_matched=1)._replace(is_representative_matched=joined == "a"),
        matched("b", [0.72], 1, anchors_matched=1)._replace(is_representative_matched=joined == "b"),
    ]

    assert linked(0.775)(supports) == Choice("a", becomes_anchor=becomes_anchor)


async def members_after(history: History, *ops: Op) -> list[int]:
    """Return the members of the one cluster, once these pages have come one by one."""
    for op in ops:
        await history.run([op])
    ((_, members),) = (await walked(history.clusters)).values()
    return sorted(members)


async def test_a_chain_of_weak_matches_ends_two_behind_the_representative() -> None:
    history = History(MemoryClusters(), linked(0.775))

    assert await members_after(history, *(Op(number, number) for number in range(4))) == [0, 1, 2]


async def test_the_next_representative_begins_a_chain_of_weak_matches_of_its_own() -> None:
    history = History(MemoryClusters(), linked(0.775))
    await members_after(history, *(Op(number, number) for number in range(3)), Op(0, None))

    assert await members_after(history, *(Op(10 + number, -number) for number in range(3))) == [1, 2, 10, 11]


@pytest.mark.parametrize("rule", [components, anchored, linked(0.775)])
def test_without_a_match_a_page_stands_alone(rule: Rule) -> None:
    assert rule([]) == Choice(None)


def in_order(numbers: range) -> list[int]:
    return list(numbers)


def from_the_middle(numbers: range) -> list[int]:
    return sorted(numbers, key=lambda number: abs(number - len(numbers) // 2))


@pytest.mark.parametrize("order", [in_order, from_the_middle])
async def test_a_chain_of_22_is_one_cluster_with_components_and_not_with_anchored(
    order: Callable[[range], list[int]],
) -> None:
    sizes = {}
    for rule in (components, anchored):
        history = History(MemoryClusters(), rule)
        for number in order(range(22)):
            await history.run([Op(number, number)])
        sizes[rule] = [len(members) for _, members in (await walked(history.clusters)).values()]

    assert sizes[components] == [22]
    assert max(sizes[anchored]) <= 3
