"""Pictures of the dashboards, drawn from what a Prometheus answers; no Grafana is needed."""

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from monitoring.drawing import Box, Drawn, draw_panel
from monitoring.panels import Board, Panel
from tests.servers.prometheus import Prometheus, Series

__all__ = ["draw_board", "fill_in", "write_pictures"]

COLUMN, LINE, GAP, MARGIN = 60, 30, 6, 12
STAT_LINES, PANEL_LINES, ROW_LINES = 4, 8, 1
COLUMNS: Final = 24
POINTS: Final = 60


def fill_in(expr: str, rate_seconds: float, range_seconds: float) -> str:
    """Return an expression with Grafana's variables replaced; every job counts."""
    variables = {
        "$job": ".*",
        "$__rate_interval": f"{rate_seconds:.0f}s",
        "$__range": f"{range_seconds:.0f}s",
    }
    for name, value in variables.items():
        expr = expr.replace(name, value)
    return expr


def draw_board(board: Board, prometheus: Prometheus, seconds: float, rate_seconds: float) -> str:
    """Return an SVG document of a dashboard over the last `seconds`."""
    end_seconds = time.time()
    ends = tuple(time.strftime("%H:%M", time.gmtime(at)) for at in (end_seconds - seconds, end_seconds))
    elements: list[str] = []
    y = 0
    for row in board.rows:
        elements.append(_row_title(row.title, y))
        y += ROW_LINES
        x = height = 0
        for panel in row.panels:
            lines = STAT_LINES if panel.kind == "stat" else PANEL_LINES
            if x + panel.width > COLUMNS:
                x, y, height = 0, y + height, 0
            box = Box(MARGIN + x * COLUMN, MARGIN + y * LINE, panel.width * COLUMN - GAP, lines * LINE - GAP)
            series = list(_series(panel, prometheus, seconds, rate_seconds))
            elements += draw_panel(panel, series, box, (ends[0], ends[1]))
            x, height = x + panel.width, max(height, lines)
        y += height
    width = COLUMNS * COLUMN + 2 * MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y * LINE + 2 * MARGIN}"'
        f' font-family="sans-serif" font-size="11" fill="#24292e">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="#f4f5f5"/>', *elements, "</svg>", ""])


def write_pictures(boards: Sequence[Board], prometheus: Prometheus, directory: Path, seconds: float) -> None:
    """Write `<uid>.svg` for each board."""
    for board in boards:
        picture = draw_board(board, prometheus, seconds, rate_seconds=max(10.0, seconds / 20))
        (directory / f"{board.uid}.svg").write_text(picture, encoding="utf-8")


def _series(panel: Panel, prometheus: Prometheus, seconds: float, rate_seconds: float) -> Iterator[Drawn]:
    begin = time.time() - seconds
    for query in panel.queries:
        expr = fill_in(query.expr, rate_seconds, seconds)
        found = prometheus.query(expr, seconds, step_seconds=max(1.0, seconds / POINTS))
        for series in sorted(found, key=lambda each: sorted(each.labels.items())):
            if series.points:
                points = [(min(1.0, max(0.0, (at - begin) / seconds)), value) for at, value in series.points]
                yield Drawn(_name(query.legend, series), points)


def _name(legend: str, series: Series) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda label: series.labels.get(label[1], ""), legend)


def _row_title(title: str, y: int) -> str:
    return f'<text x="{MARGIN}" y="{MARGIN + y * LINE + 20}" font-size="15" font-weight="600">{title}</text>'
