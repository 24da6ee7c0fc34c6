"""The operator's page and the code say the same."""

import json
import re
from pathlib import Path

from neardup_daemon.metrics import Metrics
from neardup_daemon.settings.known import known_settings
from neardup_daemon.settings.settings import Settings
from prometheus_client.parser import text_string_to_metric_families

from neardup_stream.message import Partition
from neardup_stream.meters import Delivered

PAGE = (Path(__file__).parents[3] / "docs" / "operations.md").read_text(encoding="utf-8")


def rows(header: str) -> list[list[str]]:
    """Cells of the table that begins with `header`, without the header and its rule."""
    table = PAGE[PAGE.index(header) :].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_every_setting_is_documented_with_its_default_and_sentence() -> None:
    documented = [tuple(row) for row in rows("| setting |")]

    settings = known_settings(Settings).items()
    assert documented == [
        (f"`{name}`", f"`{json.dumps(known.default)}`", known.description) for name, known in settings
    ]


def test_every_metric_is_documented_with_its_labels() -> None:
    documented = {cells[0].strip("`"): set(re.findall("`([^`]+)`", cells[1])) for cells in rows("| metric |")}

    metrics = Metrics(top_sites=1)
    metrics.lag({Partition("pages", 0): 1})
    metrics.process.settings(Settings())
    metrics.process.service(Settings(), schema_id="0123")
    metrics.delivered(Delivered([], {}, 0, {"a.example": 1}, {"a.example": 1}))
    metrics.api.answered("page", 200, 0.1)
    exposed = {}
    for family in text_string_to_metric_families(metrics.registry.render().decode()):
        if family.name.startswith("neardup_"):
            name = family.name + ("_total" if family.type == "counter" else "")
            exposed[name] = {label for sample in family.samples for label in sample.labels} - {"le"}
    assert documented == exposed
