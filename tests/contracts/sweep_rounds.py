"""What every SweepRounds promises, as functions over a fresh one and the seconds of its clock."""

from asyncio import gather
from collections.abc import Awaitable, Callable
from itertools import pairwise

from neardup_stream.stores.sweep_rounds import Claim, SweepRounds

__all__ = ["SWEEP_ROUNDS_CLAIMS", "SweepRoundsClaim"]

SweepRoundsClaim = Callable[[SweepRounds], Awaitable[None]]

SLOTS = 100
LONG_SECONDS = 10_000_000.0
"""A round in which no further slot is due while a test runs."""


def _behind_slots(claim: Claim, round_seconds: float = LONG_SECONDS) -> int:
    """The lag as the slots it is made of: seconds of different lags cannot be added up exactly."""
    return round(claim.behind_seconds / round_seconds * SLOTS)


async def the_first_round_is_due_at_once_in_claims_that_meet_every_slot_once(rounds: SweepRounds) -> None:
    met: list[int] = []
    while (claim := await rounds.claim(30, SLOTS, LONG_SECONDS)).slot_count:
        assert claim.slot_count <= 30
        met += range(claim.first_slot, claim.first_slot + claim.slot_count)

    assert sorted(met) == list(range(SLOTS))


async def no_claim_passes_the_last_slot(rounds: SweepRounds) -> None:
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

    for before, claim in pairwise(claims):
        assert _behind_slots(claim) == _behind_slots(before) - before.slot_count


async def the_lag_is_that_from_before_the_claim(rounds: SweepRounds) -> None:
    first = await rounds.claim(SLOTS // 2, SLOTS, LONG_SECONDS)
    second = await rounds.claim(SLOTS, SLOTS, LONG_SECONDS)

    assert first.behind_seconds == LONG_SECONDS
    assert _behind_slots(second) == SLOTS - first.slot_count


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

    caught_up = _behind_slots(first, round_seconds) - _behind_slots(second, round_seconds)
    assert caught_up <= first.slot_count
    assert _behind_slots(second, round_seconds) >= SLOTS - first.slot_count


async def _pace_after_a_round(rounds: SweepRounds, shift: int) -> float:
    """Sweep a round; return the pace by which so many slots more are due than were claimed."""
    while (await rounds.claim(SLOTS, SLOTS, LONG_SECONDS)).slot_count:
        """All is swept."""
    now = await rounds.now_seconds()
    claimed = int(now / LONG_SECONDS * SLOTS)
    return now * SLOTS / (claimed + shift + 0.5)


async def of_two_rounds_that_were_not_swept_one_is_left_out(rounds: SweepRounds) -> None:
    pace = await _pace_after_a_round(rounds, 2 * SLOTS)

    assert _behind_slots(await rounds.claim(SLOTS, SLOTS, pace), pace) == SLOTS


async def of_less_than_two_rounds_that_were_not_swept_nothing_is_left_out(rounds: SweepRounds) -> None:
    pace = await _pace_after_a_round(rounds, 2 * SLOTS - 1)

    assert _behind_slots(await rounds.claim(SLOTS, SLOTS, pace), pace) == 2 * SLOTS - 1


async def slots_that_were_claimed_within_the_last_round_are_not_due_again(rounds: SweepRounds) -> None:
    pace = await _pace_after_a_round(rounds, -SLOTS // 2)

    assert (await rounds.claim(SLOTS, SLOTS, pace)).slot_count == 0


async def those_that_a_faster_pace_has_claimed_ahead_are_due_one_by_one(rounds: SweepRounds) -> None:
    pace = await _pace_after_a_round(rounds, -SLOTS - SLOTS // 4)
    claims = [await rounds.claim(1, SLOTS, pace) for _ in range(2)]

    assert [_behind_slots(claim, pace) for claim in claims] == [SLOTS - SLOTS // 4, SLOTS - SLOTS // 4 - 1]
    assert claims[1].first_slot == (claims[0].first_slot + 1) % SLOTS


SWEEP_ROUNDS_CLAIMS: list[SweepRoundsClaim] = [
    the_first_round_is_due_at_once_in_claims_that_meet_every_slot_once,
    no_claim_passes_the_last_slot,
    claims_made_at_once_share_no_slot,
    each_claim_is_due_where_the_one_before_it_ended,
    the_lag_is_that_from_before_the_claim,
    a_slower_pace_does_not_wait_for_the_faster_one,
    after_a_pause_more_than_one_round_but_less_than_two_are_due,
    a_sweep_that_is_a_round_late_stays_late_until_it_has_caught_up,
    of_two_rounds_that_were_not_swept_one_is_left_out,
    of_less_than_two_rounds_that_were_not_swept_nothing_is_left_out,
    slots_that_were_claimed_within_the_last_round_are_not_due_again,
    those_that_a_faster_pace_has_claimed_ahead_are_due_one_by_one,
]
