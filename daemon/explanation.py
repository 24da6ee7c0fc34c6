"""What is told of two pages: figures without a judgement of their own."""

from typing import Literal

import msgspec
from msgspec import UnsetType

from daemon.page_facts import PageFacts
from neardup_stream.events import EventCluster

__all__ = ["Estimated", "Exact", "Explanation", "PairClusters", "PairVerdict", "Tables", "Thresholds"]

PairVerdict = Literal["exact", "near", "contained", "unlike", "undecided", "other_scope", "same_page", "gone"]
"""exact and near are matches, if a table brings the pages together. undecided: one is too short. same_page:
both are one page, which is never a duplicate of itself. gone: one was forgotten or has expired."""


PairClusters = tuple[EventCluster | None, EventCluster | None]


class Tables(msgspec.Struct, frozen=True, kw_only=True):
    """Which tables bring the pages together, by number from 0, of how many."""

    simhash: tuple[int, ...]
    simhash_count: int
    bands: tuple[int, ...]
    band_count: int


class Estimated(msgspec.Struct, frozen=True, kw_only=True):
    """What the sketches say, each with its standard error: two estimates in three are within it.

    Attributes:
        resemblance: what both have of what either has.
        first_in_second: the share of the first page that is inside the second.
        second_in_first: the share of the second page that is inside the first.
    """

    resemblance: float
    resemblance_error: float
    first_in_second: float
    first_in_second_error: float
    second_in_first: float
    second_in_first_error: float


class Exact(msgspec.Struct, frozen=True, kw_only=True):
    """What the texts say, counted in shingles, repeats included."""

    resemblance: float
    first_in_second: float
    second_in_first: float
    first_count: int
    second_count: int
    common_count: int


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that judge, under their own names."""

    distance_bits: int
    near_resemblance: float
    near_containment: float
    contained_containment: float
    min_tokens: int
    scope: str
    rule: str
    link_containment: float


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Two pages and what they are to each other. What cannot be said is absent.

    Attributes:
        first: the one page.
        second: the other.
        verdict: what comes of comparing them.
        is_match: whether the daemon tells one as a match of the other: alike, and together in a table.
        is_same_text: token for token.
        distance_bits: differing bits of the fingerprints.
        tables: that bring them together.
        estimated: from the sketches.
        exact: from the texts, where both are given.
        thresholds: in force.
        would_link: whether this match alone would put them into one cluster.
        clusters: where each stored page stands now; absent where no index was asked.
        is_one_cluster: whether that is one cluster.
    """

    first: PageFacts
    second: PageFacts
    verdict: PairVerdict
    is_match: bool
    is_same_text: bool | UnsetType
    distance_bits: int | UnsetType
    tables: Tables | UnsetType
    estimated: Estimated | UnsetType
    exact: Exact | UnsetType
    thresholds: Thresholds
    would_link: bool | UnsetType
    clusters: PairClusters | UnsetType
    is_one_cluster: bool | UnsetType
