"""What is logged is an event with a stable name; the rest are fields."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
METHODS = {"debug", "info", "warning", "error", "critical", "log"}
NAME = re.compile(r"[a-z]+(_[a-z]+)*")
SCRAPYS_OWN = "scrapy_*.py"
"""They write sentences into the log of a crawler."""


def logged() -> Iterator[tuple[str, ast.expr]]:
    """Yield the place and the event of each call that logs."""
    files = [*(ROOT / "neardup_stream").rglob("*.py"), *(ROOT / "daemon").rglob("*.py")]
    for file in files:
        if file.match(SCRAPYS_OWN):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and (event := _event(node)) is not None:
                yield f"{file.relative_to(ROOT)}:{node.lineno}", event


def _event(call: ast.Call) -> ast.expr | None:
    function = call.func
    if isinstance(function, ast.Name) and function.id == "log_event":
        return call.args[1]
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return None
    if function.value.id not in {"_log", "_logger"} or function.attr not in METHODS:
        return None
    return call.args[function.attr == "log"]


def test_events_are_snake_case_names_and_no_sentences() -> None:
    events = dict(logged())

    names = {place: event.value for place, event in events.items() if isinstance(event, ast.Constant)}
    assert len(names) > 50
    assert [place for place, name in names.items() if not NAME.fullmatch(str(name))] == []
    assert [place for place, event in events.items() if isinstance(event, ast.JoinedStr)] == []
