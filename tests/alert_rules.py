"""Judge the alerts by Prometheus' own checker, on the series of a daemon that does its work."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tests.servers.prometheus import promtool

__all__ = ["END_MINUTES", "ME", "RULES", "WELL", "Values", "judge"]

RULES = Path(__file__).parents[1] / "deploy" / "prometheus" / "alerts.yml"
END_MINUTES = 120

Values = Mapping[str, str]
"""Values by series, in promtool's notation: `0+60x120` begins at 0 and rises by 60 each minute."""

ME = 'job="neardup",instance="a"'
WELL: Final[Values] = {
    f"up{{{ME}}}": "1x120",
    f"process_start_time_seconds{{{ME}}}": "1000x120",
    f"process_open_fds{{{ME}}}": "50x120",
    f"process_max_fds{{{ME}}}": "1024x120",
    f'neardup_state{{{ME},state="degraded"}}': "0x120",
    f'neardup_state{{{ME},state="stalled"}}': "0x120",
    f"neardup_topic_partitions{{{ME}}}": "2x120",
    f"neardup_assigned_partitions{{{ME}}}": "2x120",
    f"neardup_rebalances_total{{{ME}}}": "1x120",
    f'neardup_uncommitted_records{{{ME},partition="0"}}': "100x120",
    f'neardup_uncommitted_records{{{ME},partition="1"}}': "120x120",
    f'neardup_lag_seconds{{{ME},partition="0"}}': "3x120",
    f'neardup_limit{{{ME},setting="pipeline.max_in_flight_pages"}}': "2048x120",
    f'neardup_limit{{{ME},setting="index.expected_pages"}}': "1000x120",
    f"neardup_stored_pages{{{ME}}}": "1050x120",
    f'neardup_redis_memory_bytes{{{ME},kind="used"}}': "80x120",
    f'neardup_redis_memory_bytes{{{ME},kind="max"}}': "100x120",
    f"neardup_pages_total{{{ME}}}": "0+1000x120",
    f'neardup_outcomes_total{{{ME},outcome="unique"}}': "0+1000x120",
    f'neardup_outcomes_total{{{ME},outcome="dead_letter"}}': "0+5x120",
    f"neardup_truncated_dead_letters_total{{{ME}}}": "0x120",
    f'neardup_dependency_errors_total{{{ME},reason="out_of_memory"}}': "0x120",
    f'neardup_dependency_errors_total{{{ME},reason="index_lost"}}': "0x120",
    f"neardup_candidates_total{{{ME}}}": "0+1000x120",
    f'neardup_rejected_candidates_total{{{ME},reason="stale"}}': "0+50x120",
    f"neardup_refused_archives{{{ME}}}": "0x120",
    f"neardup_clock_offset_seconds{{{ME}}}": "-2x120",
    f"neardup_bucket_cap_hits_total{{{ME}}}": "0+10x120",
    f'neardup_delivery_delay_seconds_bucket{{{ME},le="300.0"}}': "0+1000x120",
    f'neardup_delivery_delay_seconds_bucket{{{ME},le="900.0"}}': "0+1000x120",
    f'neardup_delivery_delay_seconds_bucket{{{ME},le="+Inf"}}': "0+1000x120",
    f"neardup_delivery_delay_seconds_count{{{ME}}}": "0+1000x120",
    f'neardup_event_loop_delay_seconds_bucket{{{ME},le="1.0"}}': "0+240x120",
    f"neardup_event_loop_delay_seconds_count{{{ME}}}": "0+240x120",
}
"""A daemon that does its work."""


def judge(
    values: Values, expected: Mapping[int, set[str]], directory: Path, scrape_interval: str = "1m"
) -> str:
    """What promtool has against the expectation that these alerts and no others fire at these minutes."""
    file = directory / "test.yml"
    tests = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": scrape_interval,
                "input_series": [{"series": name, "values": each} for name, each in values.items()],
                "promql_expr_test": [_firing(minute, names) for minute, names in expected.items()],
            }
        ],
    }
    file.write_text(yaml.safe_dump(tests))
    answer = promtool("test", "rules", str(file))
    return answer.stdout + answer.stderr if answer.returncode else ""


def _firing(minute: int, names: set[str]) -> dict[str, Any]:
    return {
        "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
        "eval_time": f"{minute}m",
        "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(names)],
    }
