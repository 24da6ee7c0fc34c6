"""Each alert, judged by Prometheus' own checker: silent while all is well, firing in time when it is not."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest
import yaml

from tests.alert_rules import END_MINUTES, ME, RULES, WELL, Values, judge
from tests.servers.prometheus import promtool


class Trouble(NamedTuple):
    """What is different, and since when it is known.

    Attributes:
        values: in place of those of a daemon that does its work.
        silent_minute: here it does not fire yet.
        firing_minute: here it does.
    """

    values: Values
    silent_minute: int
    firing_minute: int


TROUBLES: Final[Mapping[str, Trouble]] = {
    "NeardupDown": Trouble({f"up{{{ME}}}": "1x9 0x110"}, 14, 16),
    "NeardupAbsent": Trouble({f"up{{{ME}}}": "1x9 _x110"}, 14, 22),
    "NeardupRestarting": Trouble(
        {f"process_start_time_seconds{{{ME}}}": "1000x9 1010+60x2 1130x100"}, 10, 14
    ),
    "NeardupDependencyUnavailable": Trouble({f'neardup_state{{{ME},state="degraded"}}': "0x9 1x110"}, 12, 14),
    "NeardupStalled": Trouble({f'neardup_state{{{ME},state="stalled"}}': "0x9 1x110"}, 9, 11),
    "NeardupIndexLost": Trouble(
        {f'neardup_dependency_errors_total{{{ME},reason="index_lost"}}': "0x9 1x110"}, 9, 12
    ),
    "NeardupPartitionsUnassigned": Trouble({f"neardup_assigned_partitions{{{ME}}}": "2x9 1x110"}, 14, 16),
    "NeardupFallingBehind": Trouble(
        {
            f'neardup_uncommitted_records{{{ME},partition="{number}"}}': "100x9 2000+500x110"
            for number in (0, 1)
        },
        15,
        40,
    ),
    "NeardupLagOld": Trouble({f'neardup_lag_seconds{{{ME},partition="0"}}': "3x9 90000x110"}, 14, 16),
    "NeardupPartitionSkew": Trouble(
        {f'neardup_uncommitted_records{{{ME},partition="0"}}': "100x9 5000x110"}, 19, 21
    ),
    "NeardupSlowDelivery": Trouble(
        {f'neardup_delivery_delay_seconds_bucket{{{ME},le="300.0"}}': "0+1000x9 9000x110"}, 15, 30
    ),
    "NeardupDeadLetters": Trouble(
        {f'neardup_outcomes_total{{{ME},outcome="dead_letter"}}': "0+5x9 45+100x110"}, 12, 30
    ),
    "NeardupInputUnreadable": Trouble(
        {f'neardup_outcomes_total{{{ME},outcome="dead_letter"}}': "0+5x9 45+5000x110"}, 10, 30
    ),
    "NeardupDeadLettersTruncated": Trouble(
        {f"neardup_truncated_dead_letters_total{{{ME}}}": "0x9 1x110"}, 9, 12
    ),
    "NeardupRedisOutOfMemory": Trouble(
        {f'neardup_dependency_errors_total{{{ME},reason="out_of_memory"}}': "0x9 1x110"}, 9, 12
    ),
    "NeardupRedisMemoryHigh": Trouble(
        {f'neardup_redis_memory_bytes{{{ME},kind="used"}}': "80x9 90x110"}, 19, 21
    ),
    "NeardupIndexOverPlan": Trouble({f"neardup_stored_pages{{{ME}}}": "1050x9 1200x110"}, 19, 21),
    "NeardupMatchesMayBeMissing": Trouble(
        {f"neardup_bucket_cap_hits_total{{{ME}}}": "0+10x9 90+500x110"}, 15, 40
    ),
    "NeardupStaleCandidates": Trouble(
        {f'neardup_rejected_candidates_total{{{ME},reason="stale"}}': "0+50x9 450+500x110"}, 20, 60
    ),
    "NeardupArchiveRefused": Trouble({f"neardup_refused_archives{{{ME}}}": "0x9 1x110"}, 14, 16),
    "NeardupClockOff": Trouble({f"neardup_clock_offset_seconds{{{ME}}}": "-2x9 -40x110"}, 14, 16),
    "NeardupRebalancing": Trouble({f"neardup_rebalances_total{{{ME}}}": "1x9 2+1x110"}, 13, 20),
    "NeardupEventLoopBlocked": Trouble(
        {f'neardup_event_loop_delay_seconds_bucket{{{ME},le="1.0"}}': "0+240x9 2399+240x110"}, 8, 11
    ),
    "NeardupFileDescriptors": Trouble({f"process_open_fds{{{ME}}}": "50x9 900x110"}, 19, 21),
}


def alerts() -> list[str]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule["alert"] for group in groups for rule in group["rules"] if "alert" in rule]


def test_the_rules_are_valid() -> None:
    checked = promtool("check", "rules", str(RULES))
    assert checked.returncode == 0, checked.stderr


def test_every_alert_has_its_trouble() -> None:
    assert alerts() == list(TROUBLES)


def test_no_alert_fires_while_all_is_well(tmp_path: Path) -> None:
    assert judge(WELL, {minute: set() for minute in range(0, END_MINUTES, 10)}, tmp_path) == ""


@pytest.mark.parametrize("alert", TROUBLES)
def test_a_trouble_fires_its_alert_in_time_and_no_other(alert: str, tmp_path: Path) -> None:
    trouble = TROUBLES[alert]
    expected = {5: set(), trouble.silent_minute: set(), trouble.firing_minute: {alert}}

    assert judge({**WELL, **trouble.values}, expected, tmp_path) == ""


def test_a_few_faults_in_a_quiet_hour_fire_none(tmp_path: Path) -> None:
    """Though they are all that came."""
    quiet = {
        f"neardup_pages_total{{{ME}}}": "0x9 4x110",
        f'neardup_outcomes_total{{{ME},outcome="unique"}}': "0x120",
        f'neardup_outcomes_total{{{ME},outcome="dead_letter"}}': "0x9 4x110",
        f"neardup_candidates_total{{{ME}}}": "0x9 4x110",
        f'neardup_rejected_candidates_total{{{ME},reason="stale"}}': "0x9 4x110",
        f"neardup_bucket_cap_hits_total{{{ME}}}": "0x9 4x110",
    }

    assert judge({**WELL, **quiet}, {minute: set() for minute in range(0, END_MINUTES, 5)}, tmp_path) == ""


def test_a_slow_topic_of_which_nothing_can_be_read_fires_its_alert(tmp_path: Path) -> None:
    slow = {
        f'neardup_outcomes_total{{{ME},outcome="unique"}}': "0x120",
        f'neardup_outcomes_total{{{ME},outcome="dead_letter"}}': " ".join(
            str(minute // 4) for minute in range(END_MINUTES + 1)
        ),
    }

    assert judge({**WELL, **slow}, {20: set(), 60: {"NeardupInputUnreadable"}}, tmp_path) == ""


def test_a_slow_topic_that_becomes_unreadable_fires_its_alert_within_the_hour(tmp_path: Path) -> None:
    """Though most of six hours could be read: 30 records an hour, readable for eight hours."""
    end, fault = 600, 480
    well = {name: each.replace("x120", f"x{end}") for name, each in WELL.items()}
    readable = [min(minute, fault) // 2 for minute in range(end + 1)]
    slow = {
        f'neardup_outcomes_total{{{ME},outcome="unique"}}': " ".join(map(str, readable)),
        f'neardup_outcomes_total{{{ME},outcome="dead_letter"}}': " ".join(
            str(minute // 2 - both) for minute, both in enumerate(readable)
        ),
    }

    alert = {"NeardupInputUnreadable"}
    expected = {fault: set[str](), fault + 15: set[str](), fault + 45: alert, fault + 120: alert}
    assert judge({**well, **slow}, expected, tmp_path) == ""


def test_one_dead_letter_in_a_quiet_hour_after_busy_ones_fires_none(tmp_path: Path) -> None:
    """All that came in a quarter of an hour; the others of six hours came among many readable records."""
    outcomes = {
        f'neardup_outcomes_total{{{ME},outcome="unique"}}': "0+1000x40 40000x80",
        f'neardup_outcomes_total{{{ME},outcome="dead_letter"}}': "0+5x40 200x29 201x50",
    }

    assert judge({**WELL, **outcomes}, {minute: set() for minute in range(END_MINUTES)}, tmp_path) == ""


def test_a_topic_that_becomes_readable_again_is_reported_no_longer(tmp_path: Path) -> None:
    """Though most of six hours was dead letters."""
    outcomes = {
        f'neardup_outcomes_total{{{ME},outcome="unique"}}': "0x60 0+10x60",
        f'neardup_outcomes_total{{{ME},outcome="dead_letter"}}': "0+1000x60 60000x60",
    }

    expected = {30: {"NeardupInputUnreadable"}, 60: {"NeardupInputUnreadable"}, 80: set(), 110: set()}
    assert judge({**WELL, **outcomes}, expected, tmp_path) == ""


def test_a_few_late_records_in_a_quiet_hour_fire_none(tmp_path: Path) -> None:
    """Though they are all that came."""
    quiet = {
        f'neardup_delivery_delay_seconds_bucket{{{ME},le="300.0"}}': "0+1000x40 40000x80",
        f'neardup_delivery_delay_seconds_bucket{{{ME},le="900.0"}}': "0+1000x40 40000x19 40000+1x3 40003x57",
        f'neardup_delivery_delay_seconds_bucket{{{ME},le="+Inf"}}': "0+1000x40 40000x19 40000+1x3 40003x57",
        f"neardup_delivery_delay_seconds_count{{{ME}}}": "0+1000x40 40000x19 40000+1x3 40003x57",
    }

    assert judge({**WELL, **quiet}, {minute: set() for minute in range(END_MINUTES)}, tmp_path) == ""


def test_a_slow_topic_whose_records_all_come_late_fires_its_alert(tmp_path: Path) -> None:
    """50 records an hour."""
    delays = f"neardup_delivery_delay_seconds_bucket{{{ME},le="
    late = " ".join(str(minute * 5 // 6) for minute in range(END_MINUTES + 1))
    slow = {
        f'{delays}"300.0"}}': "0x120",
        f'{delays}"900.0"}}': late,
        f'{delays}"+Inf"}}': late,
        f"neardup_delivery_delay_seconds_count{{{ME}}}": late,
    }

    expected = {10: set[str](), 60: {"NeardupSlowDelivery"}, 110: {"NeardupSlowDelivery"}}
    assert judge({**WELL, **slow}, expected, tmp_path) == ""


LOOP = "neardup_event_loop_delay_seconds"
NEW = 'job="neardup",instance="b"'


@pytest.mark.parametrize(
    ("count", "below"),
    [
        pytest.param("103+240x120", "100+240x120", id="seen-when-it-was-blocked-before"),
        pytest.param("_x20 103+240x99", "_x20 100+240x99", id="seen-late"),
        pytest.param("3+240x20 0+240x99", "1+240x20 0+240x99", id="restarted"),
        pytest.param(
            "3+240x20 stale _x5 5+240x93", "1+240x20 stale _x5 5+240x93", id="restarted-after-a-pause"
        ),
    ],
)
def test_a_loop_that_is_not_blocked_while_it_is_watched_fires_none(
    count: str, below: str, tmp_path: Path
) -> None:
    values = {f"{LOOP}_count{{{NEW}}}": count, f'{LOOP}_bucket{{{NEW},le="1.0"}}': below}

    assert judge({**WELL, **values}, {minute: set() for minute in range(END_MINUTES)}, tmp_path) == ""


@pytest.mark.parametrize(
    ("count", "below"),
    [
        pytest.param("103+240x40 9704+240x80", "100+240x40 9700+240x80", id="once"),
        pytest.param("3+240x40 1+240x80", "3+240x40 0+240x80", id="in-the-first-minute-after-a-restart"),
    ],
)
def test_a_loop_that_is_blocked_for_a_second_fires_its_alert(count: str, below: str, tmp_path: Path) -> None:
    values = {f"{LOOP}_count{{{NEW}}}": count, f'{LOOP}_bucket{{{NEW},le="1.0"}}': below}

    expected = {39: set(), 42: {"NeardupEventLoopBlocked"}, 53: set()}
    assert judge({**WELL, **values}, expected, tmp_path) == ""


def test_a_block_that_one_scrape_saw_fires_its_alert_where_rules_are_evaluated_less_often(
    tmp_path: Path,
) -> None:
    """The daemon restarts 15 seconds later; the rules are evaluated each minute."""
    values = {
        f"{LOOP}_count{{{NEW}}}": "0+60x40 2461 0+60x77",
        f'{LOOP}_bucket{{{NEW},le="1.0"}}': "0+60x40 2460 0+60x77",
    }

    expected = {10: set[str](), 12: {"NeardupEventLoopBlocked"}, 25: set[str]()}
    assert judge({**WELL, **values}, expected, tmp_path, scrape_interval="15s") == ""


def test_a_group_that_disappears_fires_its_alert_beside_a_group_that_runs(tmp_path: Path) -> None:
    gone = {'up{job="neardup-crawl",instance="b"}': "1x9 stale"}

    assert judge({**WELL, **gone}, {9: set(), 14: set(), 16: {"NeardupAbsent"}}, tmp_path) == ""


def test_the_metrics_of_a_query_api_are_no_group_of_daemons(tmp_path: Path) -> None:
    gone = {'up{job="neardup-api",instance="b"}': "1x9 stale"}

    assert judge({**WELL, **gone}, {minute: set() for minute in (9, 16, 60)}, tmp_path) == ""


def test_a_rolling_update_of_four_daemons_fires_none(tmp_path: Path) -> None:
    """Every daemon of the moment counts each rebalance; those that stopped are no longer counted."""
    pods = {
        "old-1": ("1000x20 stale", "10x20 stale"),
        "old-2": ("1000x22 stale", "10x20 11 12 stale"),
        "old-3": ("1000x24 stale", "10x20 11 12 13 14 stale"),
        "old-4": ("1000x26 stale", "10x20 11 12 13 14 15 16 stale"),
        "new-1": ("_x21 1320x99", "_x21 1 2 3 4 5 6 7x93"),
        "new-2": ("_x23 1440x97", "_x23 1 2 3 4 5x93"),
        "new-3": ("_x25 1560x95", "_x25 1 2 3x93"),
        "new-4": ("_x27 1680x93", "_x27 1x93"),
    }
    update = {
        f'{name}{{job="neardup-rolling",instance="{pod}"}}': values
        for pod, both in pods.items()
        for name, values in zip(("process_start_time_seconds", "neardup_rebalances_total"), both, strict=True)
    }

    assert judge({**WELL, **update}, {minute: set() for minute in range(END_MINUTES)}, tmp_path) == ""


def test_rebalances_without_a_start_fire_in_a_group_of_any_size(tmp_path: Path) -> None:
    storm = {
        f'{name}{{job="neardup-storm",instance="{number}"}}': values
        for number in range(12)
        for name, values in (
            ("process_start_time_seconds", "0x120"),
            ("neardup_rebalances_total", "1x39 2+1x80"),
        )
    }

    assert judge({**WELL, **storm}, {39: set(), 50: {"NeardupRebalancing"}}, tmp_path) == ""


def test_an_outage_fires_without_a_break_though_daemons_exit_and_are_restarted(tmp_path: Path) -> None:
    """After a `pipeline.retry_deadline_seconds` of 300, with the pauses of Kubernetes between the starts."""
    waits = "0x9 1x4 stale 1x4 stale _x1 1x4 stale _x2 1x4 stale _x4 1x4 stale _x4 1x4"
    outage = {'neardup_state{job="neardup-crawl",instance="b",state="degraded"}': waits}

    expected = {minute: {"NeardupDependencyUnavailable"} for minute in range(14, 50)}
    assert judge({**WELL, **outage}, {12: set(), **expected}, tmp_path) == ""
