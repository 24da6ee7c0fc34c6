"""A stage has one name: in the table of stages, files, classes, metrics, spans, failpoints and docs."""

import asyncio
import re
from importlib import import_module
from pathlib import Path
from typing import get_args

from neardup_daemon.failpoints import FAILPOINTS
from neardup_daemon.metrics import Metrics

from neardup_stream.meters import STEPS, Activity, Stage
from neardup_stream.pipeline import stages
from neardup_stream.streams.memory.streams import MemorySource, numbered
from tests.pipelines import CountingMeters, Pipeline, essay, page_json

NAMES = get_args(Stage)
DOCS = Path(__file__).parents[2] / "docs"


def label_values(family: str) -> list[str]:
    """Of the label `stage`, each once, in order."""
    values = [
        sample.labels["stage"]
        for metric in Metrics(top_sites=1).registry.prometheus.collect()
        for sample in metric.samples
        if sample.name == family
    ]
    return list(dict.fromkeys(values))


class BusyStages(CountingMeters):
    """Keeps which stages are busy, in the order of the first times."""

    def __init__(self) -> None:
        super().__init__()
        self.stages: dict[Stage, None] = {}

    def activity(self, stage: Stage, activity: Activity) -> None:
        if activity == "busy":
            self.stages.setdefault(stage)


async def test_the_loop_runs_the_stages_in_their_order() -> None:
    meters = BusyStages()
    async with MemorySource(numbered([page_json("a", essay(1))])) as source:
        await Pipeline(meters=meters).loop(source).run(asyncio.Event())

    assert tuple(meters.stages) == NAMES


def test_every_stage_has_a_file_and_a_class_of_its_name() -> None:
    for name in NAMES:
        assert hasattr(import_module(f"neardup_stream.pipeline.{name}"), name.capitalize())


def test_the_metrics_have_a_label_for_every_stage() -> None:
    assert label_values("neardup_stage_time_seconds_total") == list(NAMES)
    assert label_values("neardup_stage_duration_seconds_count") == [name for name in NAMES if name in STEPS]
    assert set(NAMES) - set(STEPS) == {"read"}


def test_every_stage_is_a_failpoint_before_and_after() -> None:
    points = [point for point in FAILPOINTS if "." not in point]

    assert points == [f"{moment} {name}" for name in NAMES for moment in ("before", "after")]


def test_the_journey_in_the_docs_has_the_stages_in_their_order() -> None:
    journey = (DOCS / "architecture.md").read_text(encoding="utf-8").partition("## The journey")[2]
    table = journey[journey.index("| stage |") :].partition("\n\n")[0].splitlines()[2:]

    assert [re.findall("`([a-z]+)`", line)[0] for line in table] == list(NAMES)
    assert all(f"`{name}.py`" in line for name, line in zip(NAMES, table, strict=True))


def test_the_picture_of_the_table_has_the_stages_in_their_order() -> None:
    (picture,) = re.findall(r"^    read .*$", stages.__doc__ or "", re.MULTILINE)

    assert tuple(re.findall("[a-z]+", picture)) == NAMES
