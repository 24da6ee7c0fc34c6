"""One panel as SVG, drawn by hand: the same values make the same bytes."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import pairwise
from math import ceil, floor, log10
from typing import NamedTuple

from monitoring.panels import Panel
from monitoring.values import show

__all__ = ["Box", "Drawn", "draw_panel"]

COLORS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#8c564b",
    "#5c5c5c",
    "#1b9e9e",
    "#9467bd",
    "#7f9f00",
    "#b00040",
    "#004060",
)
"""The first colors of Okabe and Ito, which color-blind readers can distinguish too."""

_STATE_COLORS = {
    "ready": "#009e73",
    "starting": "#56b4e9",
    "draining": "#cc79a7",
    "degraded": "#e69f00",
    "stalled": "#d55e00",
}

HEADER, LEFT, BOTTOM, PAD = 34, 64, 20, 10
LEGEND_LINE, LEGEND_COLUMNS, LEGEND_ENTRIES = 15, 3, 15
BAR_LINE = 19
LETTER = 6.2
GRID_LINES = 4


class Box(NamedTuple):
    """Where a panel is, in pixels."""

    x: float
    y: float
    width: float
    height: float


class Drawn(NamedTuple):
    """One series: its legend, and its values by time in [0, 1]."""

    name: str
    points: Sequence[tuple[float, float]]

    @property
    def last(self) -> float:
        """The latest value."""
        return self.points[-1][1]


def draw_panel(panel: Panel, series: Sequence[Drawn], box: Box, ends: tuple[str, str]) -> list[str]:
    """Return the elements of a panel.

    Args:
        panel: what it shows.
        series: in the order of their colours.
        box: where it stands.
        ends: labels of the begin and the end of the time axis.
    """
    frame = [
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="3" fill="#fff" stroke="#d8d9da"/>',
        _text(box.x + PAD, box.y + 18, panel.title, "start", "font-weight:600"),
    ]
    if not series:
        return [*frame, _text(box.x + box.width / 2, box.y + box.height / 2, "No data", "middle")]
    match panel.kind:
        case "stat":
            return frame + _stat(panel, series, box)
        case "bargauge":
            return frame + _bars(panel, series, box)
        case "statetimeline":
            return frame + _states(series, box)
        case "timeseries":
            return frame + _curves(panel, series, box, ends)


def _stat(panel: Panel, series: Sequence[Drawn], box: Box) -> list[str]:
    width = box.width / len(series)
    elements = []
    for number, each in enumerate(series):
        middle = box.x + width * (number + 0.5)
        warns = panel.warn_above is not None and each.last >= panel.warn_above
        style = f"font-size:{26 if len(series) < 3 else 15}px;fill:{'#d55e00' if warns else '#009e73'}"
        elements.append(_text(middle, box.y + 70, show(each.last, panel.unit), "middle", style))
        if each.name:
            elements.append(_text(middle, box.y + 96, _cut(each.name, width), "middle"))
    return elements


def _bars(panel: Panel, series: Sequence[Drawn], box: Box) -> list[str]:
    largest = max((each.last for each in series), default=0) or 1
    elements = []
    room = box.width - 2 * PAD - 190
    shown = sorted(series, key=lambda each: -each.last)[: int((box.height - HEADER) / BAR_LINE)]
    for number, each in enumerate(shown):
        y = box.y + HEADER + 8 + number * BAR_LINE
        left = box.x + PAD + 120
        elements += [
            _text(left - 6, y + 11, _cut(each.name, 120), "end"),
            f'<rect x="{left}" y="{y}" width="{room * each.last / largest:.1f}" height="13" fill="{COLORS[0]}"/>',
            _text(left + room * each.last / largest + 5, y + 11, show(each.last, panel.unit), "start"),
        ]
    return elements


def _states(series: Sequence[Drawn], box: Box) -> list[str]:
    """Each series is `instance state`: one line for an instance, one colour for a state."""
    lines: dict[str, list[tuple[str, Drawn]]] = {}
    for each in series:
        instance, _, state = each.name.rpartition(" ")
        lines.setdefault(instance, []).append((state, each))
    left, room = box.x + PAD + 110, box.width - 2 * PAD - 110
    elements = []
    for number, (instance, of_instance) in enumerate(lines.items()):
        y = box.y + HEADER + 10 + number * (BAR_LINE + 10)
        elements.append(_text(left - 6, y + 14, _cut(instance, 110), "end"))
        for state, each in of_instance:
            color = _STATE_COLORS.get(state, COLORS[-1])
            for begin, end in _runs(each.points):
                x, width = left + room * begin, room * (end - begin)
                elements.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="20" fill="{color}"/>')
    names = {
        state: _STATE_COLORS.get(state, COLORS[-1])
        for of_instance in lines.values()
        for state, _ in of_instance
    }
    return elements + _legend(names, box)


def _runs(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Begin and end of each stretch without a gap."""
    times = [at for at, _ in points]
    step = min((after - before for before, after in pairwise(times)), default=0.01)
    runs: list[tuple[float, float]] = []
    for at in times:
        if runs and at <= runs[-1][1] + step / 2:
            runs[-1] = (runs[-1][0], at + step)
        else:
            runs.append((at, at + step))
    return [(begin, min(1.0, end)) for begin, end in runs]


def _curves(panel: Panel, series: Sequence[Drawn], box: Box, ends: tuple[str, str]) -> list[str]:
    shown = _stacked(series) if panel.is_stacked else [list(each.points) for each in series]
    values = [value for points in shown for _, value in points]
    step = _round_step((max(values) - min(0.0, *values)) / GRID_LINES)
    top = max(step, ceil(max(values) / step) * step)
    bottom = min(0.0, floor(min(values) / step) * step)
    legend_lines = -(-min(len(series), LEGEND_ENTRIES) // LEGEND_COLUMNS)
    height = box.height - HEADER - BOTTOM - legend_lines * LEGEND_LINE - 4
    plot = Box(box.x + LEFT, box.y + HEADER, box.width - LEFT - PAD, height)

    def down(value: float) -> float:
        return plot.y + plot.height * (1 - (value - bottom) / (top - bottom))

    elements = _grid(
        panel, plot, [bottom + step * line for line in range(round((top - bottom) / step) + 1)], down
    )
    elements += [
        _text(plot.x, plot.y + plot.height + 14, ends[0], "start"),
        _text(plot.x + plot.width, plot.y + plot.height + 14, ends[1], "end"),
    ]
    for number, points in reversed(list(enumerate(shown))):
        color = COLORS[number % len(COLORS)]
        places = " ".join(f"{plot.x + plot.width * at:.0f},{down(value):.1f}" for at, value in points)
        if panel.is_stacked and points:
            base = f"{plot.x + plot.width * points[-1][0]:.0f},{down(0):.1f} {plot.x + plot.width * points[0][0]:.0f},{down(0):.1f}"
            elements.append(f'<polygon points="{places} {base}" fill="{color}" fill-opacity=".35"/>')
        elements.append(f'<polyline points="{places}" fill="none" stroke="{color}" stroke-width="1.5"/>')
    return elements + _legend(
        {each.name: COLORS[number % len(COLORS)] for number, each in enumerate(series)}, box
    )


def _stacked(series: Sequence[Drawn]) -> list[list[tuple[float, float]]]:
    """Each series on those before it, at the times of its own points."""
    sums: dict[float, float] = {}
    stacked = []
    for each in series:
        for at, value in each.points:
            sums[at] = sums.get(at, 0.0) + value
        stacked.append([(at, sums[at]) for at, _ in each.points])
    return stacked


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10 … that is not below `least`, in whatever magnitude."""
    if least <= 0:
        return 1.0
    magnitude = 10.0 ** floor(log10(least))
    return next(factor * magnitude for factor in (1, 2, 5, 10) if factor * magnitude >= least * (1 - 1e-9))


def _grid(panel: Panel, plot: Box, values: Sequence[float], down: Callable[[float], float]) -> list[str]:
    elements = []
    for value in values:
        y = down(value)
        elements.append(f'<path d="M{plot.x:.0f} {y:.1f}h{plot.width:.0f}" stroke="#eee"/>')
        elements.append(_text(plot.x - 5, y + 4, show(value, panel.unit), "end"))
    return elements


def _legend(colors: Mapping[str, str], box: Box) -> list[str]:
    named = [(name, color) for name, color in colors.items() if name][:LEGEND_ENTRIES]
    lines = -(-len(named) // LEGEND_COLUMNS)
    width = (box.width - 2 * PAD) / LEGEND_COLUMNS
    elements = []
    for number, (name, color) in enumerate(named):
        line, column = divmod(number, LEGEND_COLUMNS)
        x = box.x + PAD + column * width
        y = box.y + box.height - 6 - (lines - 1 - line) * LEGEND_LINE
        elements.append(f'<path d="M{x:.0f} {y - 4:.0f}h12" stroke="{color}" stroke-width="3"/>')
        elements.append(_text(x + 16, y, _cut(name, width - 18), "start"))
    return elements


def _cut(text: str, width: float) -> str:
    letters = int(width / LETTER)
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def _text(x: float, y: float, text: str, anchor: str, style: str = "") -> str:
    styled = f' style="{style}"' if style else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{styled}>{escape(text)}</text>'
