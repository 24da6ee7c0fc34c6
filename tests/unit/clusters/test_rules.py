from collections.abc import Callable

import pytest

from neardup_stream.clusters.rules import Choice, Rule, Support, anchored, components
from neardup_stream.stores.memory_clusters import MemoryClusters
from tests.cluster_histories import History, Op, match_with, walked


def support(cluster_id: str, *, anchors_matched: int = 1) -> Support:
    return Support(
        cluster_id=cluster_id,
        size=3,
        representative_rank=1,
        matches=(match_with(1),),
        anchors_matched=anchors_matched,
        anchor_count=1,
        is_representative_matched=bool(anchors_matched),
    )


def test_components_joins_everything_and_the_first_survives() -> None:
    assert components([support("a"), support("b", anchors_matched=0), support("c")]) == Choice(
        "a", ("b", "c")
    )


def test_anchored_joins_the_first_whose_anchor_matches_and_merges_nothing() -> None:
    assert anchored([support("a", anchors_matched=0), support("b"), support("c")]) == Choice("b")


@pytest.mark.parametrize("rule", [components, anchored])
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
