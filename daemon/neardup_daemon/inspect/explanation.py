"""Define what `explain` reports about two pages, as data: `explanation_words` makes sentences of it."""

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from neardup_daemon.inspect.archive_asking import FrozenMatch
from neardup_daemon.inspect.page_facts import PageFacts
from neardup_stream.event_parts import EventCluster
from neardup_stream.match import View

__all__ = [
    "Counted",
    "Estimated",
    "Exact",
    "Explanation",
    "PairClusters",
    "PairVerdict",
    "Tables",
    "Thresholds",
    "WholeTexts",
]

PairVerdict = Literal[
    "exact", "near", "contained", "unlike", "undecided", "archived", "other_scope", "same_page", "gone"
]
"""exact and near are matches, if a table brings the pages together. undecided: one is too short. archived:
one was left to the archives, and only its page record is stored. same_page: both are one page, which is never
a duplicate of itself. gone: one was forgotten or has expired."""


PairClusters = tuple[EventCluster | None, EventCluster | None]


class Tables(msgspec.Struct, frozen=True, kw_only=True):
    """Which tables bring the pages together, by number from 0, of how many.

    Attributes:
        simhash: permuted tables.
        simhash_count: how many there are.
        bands: those of the contents, and of the whole texts as far as they are known.
        band_count: how many there are.
        whole_bands_unknown: whether a stored page looked for the other by bands of its whole text, which are
            not stored.
    """

    simhash: tuple[int, ...]
    simhash_count: int
    bands: tuple[int, ...]
    band_count: int
    whole_bands_unknown: bool = False

    @property
    def may_meet(self) -> bool:
        """Whether a table brings the pages together, or may have done so."""
        return bool(self.simhash or self.bands) or self.whole_bands_unknown


class Estimated(msgspec.Struct, frozen=True, kw_only=True):
    """Estimates from the sketches of the view that decided, each with its standard error.

    Two estimates in three are within it.

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


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """The shares that the match counts with: those of its event, by which clusters link pages.

    They are those of `Estimated`, but of a match by whole text, where a frame is known, the share of the
    content that is inside the other page, where that is smaller.

    Attributes:
        first_in_second: of the first page.
        second_in_first: of the second page.
    """

    first_in_second: float
    second_in_first: float


class WholeTexts(msgspec.Struct, frozen=True, kw_only=True):
    """How alike two whole texts are, estimated; at least one page has a known frame.

    Attributes:
        are_short: whether both have so few shingles that they are compared by the rule for short pages too.
        are_empty: whether so little is left of both beside their frames that they are compared by the rule
            for pages without content too.
        resemblance: what both have of what either has.
        first_in_second: the share of the first whole text that is inside the second.
        second_in_first: the share of the second whole text that is inside the first.
        first_content_in_second: the share of the first page's content that is inside the second whole text.
        second_content_in_first: the share of the second page's content that is inside the first whole text.
        are_alike_known: whether about the same share of both pages is known as frame.
        first_least_inside: what the first of the last two must reach for a match; fewer samples ask for
            more.
        second_least_inside: the same for the second.
    """

    are_short: bool
    are_empty: bool
    resemblance: float
    first_in_second: float
    second_in_first: float
    first_content_in_second: float
    second_content_in_first: float
    are_alike_known: bool
    first_least_inside: float
    second_least_inside: float


class Exact(msgspec.Struct, frozen=True, kw_only=True):
    """Exact figures of the whole texts, counted in shingles, repeats included."""

    resemblance: float
    first_in_second: float
    second_in_first: float
    first_count: int
    second_count: int
    common_count: int


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that decide the verdict, under their own names."""

    distance_bits: int
    near_resemblance: float
    near_containment: float
    contained_containment: float
    content_containment: float
    min_tokens: int
    scope: str
    rule: str
    link_containment: float


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Two pages and their relation. What cannot be determined is absent.

    Attributes:
        first: the one page.
        second: the other.
        verdict: the result of comparing them.
        is_match: whether the daemon publishes one as a match of the other: alike, and together in a table.
        is_same_text: whether their texts are equal, token for token.
        distance_bits: differing bits of the fingerprints.
        tables: that bring them together.
        archive_keys: by which the archive finds a frozen page for the other one, see `FrozenMatch`; absent
            where neither page is frozen, or both are.
        view: what decided: `content`, without the frames of their sites, or `whole`.
        estimated: from the sketches of that view.
        counted: with which shares the match counts; absent where there is no match.
        whole_texts: how alike the whole texts are; absent where neither page has a known frame.
        frames_unknown: whether no index was asked for the frames of their sites.
        exact: from the whole texts, where both are given.
        thresholds: in force.
        would_link: whether this match alone would put them into one cluster.
        clusters: the present cluster of each stored page; absent where no index was asked.
        is_one_cluster: whether both are in one cluster.
        first_archived: pages of the archives in `archive.files` that the one page is like, best first.
        second_archived: the same of the other.
    """

    first: PageFacts
    second: PageFacts
    verdict: PairVerdict
    is_match: bool
    is_same_text: bool | UnsetType = UNSET
    distance_bits: int | UnsetType = UNSET
    tables: Tables | UnsetType = UNSET
    archive_keys: tuple[str, ...] | UnsetType = UNSET
    view: View | UnsetType = UNSET
    estimated: Estimated | UnsetType = UNSET
    counted: Counted | UnsetType = UNSET
    whole_texts: WholeTexts | UnsetType = UNSET
    frames_unknown: bool
    exact: Exact | UnsetType = UNSET
    thresholds: Thresholds
    would_link: bool | UnsetType = UNSET
    clusters: PairClusters | UnsetType = UNSET
    is_one_cluster: bool | UnsetType = UNSET
    first_archived: tuple[FrozenMatch, ...] = ()
    second_archived: tuple[FrozenMatch, ...] = ()
