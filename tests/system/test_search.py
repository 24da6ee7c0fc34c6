"""`plan search` and `search`: what a term search takes, and which pages hold terms."""

import json

from tests.system.conftest import call


def test_plan_search_prints_the_worked_example_and_the_exact_values() -> None:
    planned = call(
        "plan", "search", "--pages", "741856", "--terms", "182", "--slices", "8", "--false-drops", "1"
    )
    refused = call("plan", "search", "--pages", "10", "--terms", "182", "--false-drops", "10")

    assert planned.returncode == 0, planned.stderr
    facts = json.loads(planned.stdout)
    assert (facts["bits_set"], facts["approximate"]["width"]) == (1456, 7134)
    assert facts["approximate"]["bytes"] == 661_550_088
    assert facts["least"]["width"] == 7136
    assert facts["lengths"]["one_width_false_drops"] > 50
    assert refused.returncode == 2
    assert b"false_drops is 10.0" in refused.stderr
