"""The dashboards that are shipped: as the code makes them, whole, and in good shape."""

import json
import re
from itertools import combinations
from typing import Any

import pytest
from neardup_daemon.metrics import Metrics

from monitoring.grafana import BOARDS, DIRECTORY, to_json
from monitoring.panels import Board, Panel, Query, panels_of

PANELS = [
    pytest.param(panel, id=f"{board.uid}: {panel.title}") for board in BOARDS for panel in panels_of(board)
]


def shipped(board: Board) -> Any:
    return json.loads((DIRECTORY / f"{board.uid}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_the_files_are_what_the_code_makes(board: Board) -> None:
    file = DIRECTORY / f"{board.uid}.json"
    assert file.read_text(encoding="utf-8") == to_json(board), "run `make dashboards`"


def test_no_other_file_is_shipped() -> None:
    assert {file.stem for file in DIRECTORY.iterdir()} == {board.uid for board in BOARDS}


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_panels_lie_beside_each_other_within_24_columns(board: Board) -> None:
    places = [panel["gridPos"] for panel in shipped(board)["panels"]]

    assert all(place["x"] + place["w"] <= 24 for place in places)
    assert not [(one, other) for one, other in combinations(places, 2) if overlap(one, other)]


def overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return (
        one["x"] < other["x"] + other["w"]
        and other["x"] < one["x"] + one["w"]
        and one["y"] < other["y"] + other["h"]
        and other["y"] < one["y"] + one["h"]
    )


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_every_panel_asks_the_prometheus_that_was_chosen(board: Board) -> None:
    dashboard = shipped(board)

    assert [variable["name"] for variable in dashboard["templating"]["list"]] == ["datasource", "job"]
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    assert {panel["datasource"]["uid"] for panel in panels} == {"${datasource}"}
    assert len({panel["id"] for panel in panels}) == len(panels)


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_says_what_it_means(panel: Panel) -> None:
    assert panel.description.endswith(".")
    assert panel.queries
    several = len(panel.queries) > 1
    assert all(query.legend or not several for query in panel.queries)


@pytest.mark.parametrize("panel", PANELS)
def test_every_selector_has_the_job_and_every_rate_the_interval_of_the_panel(panel: Panel) -> None:
    for query in panel.queries:
        selected = re.findall(r"\b(?:neardup|process)_\w+(\{[^}]*\})?", query.expr)
        joined = "neardup_service_info)" in query.expr
        assert all('job=~"$job"' in labels for labels in selected[: len(selected) - joined])
        assert set(re.findall(r"\[([^]]+)\]", query.expr)) <= {"$__rate_interval", "$__range"}


def test_every_metric_is_on_a_dashboard() -> None:
    """But those that only say what there is to be known elsewhere."""
    elsewhere = {"neardup_page_bytes"}  # shown per record as well
    exprs = " ".join(query.expr for query in all_queries())
    families = {family.name for family in Metrics(top_sites=1).registry.prometheus.collect()}
    ours = {name for name in families if name.startswith("neardup_")} - elsewhere

    assert {name for name in ours if name not in exprs} == set()


def all_queries() -> list[Query]:
    return [query for board in BOARDS for panel in panels_of(board) for query in panel.queries]
