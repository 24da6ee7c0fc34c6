"""The alerts that are shipped: each has its section in the docs, and asks for what exists."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from neardup_daemon.metrics import Metrics

ROOT = Path(__file__).parents[3]
RULES = [
    rule
    for group in yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
ALERTS = [pytest.param(rule, id=rule["alert"]) for rule in RULES if "alert" in rule]
DOCS = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")


def test_the_docs_have_a_section_for_every_alert_and_for_no_other() -> None:
    assert re.findall(r"^## (\w+)$", DOCS, re.MULTILINE) == [alert.id for alert in ALERTS]


@pytest.mark.parametrize("rule", ALERTS)
def test_an_alert_names_its_section_which_says_what_to_look_at_and_what_to_do(rule: dict[str, Any]) -> None:
    section = DOCS.partition(f"## {rule['alert']}\n")[2].partition("\n## ")[0]

    assert rule["annotations"]["runbook"] == f"docs/troubleshooting.md#{rule['alert'].lower()}"
    assert re.findall(r"^\*\*(.+?)\*\*:", section, re.MULTILINE) == ["Symptom", "Look at", "Remedy"]
    assert rule["labels"]["severity"] in {"critical", "warning"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.get("alert") or rule.get("record"))
def test_every_metric_of_a_rule_exists(rule: dict[str, Any]) -> None:
    families = Metrics().registry.prometheus.collect()
    exposed = {
        name
        for family in families
        for name in (family.name, *(family.name + end for end in ("_total", "_bucket", "_count", "_sum")))
    }
    recorded = {each["record"] for each in RULES if "record" in each}

    asked = set(re.findall(r"(?:job:)?(?:neardup|process)_[\w:]+", rule["expr"]))
    assert asked <= exposed | recorded
