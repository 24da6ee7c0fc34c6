"""Make sentences of an explanation of two pages."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from msgspec import UNSET

from neardup_daemon.inspect.explanation import (
    Counted,
    Estimated,
    Exact,
    Explanation,
    PairClusters,
    PairVerdict,
    Tables,
)
from neardup_daemon.inspect.explanation_frames import (
    content_containment,
    frame_shares,
    near_by_whole_text,
    too_little_content,
    what_whole_texts_lack,
    whole_text_figures,
)

__all__ = ["sentences"]


def sentences(facts: Explanation) -> list[str]:
    """Return the verdict with its reason, then the figures, then the clusters."""
    is_missed = facts.verdict in {"exact", "near"} and not facts.is_match
    missed = _MISSED if facts.archive_keys is UNSET else _MISSED_IN_ARCHIVE
    verdict = missed if is_missed else _VERDICTS[facts.verdict](facts)
    return [verdict, *_figures(facts), *_origins(facts), *_clusters(facts), *_archives(facts)]


def _archives(facts: Explanation) -> Iterator[str]:
    """Yield which pages of archives each page is like, by which keys, and the thresholds."""
    least = facts.thresholds.near_resemblance
    for name, matches in (("first", facts.first_archived), ("second", facts.second_archived)):
        for match in matches:
            shares = (
                ""
                if match.resemblance is UNSET or match.containment is UNSET or match.contained_in is UNSET
                else f": resemblance {match.resemblance:.2f} (near from {least:g}),"
                f" {min(match.containment, match.contained_in):.2f} of either page is inside the other"
            )
            yield (
                f"{match.archive} has {match.url}, fetched {match.fetched_at}, which the {name} page is like"
                f" ({match.kind}), found by {', '.join(match.keys)}{shares}."
            )


_MISSED: Final = (
    "They are alike, but no match: no table brings them together, so neither is found when the other comes."
)
_MISSED_IN_ARCHIVE: Final = (
    "They are alike, but no match: they have no key of the archive in common, so the frozen page is not found"
    " when the other comes."
)


def _gone(facts: Explanation) -> str:
    return f"No match: {_those(facts, 'gone')} forgotten, or has expired."


def _same_page(facts: Explanation) -> str:
    del facts
    return "No match: both are one page, and one crawl of a page is never a duplicate of another."


def _undecided(facts: Explanation) -> str:
    return (
        f"No verdict: {_those(facts, 'short')} too short, with fewer tokens than verdict.min_tokens"
        f" ({facts.thresholds.min_tokens}), and so equal to nothing."
    )


def _archived(facts: Explanation) -> str:
    return (
        f"No verdict: {_those(facts, 'archived')} left to the archives (archive.on_match is skip), and so in"
        " no cluster and equal to nothing in the index."
    )


def _other_scope(facts: Explanation) -> str:
    return (
        f"No match: pages are compared within one verdict.scope ({facts.thresholds.scope}), and these are"
        f" of {facts.first.scope!r} and {facts.second.scope!r}."
    )


def _contained(facts: Explanation) -> str:
    one = "one" if facts.whole_texts is UNSET else "without the frames of their sites, one"
    return (
        f"No match: {one} is inside the other, with at least verdict.contained_containment"
        f" ({facts.thresholds.contained_containment:g}) of it, and the other holds much else. That is"
        " evidence, and never links pages."
    )


def _unlike(facts: Explanation) -> str:
    lacks = " and ".join(_what_lacks(facts))
    if facts.whole_texts is UNSET:
        return f"No match: {lacks}."
    wholes_lack = " and ".join(what_whole_texts_lack(facts, facts.whole_texts))
    return f"No match. By content, without the frames of their sites: {lacks}. By whole text: {wholes_lack}."


def _same_text(facts: Explanation) -> str:
    del facts
    return "They match: they have the same text, token for token."


def _near(facts: Explanation) -> str:
    at_least, estimated = facts.thresholds, facts.estimated
    if estimated is UNSET:
        most = f"at most index.distance_bits ({at_least.distance_bits})"
        return f"They match: they differ in {facts.distance_bits} of 64 bits, {most}."
    if facts.whole_texts is not UNSET and facts.view == "whole":
        return near_by_whole_text(facts, facts.whole_texts)
    by, either = "", "page"
    if facts.whole_texts is not UNSET:
        by, either = " by content, without the frames of their sites", "content"
    name, bound = content_containment(facts)
    return (
        f"They match{by}: resemblance {estimated.resemblance:.2f} is at least verdict.near_resemblance"
        f" ({at_least.near_resemblance:g}), and {_mutual(estimated):.2f} of either {either} is inside"
        f" the other, at least {name} ({bound:g})."
    )


_VERDICTS: Final[Mapping[PairVerdict, Callable[[Explanation], str]]] = {
    "exact": _same_text,
    "near": _near,
    "contained": _contained,
    "unlike": _unlike,
    "undecided": _undecided,
    "archived": _archived,
    "other_scope": _other_scope,
    "same_page": _same_page,
    "gone": _gone,
}


def _those(facts: Explanation, state: str) -> str:
    """Return which of the two are in this state, with the verb."""
    pages = {"the first is": facts.first, "the second is": facts.second}
    named = [name for name, page in pages.items() if page.state == state]
    return named[0] if len(named) == 1 else "each is"


def _what_lacks(facts: Explanation) -> Iterator[str]:
    at_least, estimated = facts.thresholds, facts.estimated
    if estimated is UNSET:
        most = at_least.distance_bits
        yield f"they differ in {facts.distance_bits} of 64 bits, more than index.distance_bits ({most})"
        return
    yield from too_little_content(facts)
    if estimated.resemblance < at_least.near_resemblance:
        yield (
            f"resemblance {estimated.resemblance:.2f} is below verdict.near_resemblance"
            f" ({at_least.near_resemblance:g})"
        )
    name, bound = content_containment(facts)
    if _mutual(estimated) < bound:
        yield f"only {_mutual(estimated):.2f} of one page is inside the other, less than {name} ({bound:g})"


def _mutual(shares: Estimated | Counted) -> float:
    return min(shares.first_in_second, shares.second_in_first)


def _figures(facts: Explanation) -> Iterator[str]:
    if facts.is_same_text is True and facts.verdict != "exact":
        yield "They have the same text, token for token."
    if facts.distance_bits is not UNSET:
        meeting = _frozen_meeting(facts) if facts.tables is UNSET else _meeting(facts.tables)
        yield f"Their fingerprints differ in {facts.distance_bits} of 64 bits. {meeting}"
    if facts.frames_unknown:
        yield "They are compared with the frames of their sites, if any: no index was asked for those."
    is_framed = facts.whole_texts is not UNSET
    if is_framed:
        yield frame_shares(facts)
    if facts.estimated is not UNSET:
        of_what = "contents" if facts.view == "content" else "whole texts"
        yield f"Estimated{f', of the {of_what}' if is_framed else ''}: {_estimates(facts.estimated)}."
    if facts.whole_texts is not UNSET and facts.view == "content":
        yield whole_text_figures(facts.whole_texts)
    if facts.exact is not UNSET:
        yield f"Exactly{', of the whole texts' if is_framed else ''}: {_overlap(facts.exact)}."
    yield from _lowered(facts)


def _lowered(facts: Explanation) -> Iterator[str]:
    """Yield what the match counts with, if that is less than what is estimated of the whole texts."""
    counted, estimated = facts.counted, facts.estimated
    if counted is UNSET or estimated is UNSET:
        return
    first, second = counted.first_in_second, counted.second_in_first
    if (first, second) != (estimated.first_in_second, estimated.second_in_first):
        yield (
            f"The match counts with {first:.2f} of the first inside the second, and {second:.2f} of the"
            " second inside the first, because of the contents."
        )


def _estimates(of: Estimated) -> str:
    return (
        f"resemblance {of.resemblance:.2f} ± {of.resemblance_error:.2f}; {of.first_in_second:.2f} ±"
        f" {of.first_in_second_error:.2f} of the first is inside the second, {of.second_in_first:.2f} ±"
        f" {of.second_in_first_error:.2f} of the second inside the first"
    )


def _overlap(of: Exact) -> str:
    return (
        f"resemblance {of.resemblance:.4f}; {of.first_in_second:.4f} of the first is inside the second,"
        f" {of.second_in_first:.4f} of the second inside the first; of {of.first_count:,} and"
        f" {of.second_count:,} shingles, repeats included, they share {of.common_count:,}"
    )


def _meeting(tables: Tables) -> str:
    met = [
        f"{what} {', '.join(map(str, numbers))} of {count}"
        for what, numbers, count in (
            ("simhash tables", tables.simhash, tables.simhash_count),
            ("bands", tables.bands, tables.band_count),
        )
        if numbers
    ]
    if met:
        return f"They meet in {' and in '.join(met)}, counted from 0."
    if tables.whole_bands_unknown:
        return (
            f"None of {tables.simhash_count} simhash tables and {tables.band_count} stored bands has them"
            " together. A page with a known frame also looks for the bands of its whole text when it comes,"
            " which are not stored."
        )
    return f"None of {tables.simhash_count} simhash tables and {tables.band_count} bands has them together."


def _origins(facts: Explanation) -> Iterator[str]:
    for name, page in (("first", facts.first), ("second", facts.second)):
        if page.archive is not UNSET:
            yield f"The {name} is frozen in {page.archive}, fetched {page.fetched_at}."


def _frozen_meeting(facts: Explanation) -> str:
    if facts.archive_keys is UNSET:
        return "Both are frozen; an archive keeps no bands, so whether one would find the other is unknown."
    if not facts.archive_keys:
        return "They have no key of the archive in common."
    return f"The archive finds the frozen page by {', '.join(facts.archive_keys)}."


def _clusters(facts: Explanation) -> Iterator[str]:
    if facts.would_link is not UNSET:
        yield _link(facts)
    if facts.clusters is not UNSET:
        yield from _standing(facts, facts.clusters)


def _link(facts: Explanation) -> str:
    rule, least = facts.thresholds.rule, facts.thresholds.link_containment
    if rule == "components":
        return "The match links them: with clusters.rule = components every match does."
    if rule == "anchored":
        return "The match links them if the earlier page founded its cluster: clusters.rule is anchored."
    if facts.is_same_text is True or facts.counted is UNSET or _mutual(facts.counted) >= least:
        return f"The match links them: it is firm, by clusters.link_containment ({least:g})."
    return (
        f"The match is not firm: it counts with {_mutual(facts.counted):.2f} of one page inside the other,"
        f" less than clusters.link_containment ({least:g}). It links them only if the later page has no firm"
        " match, matches no other cluster better, and matches at least half of the earlier page's cluster or"
        " a page that joined it firmly."
    )


def _standing(facts: Explanation, clusters: PairClusters) -> Iterator[str]:
    if facts.is_one_cluster is True and clusters[0] is not None:
        yield (
            f"They are in one cluster now: {clusters[0].id}, {clusters[0].size:,} in all;"
            f" {clusters[0].representative.id} represents it."
        )
        return
    pages = {"The first": facts.first, "The second": facts.second}
    for (name, page), cluster in zip(pages.items(), clusters, strict=True):
        if cluster is not None:
            yield f"{name} is in cluster {cluster.id} now, {cluster.size:,} in all."
        elif not page.version and page.archive is UNSET:
            yield f"{name} is not stored."
