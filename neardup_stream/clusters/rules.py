"""Define the cluster rules: which of the matched clusters a page joins, and which of them merge.

Pure, and the only place that knows. A rule sees for every matched cluster its size, how firmly the page
matches it, and answers what to join; everything else about clusters is the same for all rules.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from neardup_stream.match import Match

__all__ = [
    "DEFAULT_LINK_CONTAINMENT",
    "Choice",
    "Rule",
    "Support",
    "anchored",
    "components",
    "is_firm",
    "linked",
]

DEFAULT_LINK_CONTAINMENT: Final = 0.775
"""Least share of each page inside the other for a firm match, unless a setting says otherwise."""


class Support(NamedTuple):
    """How a page matches one cluster.

    Attributes:
        cluster_id: of the cluster; a page that stands alone is a cluster of one.
        size: its living members.
        representative_rank: when its representative was decided; orders clusters, never equal.
        matches: the members that the page matches, in the request's order.
        anchor_matches: those of them that are with anchors; a page that stands alone is its own anchor.
        anchor_count: how many anchors the cluster has, at least 1.
        is_representative_matched: whether the representative is among them.
    """

    cluster_id: str
    size: int
    representative_rank: int
    matches: tuple[Match, ...]
    anchor_matches: tuple[Match, ...]
    anchor_count: int
    is_representative_matched: bool


class Choice(NamedTuple):
    """What a rule decides.

    Attributes:
        join: the cluster that takes the page in and survives; None: the page stands alone.
        absorbed: those that merge into it, in this order; none when `join` is None.
        becomes_anchor: whether the page itself is an anchor from now on.
    """

    join: str | None
    absorbed: tuple[str, ...] = ()
    becomes_anchor: bool = False


Rule = Callable[[Sequence[Support]], Choice]
"""Gets the matched clusters, the one whose representative was decided first in front; perhaps none.

In a merge the first cluster must survive, so that an absorbed id is never used again.
"""


def components(supports: Sequence[Support]) -> Choice:
    """Join everything matched: clusters are the connected components of the matches."""
    if not supports:
        return Choice(None)
    first, *others = supports
    return Choice(first.cluster_id, tuple(other.cluster_id for other in others))


def linked(link_containment: float) -> Rule:
    """Join everything matched firmly: firm matches always bring their pages into one cluster.

    Weaker matches would chain pages into clusters whose ends are not alike at all. A page without a firm
    match therefore joins at most one cluster, the one it matches best among those of which it matches at
    least half of the pages or an anchor, and merges none. Anchors are the founder, every page that joins by
    a match with the representative, however weak, and every page that matches an anchor firmly. So, in
    clusters of three and more, a chain of weak matches ends two behind the representative, for as long as it
    stays, unless the last page has as many copies as there are other members: the next one then matches half.
    Where the representative leaves, the others stay, and the next one makes anchors of those that join by a
    match with it and one with an anchor or half: such a cluster may be wider. Which clusters it finds depends
    on the order of pages.

    Args:
        link_containment: least share of each page inside the other; pages with one text are always firm.
    """
    return _Linked(link_containment)


@dataclass(frozen=True, slots=True)
class _Linked:
    """The rule as a value, which can be pickled."""

    link_containment: float

    def __call__(self, supports: Sequence[Support]) -> Choice:
        """Return what a page with these matches joins."""
        firm = [support for support in supports if any(map(self._is_firm, support.matches))]
        choice = components(firm or _best_joinable(supports))
        anchor_matches = (match for support in supports for match in support.anchor_matches)
        is_by_representative = any(
            support.is_representative_matched and support.cluster_id == choice.join for support in supports
        )
        return choice._replace(becomes_anchor=is_by_representative or any(map(self._is_firm, anchor_matches)))

    def _is_firm(self, match: Match) -> bool:
        return is_firm(match, self.link_containment)


def _best_joinable(supports: Sequence[Support]) -> list[Support]:
    """Return the best matched of those clusters that a page without a firm match may join."""
    joinable = [
        support for support in supports if support.anchor_matches or 2 * len(support.matches) >= support.size
    ]
    return [max(joinable, key=_best_containment)] if joinable else []


def _best_containment(support: Support) -> float:
    return max(match.mutual_containment for match in support.matches)


def is_firm(match: Match, link_containment: float) -> bool:
    """Return whether a match always connects two pages by the rule `linked`; symmetric."""
    return match.kind == "exact" or match.mutual_containment >= link_containment


def anchored(supports: Sequence[Support]) -> Choice:
    """Join the first cluster whose anchor the page matches; anchors never merge, so nothing drifts.

    The anchor is the page that founded the cluster, and when it leaves, its representative.
    """
    return next((Choice(support.cluster_id) for support in supports if support.anchor_matches), Choice(None))
