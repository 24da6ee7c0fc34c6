"""Explain why two pages match, or do not: every figure that counts, by the code of the daemon."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import UNSET, UnsetType

from neardup_daemon.archives import open_archives
from neardup_daemon.inspect.archive_asking import frozen_matches
from neardup_daemon.inspect.explanation import (
    Counted,
    Estimated,
    Exact,
    Explanation,
    PairClusters,
    PairVerdict,
    Tables,
    Thresholds,
    WholeTexts,
)
from neardup_daemon.inspect.page_facts import cluster_of, page_facts
from neardup_daemon.inspect.page_lookup import AskedPage, place_given, reporting_no_file
from neardup_daemon.inspect.pair_lookup import (
    common_keys,
    find_anywhere,
    frozen_pages,
    given_pages,
    in_one_scope,
)
from neardup_daemon.preparing import cluster_rule, index_layout, verdict_config
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stored_index import open_stored_index
from neardup_stream.clusters.rules import Support
from neardup_stream.event_parts import EventCluster
from neardup_stream.fingerprints.framed import text_shingle_count, whole_sketches
from neardup_stream.fingerprints.resemblance import exact_overlap
from neardup_stream.fingerprints.shingles import ShingleConfig, shingle_ids, token_hashes
from neardup_stream.fingerprints.sketch import SketchConfig, standard_errors
from neardup_stream.indexes.meeting import meeting
from neardup_stream.indexes.protocol import IndexedPage
from neardup_stream.match import Candidate, Match, version_byte
from neardup_stream.pipeline.archive_lookup import OpenArchive
from neardup_stream.pipeline.candidate_comparison import compare, compare_candidates
from neardup_stream.pipeline.classification import VerdictConfig, are_empty, are_short
from neardup_stream.pipeline.contents_inside import are_alike_known, contents_inside, least_content_inside
from neardup_stream.pipeline.indexed import banded_page, indexed_pages
from neardup_stream.pipeline.pair_figures import text_figures
from neardup_stream.stores.page_record import PageRecord

__all__ = ["explain", "explain_named"]

_DIGITS = 4


def explain_named(
    names: tuple[str, str],
    settings: Settings,
    state_dir: Path | None,
    *,
    with_index: bool = False,
    archives_first: bool = False,
) -> Explanation:
    """Explain two pages, each the id or URL of a stored or frozen page, a file with page JSON, or `-`.

    Given pages are awaited without an event loop, which would keep a signal until they have come.

    Args:
        names: of the pages.
        settings: that judge, with the archives to look in.
        state_dir: what `dedup --state` keeps; None for the Redis in the settings.
        with_index: whether the index is asked for the frames of two given pages as well.
        archives_first: whether a name that is no file is looked for in archives before the index.

    Raises:
        ConfigError: there is no such page or index.
        StoreUnavailable: Redis is unavailable, and a page is neither given nor frozen.
        CorruptData: what is stored is not ours, or an archive is damaged.
    """
    archives = open_archives([Path(name) for name in settings.archive.files], settings)
    given = given_pages(names, settings)
    frozen = frozen_pages(names, archives) if archives_first else {}
    found = {**given, **frozen}
    if found.keys() >= set(names) and not with_index and state_dir is None:
        return explain(found[names[0]], found[names[1]], settings, archives=archives)
    with reporting_no_file(*(name for name in names if name not in found)):
        return asyncio.run(_explain_stored(names, given, frozen, archives, settings, state_dir))


async def _explain_stored(
    names: tuple[str, str],
    given: Mapping[str, AskedPage],
    frozen: Mapping[str, AskedPage],
    archives: Sequence[OpenArchive],
    settings: Settings,
    state_dir: Path | None,
) -> Explanation:
    async with open_stored_index(settings, state_dir) as stores:
        first, second = [
            await (
                place_given(given[name], settings, stores.pages, stores.frames)
                if name in given
                else find_anywhere(name, stores.pages, archives)
            )
            if name not in frozen
            else frozen[name]
            for name in names
        ]
        clusters = await cluster_of(first, stores), await cluster_of(second, stores)
        in_force = await stores.tables.settings_in_force()
    return explain(first, second, in_force, clusters, archives)


def explain(
    first: AskedPage,
    second: AskedPage,
    settings: Settings,
    clusters: PairClusters | UnsetType = UNSET,
    archives: Sequence[OpenArchive] = (),
) -> Explanation:
    """Compare two pages as the daemon would, and keep every figure.

    Args:
        first: the one page.
        second: the other; all figures are the same the other way round.
        settings: that judge.
        clusters: the present clusters of the two, if an index was asked.
        archives: asked about both pages.
    """
    first, second = in_one_scope(first, second), in_one_scope(second, first)
    one, other = first.record, second.record
    config = verdict_config(settings)
    first_archived, second_archived = (
        frozen_matches(page.asking, archives, settings, settings.archive.matches_limit)
        if page.frozen is None
        else ()
        for page in (first, second)
    )
    is_frozen = first.frozen is not None or second.frozen is not None
    are_indexed = one.is_indexed and other.is_indexed
    compared = compare(one, second.handle, other, config) if are_indexed else None
    tables = _tables(first, second, settings) if are_indexed and not is_frozen else None
    keys = common_keys(first, second) if are_indexed else UNSET
    verdict = _verdict(first, second, config)
    is_met = (tables is not None and tables.may_meet) or (is_frozen and keys != ())
    is_match = verdict in {"exact", "near"} and is_met
    whole_texts = _whole_texts(one, other, config.sketch) if are_indexed else UNSET
    return Explanation(
        first=page_facts(first),
        second=page_facts(second),
        verdict=verdict,
        is_match=is_match,
        is_same_text=UNSET if verdict == "gone" else one.text_fingerprint == other.text_fingerprint,
        distance_bits=UNSET if compared is None else compared.distance_bits,
        tables=UNSET if tables is None else tables,
        archive_keys=keys,
        view=UNSET if compared is None or config.sketch is None else compared.view,
        estimated=_estimated(compared, one, other, whole_texts, config.sketch),
        counted=_counted(compared) if is_match else UNSET,
        whole_texts=whole_texts,
        frames_unknown=clusters is UNSET
        and any(page.arrival and page.arrival.site for page in (first, second)),
        exact=_exact(first.text, second.text, settings.sketch.shingle_tokens),
        thresholds=_thresholds(settings),
        would_link=_would_link(compared, settings) if is_match and not is_frozen else UNSET,
        clusters=clusters,
        is_one_cluster=UNSET if clusters is UNSET else _is_one(*clusters),
        first_archived=first_archived,
        second_archived=second_archived,
    )


def _verdict(first: AskedPage, second: AskedPage, config: VerdictConfig) -> PairVerdict:
    one, other = first.record, second.record
    states = (one.state, other.state)
    if "gone" in states:
        return "gone"
    if one.id == other.id and first.frozen is None and second.frozen is None:
        return "same_page"
    if one.is_uncompared or other.is_uncompared:
        return "undecided" if "short" in states else "archived"
    if one.scope != other.scope:
        return "other_scope"
    candidate = Candidate(second.handle, version_byte(other.version))
    (compared,) = compare_candidates([one], [[candidate]], {second.handle: other}, config).compared
    if compared.matches:
        return compared.matches[0].kind
    return "contained" if compared.containers else "unlike"


def _is_one(cluster: EventCluster | None, other: EventCluster | None) -> bool:
    return cluster is not None and other is not None and cluster.id == other.id


def _tables(first: AskedPage, second: AskedPage, settings: Settings) -> Tables:
    layout = index_layout(settings)
    pairs = ((first, second), (second, first))
    met = [meeting(_probed(later), _stored(earlier), layout) for later, earlier in pairs]
    return Tables(
        simhash=met[0].tables,
        simhash_count=len(layout.tables),
        bands=tuple(sorted({*met[0].bands, *met[1].bands})),
        band_count=layout.config.bands,
        whole_bands_unknown=any(_looked_for_more(*pair) for pair in pairs),
    )


def _stored(page: AskedPage) -> list[IndexedPage]:
    return indexed_pages(page.handle, page.record)


def _probed(page: AskedPage) -> list[IndexedPage]:
    """Return the entries that a page probes; of a stored page, only what is stored is known."""
    whole_bands = page.arrival.whole_bands if page.arrival else b""
    if not whole_bands or whole_bands in (page.record.bands, page.record.whole_bands):
        return _stored(page)
    return [*_stored(page), banded_page(page.handle, page.record, whole_bands)]


def _looked_for_more(later: AskedPage, earlier: AskedPage) -> bool:
    """Return whether bands of its whole text, which are not stored, may have found the other page."""
    one, other = later.record, earlier.record
    is_known = later.arrival is not None or not one.whole_count or bool(one.whole_bands)
    return not is_known and (not other.whole_count or bool(other.whole_bands))


def _estimated(
    compared: Match | None,
    one: PageRecord,
    other: PageRecord,
    whole_texts: WholeTexts | UnsetType,
    sketch: SketchConfig | None,
) -> Estimated | UnsetType:
    if compared is None or sketch is None or compared.resemblance is None:
        return UNSET
    resemblance = compared.resemblance
    inside = [compared.containment or 0.0, compared.contained_in or 0.0]
    if compared.view == "whole" and whole_texts is not UNSET:
        inside = [whole_texts.first_in_second, whole_texts.second_in_first]
        left, right, sketch = whole_sketches(one, other, sketch)
        counts = [text_shingle_count(record) for record in (one, other)]
    else:
        left, right = (np.frombuffer(record.sketch, np.uint8)[np.newaxis] for record in (one, other))
        counts = [one.shingle_count, other.shingle_count]
    error = float(standard_errors(np.array([resemblance]), left, right, sketch)[0])
    # Both containments are this times r / (1 + r), whose derivative carries the error over.
    scale = sum(counts) / (1 + resemblance) ** 2
    return Estimated(
        resemblance=round(resemblance, _DIGITS),
        resemblance_error=round(error, _DIGITS),
        first_in_second=round(inside[0], _DIGITS),
        first_in_second_error=round(error * scale / max(counts[0], 1), _DIGITS),
        second_in_first=round(inside[1], _DIGITS),
        second_in_first_error=round(error * scale / max(counts[1], 1), _DIGITS),
    )


def _counted(match: Match | None) -> Counted | UnsetType:
    if match is None or match.containment is None or match.contained_in is None:
        return UNSET
    return Counted(
        first_in_second=round(match.containment, _DIGITS),
        second_in_first=round(match.contained_in, _DIGITS),
    )


def _whole_texts(one: PageRecord, other: PageRecord, sketch: SketchConfig | None) -> WholeTexts | UnsetType:
    if sketch is None or not (one.whole_count or other.whole_count):
        return UNSET
    wholes = text_figures([one], [other], sketch).wholes_of(np.zeros(1, np.intp))
    ratios = [
        round(float(each[0]), _DIGITS)
        for each in (*wholes.overlaps[:3], *contents_inside(wholes), *least_content_inside(wholes))
    ]
    return WholeTexts(
        are_short=bool(are_short(wholes)[0]),
        are_empty=bool(are_empty(wholes)[0]),
        resemblance=ratios[0],
        first_in_second=ratios[1],
        second_in_first=ratios[2],
        first_content_in_second=ratios[3],
        second_content_in_first=ratios[4],
        are_alike_known=bool(are_alike_known(wholes)[0]),
        first_least_inside=ratios[5],
        second_least_inside=ratios[6],
    )


def _exact(first: str | None, second: str | None, shingle_tokens: int) -> Exact | UnsetType:
    if first is None or second is None:
        return UNSET
    config = ShingleConfig(shingle_tokens, is_bag=True)
    overlap = exact_overlap(
        shingle_ids(token_hashes(first), config), shingle_ids(token_hashes(second), config)
    )
    if math.isnan(overlap.first_in_second) or math.isnan(overlap.second_in_first):
        return UNSET
    return Exact(
        resemblance=round(overlap.resemblance, _DIGITS),
        first_in_second=round(overlap.first_in_second, _DIGITS),
        second_in_first=round(overlap.second_in_first, _DIGITS),
        first_count=overlap.first_count,
        second_count=overlap.second_count,
        common_count=overlap.common_count,
    )


def _thresholds(settings: Settings) -> Thresholds:
    return Thresholds(
        distance_bits=settings.index.distance_bits,
        near_resemblance=settings.verdict.near_resemblance,
        near_containment=settings.verdict.near_containment,
        contained_containment=settings.verdict.contained_containment,
        content_containment=settings.verdict.content_containment,
        min_tokens=settings.verdict.min_tokens,
        scope=settings.verdict.scope,
        rule=settings.clusters.rule,
        link_containment=settings.clusters.link_containment,
    )


def _would_link(match: Match | None, settings: Settings) -> bool | UnsetType:
    """Return whether a page joins another that stands alone and is its only match."""
    rule = cluster_rule(settings)
    if rule is None or match is None:
        return UNSET
    alone = Support(
        cluster_id="alone",
        size=1,
        representative_rank=1,
        matches=(match,),
        anchor_matches=(match,),
        anchor_count=1,
        is_representative_matched=True,
    )
    return rule([alone]).join is not None
