"""A task of the loop: stages that take one batch, or one run of a batch, after the other."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeVar

from neardup_stream.meters import Activity, PipelineMeters, Stage
from neardup_stream.pipeline.batch import InFlightBatch, Run
from neardup_stream.pipeline.handoff import Handoff

__all__ = ["Item", "Moment", "OnStage", "Reports", "StageStep", "StageTask", "batches", "no_stage", "runs"]

_U = TypeVar("_U", InFlightBatch, Run)

Item = InFlightBatch | Run
"""What one task puts and the next one gets."""

Moment = Literal["before", "after"]

OnStage = Callable[[Moment, Stage], None]
"""Called before and after each stage of each batch, or run."""


def no_stage(_moment: Moment, _stage: Stage) -> None:
    """Do nothing."""


def _always(_unit: object) -> bool:
    return True


class Reports(NamedTuple):
    """What is called at the begin and end of stages.

    Attributes:
        meters: receives what stages do.
        on_stage: see `OnStage`.
    """

    meters: PipelineMeters
    on_stage: OnStage = no_stage

    def reach(self, moment: Moment, stages: Sequence[Stage]) -> None:
        """Call `on_stage` for each of these stages."""
        for stage in stages:
            self.on_stage(moment, stage)

    def activity(self, stages: Sequence[Stage], activity: Activity) -> None:
        """Report what these stages do from now on."""
        for stage in stages:
            self.meters.activity(stage, activity)


class StageStep(NamedTuple, Generic[_U]):
    """Stages that run as one call.

    Attributes:
        stages: in order.
        work: sets their fields of a batch, or of a run.
        is_due: whether they run for it at all.
    """

    stages: tuple[Stage, ...]
    work: Callable[[_U], Awaitable[None]]
    is_due: Callable[[_U], bool] = _always


@dataclass(frozen=True, slots=True)
class StageTask(Generic[_U]):
    """Steps that are taken with one batch, or run, after the other.

    Attributes:
        steps: in order.
        units: the batches, or runs, of an item that the task before has put.
        reports: of its stages.
    """

    steps: tuple[StageStep[_U], ...]
    units: Callable[[Item], Sequence[_U]]
    reports: Reports

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Of all steps, in order."""
        return tuple(stage for step in self.steps for stage in step.stages)

    async def run(self, into: Handoff[Item], out: Handoff[Item]) -> None:
        """Take what the task before puts, until it ends, and put it for the next one."""
        while (item := await into.get()) is not None:
            for unit in self.units(item):
                await self.take(unit)
                await out.put(unit)
        await out.put(None)

    async def take(self, unit: _U) -> None:
        """Take all steps with one batch, or run."""
        done: tuple[Stage, ...] = ()
        for step in self.steps:
            if step.is_due(unit):
                self.reports.activity(done, "waiting_for_output")
                self.reports.activity(step.stages, "busy")
                with unit.trace.stage(step.stages[0]):
                    self.reports.reach("before", step.stages)
                    await step.work(unit)
                    self.reports.reach("after", step.stages)
                done = step.stages


def batches(item: Item) -> Sequence[InFlightBatch]:
    """Return the batch; nothing for a run that is not the last one of its batch."""
    if isinstance(item, InFlightBatch):
        return (item,)
    return (item.batch,) if item.is_last else ()


def runs(item: Item) -> Sequence[Run]:
    """Return the run, or the runs of a batch."""
    return item.cut() if isinstance(item, InFlightBatch) else (item,)
