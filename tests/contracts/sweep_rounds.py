"""What every SweepRounds promises, as functions over a fresh one and the seconds of its clock."""

from asyncio import gather
from collections.abc import Awaitable, Callable

from neardup_stream.stores.sweep_rounds import SweepRounds

__all__ = ["SWEEP_ROUNDS_CLAIMS", "SweepRoundsClaim"]

SweepRoundsClaim = Callable[[SweepRounds], Awaitable[None]]

SLOTS = 100
LONG_SECONDS = 10_000_000.0
"""A round in which no further slot is due while a test runs."""


async def the_first_round_is_due_at_once_in_claims_that_meet_every_slot_once(rounds: SweepRounds) -> None:
    met: list[int] = []
    while (claim := await rounds.claim(30, SLOTS, LONG_SECONDS)).slot_count:
        assert claim.slot_count <= 30
        met += range(claim.first_slot, claim.first_slot + claim.slot_count)

    assert sorted(met) == list(range(SLOTS))


async def no_claim_goes_over_the_last_slot(rounds: SweepRounds) -> None:
    ends = []
    while (claim := await rounds.claim(SLOTS, SLOTS, LONG_SECONDS)).slot_count:
        ends.append(claim.first_slot + claim.slot_count)

    assert SLOTS in ends
    assert max(ends) == SLOTS


async def claims_made_at_once_share_no_slot(rounds: SweepRounds) -> None:
    claims = await gather(*(rounds.claim(10, SLOTS, LONG_SECONDS) for _ in range(8)))
    met = [slot for each in claims for slot in range(each.first_slot, each.first_slot + each.slot_count)]

    assert len(met) == len(set(met)) >= 70


async def each_claim_is_due_where_the_one_before_it_ended(rounds: SweepRounds) -> None:
    claims = [await rounds.claim(30, SLOTS, LONG_SECONDS) for _ in range(4)]
    due = [each.behind_seconds for each in claims]
    shares = [each.slot_count / SLOTS * LONG_SECONDS for each in claims]

    assert due[1:] == [before - share for before, share in zip(due, shares, strict=False)][:3]


async def what_is_behind_is_told_before_the_claim(rounds: SweepRounds) -> None:
    first = await rounds.claim(SLOTS // 2, SLOTS, LONG_SECONDS)
    second = await rounds.claim(SLOTS, SLOTS, LONG_SECONDS)

    assert first.behind_seconds == LONG_SECONDS
    assert second.behind_seconds == LONG_SECONDS * (1 - first.slot_count / SLOTS)


async def a_slower_pace_does_not_wait_for_the_faster_one(rounds: SweepRounds) -> None:
    await rounds.claim(SLOTS, SLOTS, LONG_SECONDS / 1000)
    behind = [(await rounds.claim(1, SLOTS, LONG_SECONDS)).behind_seconds for _ in range(2)]

    assert all(0 <= each <= LONG_SECONDS for each in behind)


async def after_a_pause_more_than_one_round_but_less_than_two_are_due(rounds: SweepRounds) -> None:
    while (await rounds.claim(SLOTS, SLOTS, LONG_SECONDS)).slot_count:
        """All is swept, until the pace becomes a thousand times as fast."""
    claim = await rounds.claim(SLOTS, SLOTS, LONG_SECONDS / 1000)

    assert LONG_SECONDS / 1000 <= claim.behind_seconds < 2 * LONG_SECONDS / 1000


async def a_sweep_that_is_a_round_late_stays_late_until_it_has_caught_up(rounds: SweepRounds) -> None:
    round_seconds = LONG_SECONDS / 1000
    while (await rounds.claim(SLOTS, SLOTS, LONG_SECONDS)).slot_count:
        """All is swept, until the pace becomes a thousand times as fast."""
    first = await rounds.claim(SLOTS // 2, SLOTS, round_seconds)
    second = await rounds.claim(SLOTS // 2, SLOTS, round_seconds)

    caught_up = first.slot_count / SLOTS * round_seconds
    assert first.behind_seconds - second.behind_seconds <= caught_up
    assert second.behind_seconds >= round_seconds - caught_up


SWEEP_ROUNDS_CLAIMS: list[SweepRoundsClaim] = [
    the_first_round_is_due_at_once_in_claims_that_meet_every_slot_once,
    no_claim_goes_over_the_last_slot,
    claims_made_at_once_share_no_slot,
    each_claim_is_due_where_the_one_before_it_ended,
    what_is_behind_is_told_before_the_claim,
    a_slower_pace_does_not_wait_for_the_faster_one,
    after_a_pause_more_than_one_round_but_less_than_two_are_due,
    a_sweep_that_is_a_round_late_stays_late_until_it_has_caught_up,
]
