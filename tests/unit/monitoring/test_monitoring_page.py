"""The page about monitoring names panels, metrics and tests that exist."""

import re
from pathlib import Path
from typing import get_args

import pytest
from neardup_daemon.metrics import Metrics

from monitoring.grafana import BOARDS
from monitoring.panels import panels_of
from neardup_stream.meters import Stage

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
TABLE = PAGE[PAGE.index("| question |") :].partition("\n\n")[0].splitlines()[2:]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TABLE]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_question_is_answered_by_panels_metrics_and_a_test_that_exist(row: list[str]) -> None:
    _, panels, metrics, test = row
    titles = {panel.title for board in BOARDS for panel in panels_of(board)}
    families = {family.name for family in Metrics(top_sites=1).registry.prometheus.collect()}

    assert set(panels.split("; ")) <= titles
    assert {name.removesuffix("_total") for name in re.findall("`([^`]+)`", metrics)} <= families
    assert any(f"def {test.strip('`')}(" in file.read_text() for file in (ROOT / "tests").rglob("test_*.py"))


def test_eleven_questions_are_asked() -> None:
    assert len(ROWS) == 11


def test_the_number_of_alerts_is_the_one_reported() -> None:
    rules = (ROOT / "deploy/prometheus/alerts.yml").read_text()
    assert f"{rules.count('- alert:')} alerts" in PAGE.replace("\n", " ")


def test_the_table_of_spans_names_every_stage_that_has_one() -> None:
    _, _, table = PAGE.partition("| span | holds |")

    without_span = ("read", "extract")
    named = [stage for stage in get_args(Stage) if stage not in without_span]
    assert [stage for stage in named if f"`{stage}`" not in table] == []
