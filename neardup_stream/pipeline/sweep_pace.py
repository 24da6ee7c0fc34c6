"""Decides how many sweeps run at once, and when reading waits for retention."""

from typing import Final, NamedTuple

__all__ = ["MOST_SWEEPS", "PAUSE_SHARE", "RESUME_SHARE", "SHORTEST_ROUND_SECONDS", "SweepPace", "sweep_pace"]

MOST_SWEEPS: Final = 8
"""Sweeps at once: each holds some thousand records, and one event loop gains nothing from more."""

PAUSE_SHARE: Final = 0.25
"""Reading waits from this lag on, in rounds: pages then stay for an eighth above the retention at most."""

RESUME_SHARE: Final = 0.1
"""Reading resumes below this lag, in rounds."""

SHORTEST_ROUND_SECONDS: Final = 4.0
"""Lag is judged as if a round took at least as long: a second is the usual jitter of a loaded machine."""


class SweepPace(NamedTuple):
    """How fast retention sweeps.

    Attributes:
        sweep_count: most sweeps at once.
        is_reading_paused: whether reading waits.
    """

    sweep_count: int
    is_reading_paused: bool


def sweep_pace(lag_seconds: float, round_seconds: float, *, was_paused: bool) -> SweepPace:
    """Return more sweeps the further retention is behind its schedule, and at last a pause of reading.

    Args:
        lag_seconds: since the earliest slots were due that are not swept yet.
        round_seconds: how long a round through all slots may take.
        was_paused: whether reading waits now; it resumes at a smaller lag than that at which it stopped.

    >>> sweep_pace(0, 60, was_paused=False), sweep_pace(15, 60, was_paused=False)
    (SweepPace(sweep_count=1, is_reading_paused=False), SweepPace(sweep_count=8, is_reading_paused=True))
    """
    share = max(0.0, lag_seconds) / max(round_seconds, SHORTEST_ROUND_SECONDS)
    return SweepPace(
        sweep_count=min(MOST_SWEEPS, 1 + int(share / PAUSE_SHARE * (MOST_SWEEPS - 1))),
        is_reading_paused=share >= (RESUME_SHARE if was_paused else PAUSE_SHARE),
    )
