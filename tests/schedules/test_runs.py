"""With any faults of three daemons, and any order of their steps, the eight invariants hold.

A run that fails names its seed and fault profile; `python -m tests.schedules SEED --fault-profile NAME`
repeats it and prints every call.
"""

import os

import pytest

from tests.schedules.run import run
from tests.schedules.story import FAULT_PROFILES

SHORT, LONG = 40, 2_000
"""Runs in each of the fault profiles."""


def violations(fault_profile: str, seeds: range) -> dict[int, list[str]]:
    """By seed."""
    return {seed: found for seed in seeds if (found := run(seed, FAULT_PROFILES[fault_profile]).violations)}


@pytest.mark.parametrize("fault_profile", FAULT_PROFILES)
def test_the_invariants_hold(fault_profile: str) -> None:
    assert violations(fault_profile, range(SHORT)) == {}


@pytest.mark.parametrize(
    ("fault_profile", "seed"),
    [
        pytest.param("lost clusters", 500_018, id="an older copy than the committed offset"),
        pytest.param("lost seconds", 399, id="events were sent, and their offset was not committed"),
        pytest.param("lost seconds", 107, id="the new owner has seen nothing of it"),
    ],
)
def test_no_event_id_is_used_again_for_other_content(fault_profile: str, seed: int) -> None:
    assert run(seed, FAULT_PROFILES[fault_profile]).violations == []


def test_a_page_never_begins_again_below_a_version_that_was_published() -> None:
    """Redis loses the record of a lone page, whose tombstone is swept before the page comes again."""
    assert run(620_240, FAULT_PROFILES["lost records"]).violations == []


def test_a_paused_daemon_may_write_a_stub_that_is_never_decided_where_redis_lost_the_record() -> None:
    """The next owner has decided the same forget as unknown, which leaves no trace in any record."""
    assert run(9_700_307, FAULT_PROFILES["lost records"]).violations == []


def test_no_commit_passes_events_that_were_left_to_the_next_owner() -> None:
    """A member that was out for a moment joins again, and the group accepts a commit of its former turn."""
    assert run(8_000_120, FAULT_PROFILES["raised epoch"]).violations == []


def test_no_run_ends_between_a_loss_and_its_operator() -> None:
    """Everything was committed before Redis lost it, so nothing but the operator is waited for."""
    outcome = run(8_000_865, FAULT_PROFILES["lost clusters"])
    assert outcome.violations == []
    assert outcome.is_recovered


@pytest.mark.parametrize("seed", [9_100_891, 9_101_106])
def test_offsets_of_a_former_epoch_leave_room_for_those_of_the_new_one(seed: int) -> None:
    """A page in three partitions, and in three more under a raised epoch, which is more than five."""
    assert run(seed, FAULT_PROFILES["raised epoch"]).violations == []


def test_rows_of_a_former_epoch_are_published_though_other_versions_followed() -> None:
    """Daemons decide and are killed before they send; the epoch is raised before they begin again."""
    assert run(9_101_786, FAULT_PROFILES["raised epoch"]).violations == []


@pytest.mark.parametrize("seed", [9_101_217, 9_101_435])
def test_a_process_that_continues_in_a_former_epoch_changes_no_page_of_the_new_one(seed: int) -> None:
    """It is paused before it registers or decides, and the new epoch has read the page meanwhile."""
    assert run(seed, FAULT_PROFILES["raised epoch"]).violations == []


def test_a_version_that_was_decided_meanwhile_is_not_claimed_above_itself() -> None:
    """A former owner finds its record behind; by the time it registers again the record has caught up."""
    assert run(9_101_073, FAULT_PROFILES["slow"]).violations == []


def test_the_first_page_of_a_merged_cluster_represents_it_while_its_members_move() -> None:
    """One daemon decides who is first, between two reads of which another one moves absorbed members."""
    assert run(9_712_000, FAULT_PROFILES["slow"]).violations == []


def test_a_transaction_of_a_former_lease_is_not_repeated_by_the_new_one() -> None:
    assert run(1052, FAULT_PROFILES["exactly once"]).violations == []


def test_a_page_that_begins_again_twice_before_it_is_decided_keeps_what_was_published() -> None:
    assert run(9_800_324, FAULT_PROFILES["lost records"]).violations == []


def test_nothing_is_lost_once_a_run_is_over() -> None:
    """The daemons leave, and no operator comes any more."""
    assert run(8_000_411, FAULT_PROFILES["lost clusters"]).violations == []


@pytest.mark.chaos
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("fault_profile", FAULT_PROFILES)
def test_the_invariants_hold_in_thousands_of_runs(fault_profile: str) -> None:
    first = int(os.environ.get("CHAOS_SEED", "1000"))
    seeds = range(first, first + LONG)
    print(f"{fault_profile}: seeds {seeds.start} to {seeds.stop - 1}")  # noqa: T201 - to run them again
    assert violations(fault_profile, seeds) == {}


def test_daemons_meet_what_the_fault_profiles_promise() -> None:
    """Else the runs would show little."""
    outcomes = [run(seed) for seed in range(30)]
    assert sum(outcome.events for outcome in outcomes) > 100
    assert sum(outcome.generations for outcome in outcomes) > 100
    assert any(outcome.late_commits for outcome in outcomes)


def test_daemons_know_different_frames() -> None:
    """Pages with none, a part and all of their frames taken out; else views would not differ."""
    shares = [share for seed in range(10) for share in run(seed, FAULT_PROFILES["frames"]).frame_shares]
    assert sum(share == 0 for share in shares) > 20
    assert sum(share > 0.5 for share in shares) > 20
    assert len(set(shares)) > 4


def test_pages_are_left_to_archives_and_return() -> None:
    """In enough runs for the fault profile to show something."""
    outcomes = [run(seed, FAULT_PROFILES["pages left to archives"]) for seed in range(10)]
    assert sum(outcome.archived_count for outcome in outcomes) > 20
