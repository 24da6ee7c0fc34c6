"""Invariant 3: equal event ids have equal payloads; and every message of the topic is an event of ours."""

from collections.abc import Iterator

from neardup_stream.invariants.evidence import Evidence
from neardup_stream.invariants.history import Violation

__all__ = ["judge_payloads"]


def judge_payloads(evidence: Evidence) -> Iterator[Violation]:
    """Yield deliveries of one event that differ, and messages that are not events."""
    for name, event_id in evidence.clashing:
        yield Violation(3, f"{name} event {event_id} was delivered with another payload")
    for detail in evidence.unreadable:
        yield Violation(3, detail)
