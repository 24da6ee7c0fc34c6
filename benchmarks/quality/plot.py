"""Recall against the number of edited words, drawn as SVG by hand: the same figures make the same bytes."""

from collections.abc import Mapping, Sequence
from html import escape

__all__ = ["draw_curves"]

LEFT, TOP, WIDTH, HEIGHT = 60, 24, 460, 300
LEGEND_LEFT = LEFT + WIDTH + 24
LEGEND_LINE = 22
RECALL_STEPS = 5
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5c5c5c", "#000000")
"""Of Okabe and Ito, which are told apart by all eyes."""


def draw_curves(edited_words: Sequence[int], recalls: Mapping[str, Sequence[float]]) -> str:
    """An SVG document with one curve a setting.

    Args:
        edited_words: of each point, ascending; they stand at even distances.
        recalls: by name of the setting, at most eight; in [0, 1], one for each number of words.
    """
    across = [LEFT + WIDTH * place / (len(edited_words) - 1) for place in range(len(edited_words))]
    drawn = [
        *_grid(across, edited_words),
        *(
            element
            for place, (name, values) in enumerate(recalls.items())
            for element in _curve(across, values, name, COLORS[place], TOP + 8 + LEGEND_LINE * place)
        ),
    ]
    size = f'width="{LEGEND_LEFT + 320}" height="{TOP + HEIGHT + 60}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="#fff"/>', *drawn, "</svg>", ""])


def _grid(across: Sequence[float], edited_words: Sequence[int]) -> list[str]:
    lines = []
    for step in range(RECALL_STEPS + 1):
        recall = step / RECALL_STEPS
        lines.append(f'<path d="M{LEFT} {_down(recall):.1f}h{WIDTH}" stroke="#ddd"/>')
        lines.append(_text(LEFT - 8, _down(recall) + 4, f"{recall:.1f}", "end"))
    lines += [
        _text(x, TOP + HEIGHT + 20, str(count), "middle")
        for x, count in zip(across, edited_words, strict=True)
    ]
    lines.append(_text(LEFT + WIDTH / 2, TOP + HEIGHT + 44, "edited words of 500", "middle"))
    lines.append(_text(LEFT - 8, TOP - 10, "recall", "end"))
    return lines


def _curve(
    across: Sequence[float], values: Sequence[float], name: str, color: str, height: float
) -> list[str]:
    points = " ".join(f"{x:.1f},{_down(value):.1f}" for x, value in zip(across, values, strict=True))
    return [
        f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>',
        f'<path d="M{LEGEND_LEFT} {height - 4}h24" stroke="{color}" stroke-width="3"/>',
        _text(LEGEND_LEFT + 32, height, name, "start"),
    ]


def _down(recall: float) -> float:
    return TOP + HEIGHT * (1 - recall)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
