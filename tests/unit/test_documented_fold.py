"""The documentation of events: its program, its worked example and its fields."""

import doctest
import re
from pathlib import Path

import pytest

from neardup_stream.events import EVENT_DATA, DuplicateFound, Event, EventName
from neardup_stream.wire.events import to_structured
from tests.events import (
    At,
    delivered,
    duplicate,
    event_name,
    gone,
    merge,
    representative_changed,
)

DOCUMENTED = (
    duplicate("b", At("A", 1, "a")),
    duplicate("d", At("C", 1, "c")),
    merge(At("A", 2, "a"), At("C", 1, "c")),
    gone("a", 2, ("A", 3)),
    representative_changed(At("A", 3, "b"), ("a", 1)),
)
EVENTS_PAGE = Path(__file__).parents[2] / "docs" / "events.md"


EXAMPLES = re.findall(r"^```python\n(.*?)^```$", EVENTS_PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_the_documented_program_folds_a_file_of_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    events = [
        Event(id="1", name="duplicate", source="/neardup/nd/p", subject=data.page.id, time_ms=0, data=data)
        for data in DOCUMENTED[:2]
        if isinstance(data, DuplicateFound)
    ]
    (tmp_path / "duplicates.jsonl").write_bytes(b"\n".join(map(to_structured, events)) + b"\n")
    monkeypatch.chdir(tmp_path)

    exec(EXAMPLES[0], {})  # noqa: S102 - our own page

    assert capsys.readouterr().out == "['b', 'd']\n"


def test_the_worked_example_of_the_documentation_works() -> None:
    page = EVENTS_PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d \| `(.*?)`", page, re.MULTILINE)
    _, example = EXAMPLES
    names = {"events": [delivered(event) for event in DOCUMENTED]}
    claims = doctest.DocTestParser().get_doctest(example, names, "docs/events.md", None, None)

    assert rows == [event_name(event) for event in DOCUMENTED]
    assert doctest.DocTestRunner().run(claims).failed == 0


@pytest.mark.parametrize("name", EVENT_DATA)
def test_every_field_of_every_event_is_documented(name: EventName) -> None:
    page = EVENTS_PAGE.read_text(encoding="utf-8")
    _, _, rest = page.partition(f"\n## `{name}`\n")
    section = rest.partition("\n## ")[0]

    assert section
    for field in EVENT_DATA[name].__struct_fields__:
        assert re.search(rf"`{field}\b", section), field
