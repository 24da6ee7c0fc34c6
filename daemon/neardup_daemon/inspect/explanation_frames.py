"""Make sentences of an explanation of two pages of which one at least has a known frame."""

from collections.abc import Iterator
from typing import Final

from msgspec import UNSET

from neardup_daemon.inspect.explanation import Explanation, WholeTexts
from neardup_stream.fingerprints.framed import SHORT_SHINGLES
from neardup_stream.pipeline.classification import (
    EMPTY_CONTAINMENT,
    MIN_CONTENT_SHINGLES,
    SHORT_CONTAINMENT,
    SHORT_CONTENT_INSIDE,
)
from neardup_stream.pipeline.contents_inside import SMALL_FRAME

__all__ = [
    "content_containment",
    "frame_shares",
    "near_by_whole_text",
    "too_little_content",
    "what_whole_texts_lack",
    "whole_text_figures",
]

_SHORT: Final = f"both are short, of at most {SHORT_SHINGLES} shingles"
_EMPTY: Final = f"beside their frames both have fewer than {MIN_CONTENT_SHINGLES} shingles"


def content_containment(facts: Explanation) -> tuple[str, float]:
    """Return the setting that bounds how much of each content is inside the other, and its value."""
    at_least = facts.thresholds
    first, second = facts.first.frame_share, facts.second.frame_share
    if first is UNSET or second is UNSET or max(first, second) <= SMALL_FRAME:
        return "verdict.near_containment", at_least.near_containment
    return "verdict.content_containment", at_least.content_containment


def near_by_whole_text(facts: Explanation, wholes: WholeTexts) -> str:
    """Return why whole texts match: the first of the three rules that holds."""
    if list(_what_alike_texts_lack(facts, wholes)):
        kind, least = (
            (_SHORT, SHORT_CONTAINMENT)
            if wholes.are_short and _mutual(wholes) >= SHORT_CONTAINMENT and not _are_contents_apart(wholes)
            else (_EMPTY, EMPTY_CONTAINMENT)
        )
        return (
            f"They match by whole text: {kind}, and {_mutual(wholes):.2f} of either is inside the other, at"
            f" least {least:g}."
        )
    at_least = facts.thresholds
    return (
        f"They match by whole text: resemblance {wholes.resemblance:.2f} is at least"
        f" verdict.near_resemblance ({at_least.near_resemblance:g}), {_mutual(wholes):.2f} of either page is"
        f" inside the other, at least verdict.near_containment ({at_least.near_containment:g}), and"
        f" {wholes.first_content_in_second:.2f} of the first content is inside the second whole text, at"
        f" least {wholes.first_least_inside:.2f}, {wholes.second_content_in_first:.2f} of the second inside"
        f" the first, at least {wholes.second_least_inside:.2f} ({_known_frames(facts, wholes)})."
    )


def too_little_content(facts: Explanation) -> Iterator[str]:
    """Yield which page has too little beside its frame to be compared by content."""
    for name, page in (("first", facts.first), ("second", facts.second)):
        left = page.content_shingles
        if page.frame_share is not UNSET and left is not UNSET and left < MIN_CONTENT_SHINGLES:
            yield f"beside its frame the {name} has {left} shingles, fewer than {MIN_CONTENT_SHINGLES}"


def what_whole_texts_lack(facts: Explanation, wholes: WholeTexts) -> Iterator[str]:
    """Yield why whole texts do not match."""
    yield from _what_alike_texts_lack(facts, wholes)
    for holds, kind, least in (
        (wholes.are_short, _SHORT, SHORT_CONTAINMENT),
        (wholes.are_empty, _EMPTY, EMPTY_CONTAINMENT),
    ):
        if holds and _mutual(wholes) < least:
            yield f"{kind}, but {_mutual(wholes):.2f} of one inside the other is less than {least:g}"
    if wholes.are_short and _are_contents_apart(wholes):
        yield (
            f"{_SHORT}, but {_content_inside(wholes):.2f} of one content inside the other whole text is less"
            f" than {SHORT_CONTENT_INSIDE:g}"
        )


def frame_shares(facts: Explanation) -> str:
    """Return how much of each page is frame."""
    first, second = (
        "no line is known as frame" if page.frame_share is UNSET else f"{page.frame_share:.2f} is frame"
        for page in (facts.first, facts.second)
    )
    return f"Of the first page {first}; of the second {second} (share of shingles)."


def whole_text_figures(wholes: WholeTexts) -> str:
    """Return all estimates of the whole texts."""
    return (
        f"Estimated, of the whole texts: resemblance {wholes.resemblance:.2f};"
        f" {wholes.first_in_second:.2f} of the first is inside the second,"
        f" {wholes.second_in_first:.2f} of the second inside the first;"
        f" {wholes.first_content_in_second:.2f} of the first content is inside the second whole text,"
        f" {wholes.second_content_in_first:.2f} of the second content inside the first."
    )


def _what_alike_texts_lack(facts: Explanation, wholes: WholeTexts) -> Iterator[str]:
    """Yield why the rule that does not ask for short pages does not hold."""
    at_least = facts.thresholds
    if not facts.first.content_shingles and not facts.second.content_shingles:
        yield "nothing is left of either beside its frame"
        return
    if wholes.resemblance < at_least.near_resemblance:
        yield (
            f"resemblance {wholes.resemblance:.2f} is below verdict.near_resemblance"
            f" ({at_least.near_resemblance:g})"
        )
    if _mutual(wholes) < at_least.near_containment:
        yield (
            f"only {_mutual(wholes):.2f} of one page is inside the other, less than"
            f" verdict.near_containment ({at_least.near_containment:g})"
        )
    for name, share, least in (
        ("first", wholes.first_content_in_second, wholes.first_least_inside),
        ("second", wholes.second_content_in_first, wholes.second_least_inside),
    ):
        if share < least:
            yield (
                f"only {share:.2f} of the {name} content is inside the other whole text, less than"
                f" {least:.2f} ({_known_frames(facts, wholes)})"
            )


def _known_frames(facts: Explanation, wholes: WholeTexts) -> str:
    """Return what decides how much of a content must be inside the other whole text."""
    if facts.second.frame_share is UNSET:
        return "only the first page has a known frame"
    if facts.first.frame_share is UNSET:
        return "only the second page has a known frame"
    if wholes.are_alike_known:
        return "about the same share of both pages is known as frame"
    return "much more of one page than of the other is known as frame"


def _are_contents_apart(wholes: WholeTexts) -> bool:
    """Return whether contents keep short pages from matching by their whole texts."""
    return _content_inside(wholes) < SHORT_CONTENT_INSIDE


def _content_inside(wholes: WholeTexts) -> float:
    return min(wholes.first_content_in_second, wholes.second_content_in_first)


def _mutual(wholes: WholeTexts) -> float:
    return min(wholes.first_in_second, wholes.second_in_first)
