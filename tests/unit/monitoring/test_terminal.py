"""The animated terminal: what is recorded, and what is drawn of it."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from monitoring.terminal import COLUMNS, LINE_HEIGHT, ROWS, Line, draw, lines_of

SVG = "{http://www.w3.org/2000/svg}"


def texts(drawn: str) -> list[str]:
    return [each.text or "" for each in ET.fromstring(drawn).iter(f"{SVG}text")]  # noqa: S314 - ours


def places(drawn: str, name: str) -> list[int]:
    """Where each step of an animation moves something."""
    (frames,) = re.findall(rf"@keyframes {name}{{(.*)}}", drawn)
    return [int(place) for place in re.findall(r"translateY\((-?\d+)px\)", frames)]


def test_control_characters_and_what_a_progress_bar_has_overwritten_are_not_recorded() -> None:
    parts: Iterator[bytes] = iter([b"10 %\r20 %\r\x1b[1mdo", b"ne\x1b[0m  \r\n\r\nlast\r\n", b""])

    assert [line.text for line in lines_of(lambda: next(parts))] == ["done", "", "last"]


def test_every_line_is_drawn_as_text_and_long_ones_in_parts() -> None:
    drawn = draw([Line("$ a < b & c", 1.0, is_command=True), Line("x" * (COLUMNS + 3), 0.1)])

    assert texts(drawn) == ["$ a < b & c", "x" * COLUMNS, "xxx"]
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")


def test_lines_are_uncovered_one_after_the_other_and_scroll_once_the_terminal_is_full() -> None:
    drawn = draw([Line(f"line {number}", 0.5) for number in range(ROWS + 2)])

    assert places(drawn, "shown") == [number * LINE_HEIGHT for number in range(ROWS + 3)]
    assert places(drawn, "scroll") == [0, -LINE_HEIGHT, -2 * LINE_HEIGHT]


def test_waiting_is_cut_short_and_who_asks_for_less_motion_sees_the_end() -> None:
    drawn = draw([Line("slow", 1000.0), Line("end", 1000.0)])

    (seconds,) = re.findall(r"animation: shown ([\d.]+)s", drawn)
    assert float(seconds) < 10
    assert "prefers-reduced-motion: reduce" in drawn
