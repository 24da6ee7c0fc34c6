"""Record commands in a terminal, and draw the recording as an animated SVG.

    python -m monitoring.terminal docs/terminal.svg

The commands run in a folder with a made-up crawl that is the same every time. Waiting is cut short.
"""

import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["Line", "draw", "lines_of", "record"]

COLUMNS: Final = 100
ROWS: Final = 24
CHARACTER_WIDTH: Final = 8.1
LINE_HEIGHT: Final = 19
BASELINE: Final = 5
MARGIN: Final = 14
FONT_SIZE: Final = 13
SHORTEST_SECONDS: Final = 0.06
LONGEST_SECONDS: Final = 1.2
"""Between two lines, whatever passed between them."""

TYPING_SECONDS: Final = 1.0
END_SECONDS: Final = 6.0
_PROGRAM: Final = Path(sys.executable).with_name("neardup-stream")
_CONTROLS: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PAIR: Final = (0.75, 0.9)
"""Resemblance of the two pages that are compared: alike, and not the same."""


class Line(NamedTuple):
    """A line of a recording.

    Attributes:
        text: without control characters.
        seconds: since the line before.
        is_command: whether it was typed.
    """

    text: str
    seconds: float
    is_command: bool = False


def main() -> None:
    """Record the commands and write the picture to the path on the command line."""
    (path,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        made = [str(_PROGRAM), "demo", "--write", "crawl.jsonl"]
        subprocess.run(made, cwd=folder, check=True, capture_output=True)  # noqa: S603 - a program of ours
        lines = [line for command in _commands(Path(folder)) for line in record(command, folder)]
    Path(path).write_text(draw(lines), encoding="utf-8")
    print(f"{path}: {len(lines)} lines, {Path(path).stat().st_size:,} bytes")


def _commands(folder: Path) -> Iterator[str]:
    """Yield what is typed; the later commands name pages that the earlier ones have found."""
    yield "neardup-stream dedup crawl.jsonl --events duplicates.jsonl --state index --set log.level=warning"
    page, other = _alike(folder / "duplicates.jsonl")
    yield f"neardup-stream query {page} --state index --set log.level=warning"
    yield f"neardup-stream explain {page} {other} --state index --set log.level=warning"


def _alike(events: Path) -> tuple[str, str]:
    """Return two pages that are near-duplicates, of a cluster of two."""
    for line in events.read_text(encoding="utf-8").splitlines():
        data = json.loads(line)["data"]
        matches = data.get("matches", [])
        if data.get("cluster", {}).get("size") == len(matches) + 1 == 2:
            least, most = _PAIR
            if least < matches[0]["resemblance"] < most:
                return data["page"]["id"], matches[0]["id"]
    raise ValueError(f"{events} has no page that is alike by {_PAIR}")


def record(command: str, folder: str) -> Iterator[Line]:
    """Run a command in a terminal without colours, and yield it and the lines that it prints.

    Raises:
        RuntimeError: it failed.
    """
    yield Line(f"$ {command.replace(' --set log.level=warning', '')}", TYPING_SECONDS, is_command=True)
    program, *words = command.split()
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.update(TERM="dumb", NO_COLOR="1", COLUMNS=str(COLUMNS), LINES=str(ROWS))
        os.execv(_PROGRAM, [program, *words])  # noqa: S606 - a program of ours
    yield from lines_of(lambda: _read(terminal))
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    if status:
        raise RuntimeError(f"{command} ended with {os.waitstatus_to_exitcode(status)}")


def _read(terminal: int) -> bytes:
    """Return what comes next; nothing at the end, which Linux reports as an error."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def lines_of(read: Callable[[], bytes]) -> Iterator[Line]:
    """Yield the lines of what a terminal shows, as they end.

    Args:
        read: returns what comes next, and nothing at the end.
    """
    rest, before = b"", time.monotonic()
    while data := read():
        *whole, rest = (rest + data).split(b"\n")
        now = time.monotonic()
        for each in whole:
            text = _CONTROLS.sub("", each.decode().rstrip("\r")).rpartition("\r")[2].rstrip()
            yield Line(text, now - before)
            before = now


def draw(lines: Sequence[Line]) -> str:
    """Return an SVG in which the lines appear one after the other, and the first ones scroll out.

    A reader who asks for less motion sees the end.
    """
    rows = [row for line in lines for row in _wrapped(line)]
    pauses = [min(max(row.seconds, SHORTEST_SECONDS), LONGEST_SECONDS) for row in rows]
    times = list(accumulate(pauses))
    duration = times[-1] + END_SECONDS
    width = round(COLUMNS * CHARACTER_WIDTH) + 2 * MARGIN
    height = ROWS * LINE_HEIGHT + 2 * MARGIN
    last = -max(0, len(rows) - ROWS) * LINE_HEIGHT
    texts = "\n".join(_text(row, number) for number, row in enumerate(rows) if row.text)
    shown = _steps("shown", [(at, (number + 1) * LINE_HEIGHT) for number, at in enumerate(times)], duration)
    scrolled = [(at, -(number + 1 - ROWS) * LINE_HEIGHT) for number, at in enumerate(times) if number >= ROWS]
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>neardup-stream in a terminal: a crawl is deduplicated, a page is looked up, and a pair is explained</title>
<style>
text {{ font: {FONT_SIZE}px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d4d4d4 }}
.c {{ fill: #7fd7a7; font-weight: bold }}
.scroll {{ animation: scroll {duration:.1f}s step-end infinite; transform: translateY({last}px) }}
.cover {{ animation: shown {duration:.1f}s step-end infinite; transform: translateY({len(rows) * LINE_HEIGHT}px) }}
{_steps("scroll", scrolled, duration)}
{shown}
@media (prefers-reduced-motion: reduce) {{ .scroll, .cover {{ animation: none }} }}
</style>
<rect width="{width}" height="{height}" rx="8" fill="#1b1f24"/>
<svg x="{MARGIN}" y="{MARGIN}" width="{width - 2 * MARGIN}" height="{ROWS * LINE_HEIGHT}" overflow="hidden">
<g class="scroll">
{texts}
<rect class="cover" x="-2" width="{width}" height="{len(rows) * LINE_HEIGHT}" fill="#1b1f24"/>
</g>
</svg>
</svg>
"""


def _text(row: Line, number: int) -> str:
    kind = ' class="c"' if row.is_command else ""
    place = (number + 1) * LINE_HEIGHT - BASELINE
    return f'<text y="{place}"{kind} xml:space="preserve">{escape(row.text)}</text>'


def _wrapped(line: Line) -> Iterator[Line]:
    """Yield the line in parts as long as the terminal is wide; all but the first follow at once."""
    parts = textwrap.wrap(line.text, COLUMNS, drop_whitespace=False, break_on_hyphens=False) or [""]
    for number, part in enumerate(parts):
        yield line._replace(text=part, seconds=0 if number else line.seconds)


def _steps(name: str, steps: Sequence[tuple[float, int]], duration: float) -> str:
    """Return keyframes that move something down to a place at each time."""
    frames = [(0.0, 0), *((100 * at / duration, place) for at, place in steps)]
    marks = "".join(f"{percent:.2f}%{{transform:translateY({place}px)}}" for percent, place in frames)
    return f"@keyframes {name}{{{marks}}}"


if __name__ == "__main__":
    main()
