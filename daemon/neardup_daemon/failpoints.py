"""Kill or stop the daemon at chosen points, for tests of crashes.

A point is a stage, `before register` or `after decide 2`, the number being which batch, or run, of this
process it is, counted from 1; or a call of a store, a sink, the transactions or the source:
`before records.replace`, `after cluster_store.commit 3`. Decode and extract are one call of a worker process,
so the points before them coincide, and those after them. Killed is SIGKILL: nothing is finished, nothing
flushed. Stopped is SIGSTOP: the process is paused, perhaps until other daemons have taken its partitions, and
resumes at this very call after a SIGCONT.

The steps in which `freeze` and `archive` write (`neardup_stream/archive/steps.py`) are points too, such as
`before archive.section 3`; there is a `before` of each only.

Only what has a point is wrapped. With the settings left alone nothing is, and nothing is paid.
"""

import os
import signal
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Final, Literal, NamedTuple, TypeVar, cast, get_args

from neardup_stream.archive.steps import BuildStep, OnStep, no_step
from neardup_stream.clusters.protocol import Decider
from neardup_stream.errors import ConfigError
from neardup_stream.indexes.protocol import Index
from neardup_stream.meters import Stage
from neardup_stream.pipeline.stage_task import Moment, OnStage, no_stage
from neardup_stream.stores.cluster_store import ClusterStore
from neardup_stream.stores.frame_store import FrameStore
from neardup_stream.stores.protocol import RecordStore
from neardup_stream.streams.protocol import Sink, Source
from neardup_stream.streams.transactions import Transactions

__all__ = [
    "FAILPOINTS",
    "Failpoint",
    "Moment",
    "Target",
    "failing_stages",
    "failing_steps",
    "parse_failpoints",
    "with_failpoints",
]

Target = Literal[
    "records",
    "index",
    "clusters",
    "cluster_store",
    "frames",
    "events",
    "dead_letters",
    "transactions",
    "source",
    "archive",
    "stage",
]

_PROTOCOLS: Final[Mapping[Target, type]] = {
    "records": RecordStore,
    "index": Index,
    "clusters": Decider,
    "cluster_store": ClusterStore,
    "frames": FrameStore,
    "events": Sink,
    "dead_letters": Sink,
    "transactions": Transactions,
    "source": Source,
}

_T = TypeVar("_T")


class Failpoint(NamedTuple):
    """A moment in the life of one process.

    Attributes:
        moment: before the call, or after it has succeeded.
        target: what is called.
        method: which method of it.
        turn: which call, from 1.
        signal: what the process sends itself.
    """

    moment: Moment
    target: Target
    method: str
    turn: int
    signal: signal.Signals


def _methods(protocol: type) -> list[str]:
    """Return the names of the target's methods that can be awaited, except those that open and close it."""
    members = ((name, getattr(protocol, name)) for name in vars(protocol) if not name.startswith("_"))
    return sorted(name for name, member in members if iscoroutinefunction(member))


FAILPOINTS: tuple[str, ...] = tuple(
    f"{moment} {target}.{method}"
    for target, protocol in _PROTOCOLS.items()
    for method in _methods(protocol)
    for moment in get_args(Moment)
)
FAILPOINTS += tuple(f"{moment} {stage}" for stage in get_args(Stage) for moment in get_args(Moment))
FAILPOINTS += tuple(f"before archive.{step}" for step in get_args(BuildStep))
"""Every point there is, without its turn."""


def parse_failpoints(kill: Iterable[str], stop: Iterable[str]) -> list[Failpoint]:
    """Return the points that settings name.

    Args:
        kill: where to end, as `<moment> <target>.<method>`, perhaps followed by a turn.
        stop: where the process pauses itself.

    Raises:
        ConfigError: there is no such point.
    """
    return [
        *(_parse(written, signal.SIGKILL) for written in kill),
        *(_parse(written, signal.SIGSTOP) for written in stop),
    ]


def _parse(written: str, number: signal.Signals) -> Failpoint:
    moment, _, rest = written.partition(" ")
    place, _, turn = rest.partition(" ")
    if f"{moment} {place}" not in FAILPOINTS:
        raise ConfigError(f"there is no failpoint {written!r}; there are {', '.join(FAILPOINTS)}")
    if turn and not (turn.isdecimal() and int(turn)):
        raise ConfigError(f"failpoint {written!r}: a turn is a number from 1")
    target, _, method = place.rpartition(".")
    return Failpoint(
        cast("Moment", moment), cast("Target", target or "stage"), method, int(turn or 1), number
    )


def with_failpoints(name: Target, target: _T, points: Sequence[Failpoint]) -> _T:
    """Return the target itself if no point is at one of its calls, else the same with its points."""
    own = [point for point in points if point.target == name]
    return cast("_T", _Armed(target, own)) if own else target


def failing_stages(points: Sequence[Failpoint]) -> OnStage:
    """Return what is called before and after each stage."""
    armed = [point for point in points if point.target == "stage"]
    return _Turns(armed).reach if armed else no_stage


def failing_steps(points: Sequence[Failpoint]) -> OnStep:
    """Return what to call before each step in which an archive is written."""
    armed = [point for point in points if point.target == "archive"]
    return partial(_Turns(armed).reach, "before") if armed else no_step


class _Turns:
    """Counts how often each moment comes, and sends the process the signals of points.

    Args:
        points: of one target.
    """

    def __init__(self, points: Sequence[Failpoint]) -> None:
        self._points = points
        self._turns: Counter[tuple[Moment, str]] = Counter()

    def reach(self, moment: Moment, method: str) -> None:
        """Count a moment of a method, stage or step."""
        self._turns[moment, method] += 1
        for point in self._points:
            if (point.moment, point.method, point.turn) == (moment, method, self._turns[moment, method]):
                os.kill(os.getpid(), point.signal)


class _Armed:
    """Passes everything on, and counts the calls that have points."""

    def __init__(self, target: object, points: Sequence[Failpoint]) -> None:
        self._target = target
        self._names = {point.method for point in points}
        self._turns = _Turns(points)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._target, name)
        if name not in self._names:
            return member

        async def call(*arguments: object, **named: object) -> object:
            self._turns.reach("before", name)
            result = await member(*arguments, **named)
            self._turns.reach("after", name)
            return result

        return call
