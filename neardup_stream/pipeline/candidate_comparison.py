"""Compare the pages of a batch with their candidates: matches, pages that contain them, and rejections. Pure.

`classification` says what two pages are to each other. Here it is asked for candidates only whose page record
still lives at the version that was indexed, in the same scope: an index entry may be out of date, and the
record is what counts. A candidate that fails this is stale, unless a record that comes later has replaced it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from neardup_stream.match import Candidate, Match, version_byte
from neardup_stream.meters import Rejection
from neardup_stream.page import Handle
from neardup_stream.pipeline.classification import ClassifiedPair, PairClass, VerdictConfig, classify
from neardup_stream.pipeline.pair_figures import page_figures
from neardup_stream.stores.page_record import PageRecord

__all__ = [
    "NOTHING",
    "Compared",
    "FindFormer",
    "Verification",
    "are_alike",
    "best_first",
    "compare",
    "compare_candidates",
    "find_nothing",
    "fullest_first",
]

FindFormer = Callable[[int, Candidate], PageRecord | None]
"""Returns the version of a candidate of the page in this row, if a record after that of the page has replaced
it."""


def find_nothing(_row: int, _candidate: Candidate) -> None:
    """Find no former version."""


_MATCHES: Final = frozenset({"exact", "near"})


class Compared(msgspec.Struct, frozen=True, gc=False):
    """The result of one page's candidates, each list best first.

    Attributes:
        matches: exact and near ones.
        containers: pages that are not alike, but one of the two is mostly inside the other.
    """

    matches: tuple[Match, ...]
    containers: tuple[Match, ...]


NOTHING: Final = Compared((), ())
"""The result of a page that is like no other."""


class Verification(NamedTuple):
    """A batch verified.

    Attributes:
        compared: what came of the candidates of each page.
        stale_candidates: of each page, the candidates that name a page version that is no more.
        rejections: rejected candidates, by reason, stale among them.
    """

    compared: list[Compared]
    stale_candidates: list[list[Candidate]]
    rejections: Counter[Rejection]


class _Pair(NamedTuple):
    """A page of the batch and a stored page that may be like it."""

    row: int
    page: PageRecord
    candidate: Candidate
    other: PageRecord


def compare_candidates(
    pages: Sequence[PageRecord],
    candidates: Sequence[Sequence[Candidate]],
    records: Mapping[Handle, PageRecord],
    config: VerdictConfig,
    find_former: FindFormer = find_nothing,
) -> Verification:
    """Judge every candidate of every page.

    Args:
        pages: records of the batch.
        candidates: one sequence per page.
        records: of the candidates, where there is one.
        config: thresholds.
        find_former: where the record of a candidate is newer than its index entry.

    Cost: 3 µs a candidate, 100 µs a batch.
    """
    stale_candidates: list[list[Candidate]] = [[] for _ in pages]
    rejections: Counter[Rejection] = Counter()
    pairs = list(_living_pairs(pages, candidates, records, find_former, stale_candidates, rejections))
    matches: list[list[Match]] = [[] for _ in pages]
    containers: list[list[Match]] = [[] for _ in pages]
    for pair, (match, name) in zip(pairs, _compared(pairs, config), strict=True):
        match name:
            case "exact" | "near":
                matches[pair.row].append(match)
            case "contained" | "below_threshold":
                rejections[name] += 1
                if name == "contained":
                    containers[pair.row].append(match)
    compared = [
        Compared(tuple(sorted(near, key=best_first)), tuple(sorted(around, key=fullest_first)))
        if near or around
        else NOTHING
        for near, around in zip(matches, containers, strict=True)
    ]
    return Verification(compared, stale_candidates, rejections)


def compare(page: PageRecord, handle: Handle, other: PageRecord, config: VerdictConfig) -> Match:
    """Return how alike two pages are, match or not; both are indexed, `handle` is the other's."""
    candidate = Candidate(handle, version_byte(other.version))
    ((match, _),) = _compared([_Pair(0, page, candidate, other)], config)
    return match


def are_alike(
    pages: Sequence[PageRecord], others: Sequence[PageRecord], config: VerdictConfig
) -> Iterator[bool]:
    """Return whether each page matches the other one at its place; all are indexed.

    Cost: see `compare_candidates`.
    """
    pairs = [
        _Pair(row, page, Candidate(Handle(0), version_byte(other.version)), other)
        for row, (page, other) in enumerate(zip(pages, others, strict=True))
    ]
    for pair, (_, name) in zip(pairs, _compared(pairs, config), strict=True):
        yield name in _MATCHES and pair.page.scope == pair.other.scope


def _living_pairs(
    pages: Sequence[PageRecord],
    candidates: Sequence[Sequence[Candidate]],
    records: Mapping[Handle, PageRecord],
    find_former: FindFormer,
    stale_candidates: list[list[Candidate]],
    rejections: Counter[Rejection],
) -> Iterator[_Pair]:
    for row, (page, of_page) in enumerate(zip(pages, candidates, strict=True)):
        for candidate in of_page:
            other = records.get(candidate.handle)
            if other is None or version_byte(other.version) != candidate.version_byte or not other.is_indexed:
                other = find_former(row, candidate)
            if other is None:
                stale_candidates[row].append(candidate)
                rejections["stale"] += 1
            elif other.scope != page.scope:
                rejections["scope"] += 1
            else:
                yield _Pair(row, page, candidate, other)


def _compared(pairs: Sequence[_Pair], config: VerdictConfig) -> Iterator[tuple[Match, PairClass]]:
    """Yield each pair as a match, and its class, which may be none of a match."""
    if not pairs:
        return
    figures = page_figures([pair.page for pair in pairs], [pair.other for pair in pairs], config.sketch)
    classified = classify(figures, config).pairs()
    for pair, bits, found in zip(pairs, figures.distance_bits.tolist(), classified, strict=True):
        yield _match(pair, bits, found), found.name


def _match(pair: _Pair, distance_bits: int, found: ClassifiedPair) -> Match:
    """Return a pair as a match; `short_verify` makes the same one of columns."""
    other = pair.other
    return Match(
        handle=pair.candidate.handle,
        id=other.id,
        url=other.url,
        version=other.version,
        distance_bits=distance_bits,
        kind="exact" if found.name == "exact" else "near",
        fingerprint=other.fingerprint,
        rank=other.rank,
        resemblance=found.resemblance,
        containment=found.own,
        contained_in=found.other,
        scheme=pair.candidate.scheme,
        view=found.view,
        content=other.content,
    )


def best_first(match: Match) -> tuple[bool, float, int, str]:
    """Return the key that sorts matches: copies, then by resemblance, then by distance."""
    return match.kind != "exact", -(match.resemblance or 0), match.distance_bits, match.id


def _most_contained(match: Match) -> float:
    return max(match.containment or 0, match.contained_in or 0)


def fullest_first(match: Match) -> tuple[float, str]:
    """Return the key that sorts containers: the most contained first, then by id."""
    return -_most_contained(match), match.id
