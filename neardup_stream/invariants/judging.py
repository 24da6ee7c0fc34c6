"""Check all invariants of one history."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from neardup_stream.invariants.agreement import judge_agreement
from neardup_stream.invariants.alike import judge_matches
from neardup_stream.invariants.commits import judge_commits
from neardup_stream.invariants.evidence import Evidence
from neardup_stream.invariants.foreign import foreign_input
from neardup_stream.invariants.history import Expectations, History, Violation
from neardup_stream.invariants.outcomes import judge_outcomes
from neardup_stream.invariants.payloads import judge_payloads
from neardup_stream.invariants.ranks import judge_ranks
from neardup_stream.invariants.recrawls import judge_recrawls
from neardup_stream.invariants.soundness import judge_soundness

__all__ = ["judge", "unjudged"]

_JUDGES: Final[Mapping[int, Callable[[Evidence], Iterator[Violation]]]] = {
    1: judge_outcomes,
    2: judge_recrawls,
    3: judge_payloads,
    4: judge_agreement,
    5: judge_matches,
    6: judge_commits,
    7: judge_ranks,
    8: judge_soundness,
}


def judge(
    history: History, expectations: Expectations, on_judged: Callable[[int, int], None] = lambda *_: None
) -> list[Violation]:
    """Return every violation, by invariant; see `unjudged` for what is not checked.

    Args:
        history: what was read.
        expectations: what may be concluded from it.
        on_judged: called with the number of checked invariants and their total.

    Cost: some 200 µs a page, of which the matches take 100 µs, with 150 MB or the entries of one shard of the
    tables; 300 bytes a page and an event in addition to the history.
    """
    evidence = Evidence(history, expectations)
    left_out = unjudged(history, expectations)
    found: list[Violation] = []
    for number, violations in _JUDGES.items():
        if number not in left_out:
            found += violations(evidence)
        on_judged(number, len(_JUDGES))
    return found


def unjudged(history: History, expectations: Expectations) -> dict[int, str]:
    """Return the invariants that this history cannot decide, and why."""
    reasons: dict[int, str] = {}
    if not expectations.is_quiet:
        reasons |= dict.fromkeys((4, 5, 8), "batches are in flight")
    if expectations.matching is None:
        reasons[5] = "matches need not link their pages, by the rule or because the verdict settings changed"
    if expectations.verdict is None:
        reasons[8] = "the verdict settings changed after the first pages were decided"
    if expectations.events_since_ms is None:
        reasons[1] = "it is unknown which events are still retained"
    if expectations.events_since_ms != 0:
        reasons |= dict.fromkeys((4, 8), "the first events are no longer retained")
    if foreign := foreign_input(history):
        reasons |= dict.fromkeys((4, 8), foreign)
    if not expectations.keeps_clusters:
        reasons |= dict.fromkeys((4, 5, 7, 8), "clusters are switched off, so there are no ranks")
    return reasons
