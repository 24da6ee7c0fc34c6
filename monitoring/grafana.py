"""Dashboards as Grafana's JSON: `python -m monitoring.grafana` writes the files of `deploy/grafana`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from grafana_foundation_sdk.builders import bargauge, common, prometheus, stat, statetimeline, timeseries
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as common_models
from grafana_foundation_sdk.models import dashboard as models

from monitoring.crawl_owners import CRAWL_OWNERS
from monitoring.operators import OPERATORS
from monitoring.panels import Board, Kind, Panel, Row

__all__ = ["BOARDS", "DIRECTORY", "to_json"]

BOARDS: Final = (OPERATORS, CRAWL_OWNERS)

DIRECTORY: Final = Path(__file__).parents[1] / "deploy" / "grafana" / "dashboards"
"""Where Grafana's provisioning finds the files."""

_Builder = timeseries.Panel | stat.Panel | bargauge.Panel | statetimeline.Panel

_STAT_HEIGHT, _HEIGHT = 4, 8
_SOURCE: Final = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
_ALERTS: Final = 'ALERTS{alertname=~"Neardup.*", alertstate="firing", job=~"$job"}'
_BUILDERS: Final[Mapping[Kind, type[_Builder]]] = {
    "timeseries": timeseries.Panel,
    "stat": stat.Panel,
    "bargauge": bargauge.Panel,
    "statetimeline": statetimeline.Panel,
}


def to_json(board: Board) -> str:
    """Return the file of a dashboard: equal values give equal bytes."""
    dashboard = _frame(board)
    number = 0
    for row in board.rows:
        dashboard.with_row(_row(row))
        for panel in row.panels:
            number += 1
            dashboard.with_panel(_panel(panel, number))
    return JSONEncoder(sort_keys=True, indent=2).encode(dashboard.build()) + "\n"


def _frame(board: Board) -> builders.Dashboard:
    """Everything around the panels."""
    return (
        builders.Dashboard(board.title)
        .uid(board.uid)
        .description(board.description)
        .tags(["neardup-stream"])
        .time("now-1h", "now")
        .refresh("30s")
        .timezone("browser")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .link(
            builders.DashboardLink("neardup-stream")
            .type(models.DashboardLinkType.DASHBOARDS)
            .tags(["neardup-stream"])
            .keep_time(True)
        )
        .with_variable(builders.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
        .with_variable(
            builders.QueryVariable("job")
            .label("Job")
            .query("label_values(neardup_build_info, job)")
            .datasource(_SOURCE)
            .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
            .include_all(True)
            .multi(True)
        )
        .annotation(
            builders.AnnotationQuery()
            .name("Alerts")
            .datasource(_SOURCE)
            .enable(True)
            .icon_color("red")
            .expr(_ALERTS)
        )
    )


def _row(row: Row) -> builders.Row:
    return builders.Row(row.title)


def _panel(panel: Panel, number: int) -> _Builder:
    built = _BUILDERS[panel.kind]()
    built.id(number).title(panel.title).description(panel.description).unit(panel.unit).datasource(_SOURCE)
    built.span(panel.width).height(_STAT_HEIGHT if panel.kind == "stat" else _HEIGHT)
    for query, ref_id in zip(panel.queries, "ABCDEFGH", strict=False):
        target = (
            prometheus.Dataquery().ref_id(ref_id).expr(query.expr).legend_format(query.legend or "__auto")
        )
        built.with_target(target.instant() if panel.kind == "bargauge" else target.range())
    if panel.warn_above is not None:
        built.thresholds(_warning_above(panel.warn_above))
    if isinstance(built, timeseries.Panel):
        built.fill_opacity(20 if panel.is_stacked else 5).show_points(common_models.VisibilityMode.NEVER)
        if panel.unit != "none" and not panel.may_be_negative:
            built.min(0)
        if panel.is_stacked:
            built.stacking(common.StackingConfig().mode(common_models.StackingMode.NORMAL))
    if isinstance(built, bargauge.Panel):
        built.orientation(common_models.VizOrientation.HORIZONTAL)
    return built


def _warning_above(value: float) -> builders.ThresholdsConfig:
    steps = [models.Threshold(value=None, color="green"), models.Threshold(value=value, color="orange")]
    return builders.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps)


def main() -> None:
    """Write every dashboard."""
    for board in BOARDS:
        (DIRECTORY / f"{board.uid}.json").write_text(to_json(board), encoding="utf-8")


if __name__ == "__main__":
    main()
