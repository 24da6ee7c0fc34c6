"""A dashboard as plain values, before it is Grafana's JSON or a picture."""

from typing import Literal, NamedTuple

__all__ = ["Board", "Kind", "Panel", "Query", "Row", "Unit", "panels_of"]

Kind = Literal["timeseries", "stat", "bargauge", "statetimeline"]
Unit = Literal["short", "s", "ms", "percentunit", "bytes", "Bps", "cps", "none"]
"""Grafana's names; `cps` is a count per second."""


class Query(NamedTuple):
    """What a panel asks Prometheus.

    Attributes:
        expr: PromQL, with Grafana's variables `$job`, `$__rate_interval` and `$__range`.
        legend: names each series; `{{label}}` stands for its value.
    """

    expr: str
    legend: str = ""


class Panel(NamedTuple):
    """One panel.

    Attributes:
        title: what is shown.
        description: what it means, and what to do where it looks bad.
        unit: of the values.
        queries: at least one.
        kind: how it is drawn.
        width: of 24 columns.
        is_stacked: whether series stand on each other.
        may_be_negative: else the axis begins at 0, but for numbers without a unit.
        warn_above: from here on a stat is orange; None for never.
    """

    title: str
    description: str
    unit: Unit
    queries: tuple[Query, ...]
    kind: Kind = "timeseries"
    width: int = 8
    is_stacked: bool = False
    may_be_negative: bool = False
    warn_above: float | None = None


class Row(NamedTuple):
    """Panels that answer one question."""

    title: str
    panels: tuple[Panel, ...]


class Board(NamedTuple):
    """One dashboard.

    Attributes:
        uid: stable part of its address in Grafana, and the name of its file.
        title: in Grafana's list.
        description: for whom it is.
        rows: from top to bottom.
    """

    uid: str
    title: str
    description: str
    rows: tuple[Row, ...]


def panels_of(board: Board) -> list[Panel]:
    """Return all panels, from top to bottom."""
    return [panel for row in board.rows for panel in row.panels]
