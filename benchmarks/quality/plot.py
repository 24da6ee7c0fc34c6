"""Curves of recall, drawn as SVG by hand: the same figures make the same bytes."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

__all__ = ["Axis", "Point", "draw_curves", "evenly_spaced"]

LEFT, TOP, WIDTH, HEIGHT = 60, 24, 460, 300
LEGEND_LEFT = LEFT + WIDTH + 24
LEGEND_LINE = 22
RECALL_STEPS = 5
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5c5c5c", "#000000")
"""Of Okabe and Ito, which color-blind readers can distinguish too."""


class Axis(NamedTuple):
    """What runs from left to right.

    Attributes:
        label: stands below it.
        ticks: label of each, by its place in [0, 1].
        height_label: what runs from bottom to top.
    """

    label: str
    ticks: Mapping[float, str]
    height_label: str = "recall"


class Point(NamedTuple):
    """A place on the axis and a height, both in [0, 1]."""

    place: float
    height: float


def evenly_spaced(heights: Sequence[float]) -> list[Point]:
    """Return points at even distances, from one end of the axis to the other."""
    return [Point(number / (len(heights) - 1), height) for number, height in enumerate(heights)]


def draw_curves(axis: Axis, curves: Mapping[str, Sequence[Point]]) -> str:
    """Return an SVG document.

    Args:
        axis: of all curves.
        curves: by name, at most eight.
    """
    drawn = [
        *_grid(axis),
        *(
            element
            for number, (name, points) in enumerate(curves.items())
            for element in _curve(points, name, COLORS[number], TOP + 8 + LEGEND_LINE * number)
        ),
    ]
    size = f'width="{LEGEND_LEFT + 320}" height="{TOP + HEIGHT + 60}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="#fff"/>', *drawn, "</svg>", ""])


def _grid(axis: Axis) -> list[str]:
    lines = []
    for step in range(RECALL_STEPS + 1):
        recall = step / RECALL_STEPS
        lines.append(f'<path d="M{LEFT} {_down(recall):.1f}h{WIDTH}" stroke="#ddd"/>')
        lines.append(_text(LEFT - 8, _down(recall) + 4, f"{recall:.1f}", "end"))
    lines += [
        _text(_across(place), TOP + HEIGHT + 20, label, "middle") for place, label in axis.ticks.items()
    ]
    lines.append(_text(LEFT + WIDTH / 2, TOP + HEIGHT + 44, axis.label, "middle"))
    lines.append(_text(LEFT - 8, TOP - 10, axis.height_label, "end"))
    return lines


def _curve(points: Sequence[Point], name: str, color: str, height: float) -> list[str]:
    places = " ".join(f"{_across(point.place):.1f},{_down(point.height):.1f}" for point in points)
    return [
        f'<polyline points="{places}" fill="none" stroke="{color}" stroke-width="2"/>',
        f'<path d="M{LEGEND_LEFT} {height - 4}h24" stroke="{color}" stroke-width="3"/>',
        _text(LEGEND_LEFT + 32, height, name, "start"),
    ]


def _across(place: float) -> float:
    return LEFT + WIDTH * place


def _down(recall: float) -> float:
    return TOP + HEIGHT * (1 - recall)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
