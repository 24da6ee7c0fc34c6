"""Draws what happens in one run: what crawlers write, and the faults of the daemons."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from neardup_stream.message import Partition
from tests.pipelines import page_json
from tests.schedules.archives import ArchiveChange, ArchiveUse, draw_archive_changes
from tests.schedules.clock_jumps import ClockJump, draw_clock_jumps
from tests.schedules.frame_faults import FrameTrouble, draw_frame_faults
from tests.schedules.losses import Loss, LossKind, draw_loss
from tests.schedules.network import Weather
from tests.schedules.sites import SITE_COUNT, draw_page, page_url
from tests.schedules.texts import text_of

__all__ = ["FAULT_PROFILES", "Fault", "FaultProfile", "Story", "Write", "draw_story"]

_EDITS, _TOPICS = 6, 3
_NONSENSE = b"no JSON"


class Write(NamedTuple):
    """A crawler writes a record at a time; value None: forget the page that the key names."""

    at_seconds: float
    partition: Partition
    key: bytes
    value: bytes | None


class Fault(NamedTuple):
    """The fault of a daemon at its call of this number, counted over all its lives.

    Attributes:
        daemon: its number.
        call: from 0.
        kind: "kill"; "stop" (SIGSTOP, and SIGCONT after `seconds`); "leave" after finishing.
        is_sent: whether the call is on its way already.
        seconds: until the daemon resumes, or begins a new life.
    """

    daemon: int
    call: int
    kind: Literal["kill", "stop", "leave"]
    is_sent: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class FaultProfile:
    """What stories are drawn from.

    Attributes:
        daemons: how many.
        partitions: how many at most.
        pages: how many ids.
        writes: how many records.
        bursts: in how many bursts they are written at most, so that matching pages are in flight at once.
        duration_seconds: over which.
        faults: how many at most.
        fault_calls: calls of a daemon between two faults, on average.
        weather: of the network.
        tombstone_ttl_seconds: how long what is decided is remembered, and how late a decision may come.
        page_seconds: retention; None: nothing expires.
        stub_seconds: of what is gone; longer than the longest stop.
        longest_stop_seconds: past the session, and past the tombstones.
        is_exactly_once: whether messages leave in transactions.
        losses: of which Redis suffers one.
        has_clusters: whether pages are put into clusters; without, each is judged by its own matches.
        archive_use: what a page does that is like a frozen one; empty where no archives are asked.
        has_frames: whether pages are HTML, compared by sketches without their sites' frames, and the
            frame store has faults.
        is_traced: whether batches are traced.
        clock_jump_seconds: how far the clock of each host jumps at most, every now and then; 0: never.
    """

    daemons: int = 3
    partitions: int = 3
    pages: int = 5
    writes: int = 16
    bursts: int = 12
    duration_seconds: float = 20.0
    faults: int = 6
    fault_calls: int = 60
    weather: Weather = Weather()  # noqa: RUF009 - frozen
    tombstone_ttl_seconds: float = 15.0
    page_seconds: int | None = None
    stub_seconds: int = 120
    longest_stop_seconds: float = 60.0
    is_exactly_once: bool = False
    has_frames: bool = False
    losses: tuple[LossKind, ...] = ()
    archive_use: ArchiveUse = ""
    has_clusters: bool = True
    clock_jump_seconds: float = 0.0
    is_traced: bool = False


FAULT_PROFILES: Final[Mapping[str, FaultProfile]] = {
    "usual": FaultProfile(),
    "broken connections": FaultProfile(weather=Weather(broken_share=0.05)),
    "traced": FaultProfile(weather=Weather(broken_share=0.05), is_traced=True),
    "slow": FaultProfile(weather=Weather(usual_seconds=0.5, slow_seconds=3.0), duration_seconds=40.0),
    "short tombstones": FaultProfile(
        weather=Weather(usual_seconds=0.2, slow_share=0.2, slow_seconds=2.0),
        tombstone_ttl_seconds=3.0,
        duration_seconds=60.0,
    ),
    "retention": FaultProfile(page_seconds=30, duration_seconds=90.0, writes=20),
    "jumping clocks": FaultProfile(
        page_seconds=30, duration_seconds=90.0, writes=20, clock_jump_seconds=600.0
    ),
    "exactly once": FaultProfile(weather=Weather(broken_share=0.05), is_exactly_once=True),
    "everything": FaultProfile(
        weather=Weather(usual_seconds=0.2, slow_share=0.2, slow_seconds=2.0, broken_share=0.03),
        page_seconds=20,
        tombstone_ttl_seconds=3.0,
        duration_seconds=60.0,
        writes=20,
    ),
    "frames": FaultProfile(
        weather=Weather(broken_share=0.03), pages=8, writes=24, duration_seconds=40.0, has_frames=True
    ),
    "frames and retention": FaultProfile(
        weather=Weather(slow_seconds=2.0, broken_share=0.03),
        pages=8,
        writes=24,
        duration_seconds=90.0,
        page_seconds=30,
        tombstone_ttl_seconds=3.0,
        has_frames=True,
    ),
    "lost records": FaultProfile(duration_seconds=40.0, losses=("records",)),
    "lost clusters": FaultProfile(duration_seconds=40.0, losses=("flushed", "older")),
    "lost seconds": FaultProfile(duration_seconds=40.0, losses=("recent",)),
    "without clusters": FaultProfile(
        weather=Weather(slow_seconds=2.0, broken_share=0.03), has_clusters=False
    ),
    "without clusters, raised epoch": FaultProfile(
        weather=Weather(slow_seconds=2.0), duration_seconds=30.0, losses=("epoch",), has_clusters=False
    ),
    "archives": FaultProfile(weather=Weather(slow_seconds=2.0, broken_share=0.03), archive_use="report"),
    "pages left to archives": FaultProfile(
        weather=Weather(slow_seconds=2.0, broken_share=0.03),
        page_seconds=20,
        tombstone_ttl_seconds=3.0,
        duration_seconds=60.0,
        writes=24,
        archive_use="skip",
    ),
    "raised epoch": FaultProfile(weather=Weather(slow_seconds=2.0), duration_seconds=30.0, losses=("epoch",)),
}
"""By what they are likely to bring about."""


class Story(NamedTuple):
    """One run's fate."""

    partitions: list[Partition]
    writes: list[Write]
    faults: list[Fault]
    batch_pages: int
    commit_interval_seconds: float
    frame_trouble: FrameTrouble = FrameTrouble()
    loss: Loss | None = None
    archive_changes: Sequence[ArchiveChange] = ()
    clock_jumps: Sequence[ClockJump] = ()


def draw_story(fault_profile: FaultProfile, dice: random.Random) -> Story:
    """Return a story of this fault profile."""
    partitions = [Partition("pages", number) for number in range(dice.randint(1, fault_profile.partitions))]
    story = Story(
        partitions,
        _draw_writes(fault_profile, partitions, dice),
        [_draw_fault(fault_profile, dice) for _ in range(dice.randint(0, fault_profile.faults))],
        dice.choice([1, 2, 2, 3, 5]),
        dice.choice([0.0, 0.0, 5.0]),
    )
    story = story._replace(loss=draw_loss(fault_profile.losses, fault_profile.duration_seconds, dice))
    if fault_profile.archive_use:
        changes = draw_archive_changes(fault_profile.archive_use, fault_profile.duration_seconds, dice)
        story = story._replace(archive_changes=changes)
    if fault_profile.clock_jump_seconds:
        jumps = draw_clock_jumps(
            fault_profile.daemons, 2 * fault_profile.duration_seconds, fault_profile.clock_jump_seconds, dice
        )
        story = story._replace(clock_jumps=tuple(jumps))
    if not fault_profile.has_frames:
        return story
    trouble = draw_frame_faults(fault_profile.daemons, fault_profile.duration_seconds, SITE_COUNT, dice)
    return story._replace(frame_trouble=trouble)


def _draw_writes(
    fault_profile: FaultProfile, partitions: list[Partition], dice: random.Random
) -> list[Write]:
    """Pages of a family or two. A forget is written to the partition of its page, as the contract asks."""
    topics = dice.sample(range(_TOPICS), dice.randint(1, 2))
    roams = dice.random() < 0.5  # whether one page may come in several partitions
    places: dict[int, Partition] = {}
    writes = []
    for at_seconds in _draw_moments(fault_profile, dice):
        page = dice.randrange(fault_profile.pages)
        value = _draw_value(page, topics, dice, has_frames=fault_profile.has_frames)
        if value is None and page not in places:
            page = fault_profile.pages  # a page that was never written
        partition = places.get(page)
        if partition is None or (roams and value is not None):
            partition = dice.choice(partitions)
        if value not in (None, _NONSENSE):
            places[page] = partition
        url = page_url(page) if fault_profile.has_frames else f"https://example.com/{page}"
        writes.append(Write(at_seconds, partition, url.encode(), value))
    return writes


def _draw_moments(fault_profile: FaultProfile, dice: random.Random) -> list[float]:
    bursts = [
        dice.uniform(0, fault_profile.duration_seconds) for _ in range(dice.randint(1, fault_profile.bursts))
    ]
    return sorted(dice.choice(bursts) + dice.random() for _ in range(fault_profile.writes))


def _draw_value(page: int, topics: list[int], dice: random.Random, *, has_frames: bool) -> bytes | None:
    """Mostly a page; sometimes a forget, nonsense, or a text too short to be judged."""
    fate = dice.random()
    if fate < 0.15:
        return None
    if fate < 0.18:
        return _NONSENSE
    if has_frames:
        return draw_page(page, dice).value(page)
    text = "too short" if fate < 0.24 else text_of(dice.choice(topics), dice.randrange(_EDITS))
    return page_json(str(page), text)


def _draw_fault(fault_profile: FaultProfile, dice: random.Random) -> Fault:
    kind = dice.choice(["kill", "kill", "stop", "stop", "leave"])
    longest = fault_profile.longest_stop_seconds
    seconds = dice.choice([dice.uniform(0.1, 3), dice.uniform(6, 12), dice.uniform(12, longest)])
    return Fault(
        dice.randrange(fault_profile.daemons),
        int(dice.expovariate(1 / fault_profile.fault_calls)),
        kind,  # type: ignore[arg-type] # drawn from its own values
        dice.random() < 0.5,
        seconds,
    )
