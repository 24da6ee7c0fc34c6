"""Print the result of `verify`: each invariant, and whether it held."""

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from typing import Final, Literal

import click
import msgspec

from neardup_daemon.inspect.verifying import Reading
from neardup_daemon.progress import OnPart, unseen
from neardup_daemon.terminal import counted, printable
from neardup_stream.invariants.judging import judge, unjudged

__all__ = ["InvariantFinding", "Verification", "readable", "verified"]

_SHOWN_VIOLATIONS = 5

_PROMISES: Final = {
    1: "every finished record has one outcome",
    2: "no page repeats itself",
    3: "one event id, one payload",
    4: "events add up to what is stored",
    5: "pages that match are together",
    6: "nothing unfinished is committed",
    7: "ranks and merges never turn back",
    8: "members of a cluster match",
}
"""The invariants in a few words each."""


class InvariantFinding(msgspec.Struct, frozen=True, kw_only=True):
    """How one invariant came out.

    Attributes:
        invariant: 1 to 8.
        promise: what it says.
        state: not_judged where this history says nothing about it.
        reason: why it was not judged.
        violations: one line each.
    """

    invariant: int
    promise: str
    state: Literal["held", "violated", "not_judged"]
    reason: str = ""
    violations: tuple[str, ...] = ()


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at, and what was found.

    Attributes:
        records: of the pages topics, as far as they are kept.
        finished: how many of them lie below the committed offsets.
        events: deliveries, repeats included.
        dead_letters: the same.
        pages: page records in Redis, stubs included.
        clusters: of two or more.
        is_quiet: whether no record was in flight.
        invariants: in order.
    """

    records: int
    finished: int
    events: int
    dead_letters: int
    pages: int
    clusters: int
    is_quiet: bool
    invariants: tuple[InvariantFinding, ...]

    @property
    def is_held(self) -> bool:
        """Whether nothing that was judged is violated."""
        return all(each.state != "violated" for each in self.invariants)


def verified(reading: Reading, on_part: OnPart = unseen) -> Verification:
    """Judge what was read. Cost: see `judge`."""
    history, expectations = reading
    details: defaultdict[int, list[str]] = defaultdict(list)
    for violation in judge(history, expectations, partial(on_part, "promises")):
        details[violation.invariant].append(violation.detail)
    reasons = unjudged(history, expectations)
    committed = history.committed
    return Verification(
        records=len(history.inputs),
        finished=sum(
            each.position.offset < committed.get(each.position.partition, 0) for each in history.inputs
        ),
        events=len(history.events),
        dead_letters=len(history.dead_letters),
        pages=len(history.records),
        clusters=len(history.clusters),
        is_quiet=expectations.is_quiet,
        invariants=tuple(_finding(number, reasons.get(number, ""), details[number]) for number in _PROMISES),
    )


def _finding(number: int, reason: str, details: list[str]) -> InvariantFinding:
    return InvariantFinding(
        invariant=number,
        promise=_PROMISES[number],
        state="not_judged" if reason else "violated" if details else "held",
        reason=reason,
        violations=tuple(details),
    )


def readable(verification: Verification) -> str:
    """Return the same as text for a person: a line for each invariant, and its first violations."""
    return "\n".join(_lines(verification))


def _lines(verification: Verification) -> Iterator[str]:
    yield (
        f"{verification.finished:,} of {verification.records:,} records finished,"
        f" {counted(verification.events, 'event')}, {counted(verification.dead_letters, 'dead letter')};"
        f" {counted(verification.pages, 'page')} stored, {counted(verification.clusters, 'cluster')}"
    )
    for each in verification.invariants:
        yield f"  {each.invariant}  {each.promise:<38}  {_state(each)}"
        yield from (f"       {printable(detail)}" for detail in each.violations[:_SHOWN_VIOLATIONS])
        if len(each.violations) > _SHOWN_VIOLATIONS:
            yield click.style(f"       and {len(each.violations) - _SHOWN_VIOLATIONS:,} more", dim=True)


def _state(finding: InvariantFinding) -> str:
    if finding.state == "held":
        return click.style("held", fg="green")
    if finding.state == "violated":
        return click.style(counted(len(finding.violations), "violation"), fg="red", bold=True)
    return click.style(f"not judged: {finding.reason}", fg="yellow")
