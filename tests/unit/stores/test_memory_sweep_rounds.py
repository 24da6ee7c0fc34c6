import pytest

from tests.contracts.sweep_rounds import SWEEP_ROUNDS_CLAIMS, SweepRoundsClaim
from tests.doubles.sweep_rounds import MemorySweepRounds

NOW = 1_790_000_000.0


@pytest.mark.parametrize("claim", SWEEP_ROUNDS_CLAIMS, ids=lambda claim: claim.__name__)
async def test_sweep_rounds_in_memory_keep_the_contract(claim: SweepRoundsClaim) -> None:
    await claim(MemorySweepRounds(lambda: NOW))


async def test_slots_become_due_as_time_passes_and_each_once_a_round() -> None:
    now = [NOW]
    rounds = MemorySweepRounds(lambda: now[0])
    while (await rounds.claim(64, 1000, 60.0)).slot_count:
        """The first round."""
    met: list[int] = []
    for _ in range(600):
        now[0] += 0.1
        claim = await rounds.claim(64, 1000, 60.0)
        met += range(claim.first_slot, claim.first_slot + claim.slot_count)

    assert len(met) == len(set(met))
    assert 990 <= len(met) <= 1000
