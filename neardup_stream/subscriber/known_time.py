"""Says until which time a subscription knows all events, whatever the clock did meanwhile."""

from collections.abc import Callable, Mapping

from .subscription import Subscription

__all__ = ["KnownTime"]


class KnownTime:
    """The time at which no record was on the topic that is not read by now.

    End offsets that were asked for between two calls are not earlier than the first call. So once they are
    read, everything is that was on the topic at that time. They are kept until then: those of a busy topic
    are ahead of the reader whenever it looks.

    Args:
        subscription: says what is read.
        clock: returns the time in seconds.
    """

    def __init__(self, subscription: Subscription, clock: Callable[[], float]) -> None:
        self._subscription = subscription
        self._clock = clock
        self._called: float | None = None
        self._goal: tuple[float, Mapping[tuple[str, int], int]] | None = None

    def reached(self, ends: Mapping[tuple[str, int], int]) -> float | None:
        """Return the latest such time, if it is a later one than before; else None.

        Args:
            ends: end offset of every partition, asked for since the last call.
        """
        if self._goal is not None and _has_shrunk(self._goal[1], ends):
            self._goal = None
        if self._goal is None and self._called is not None and ends:
            self._goal = self._called, dict(ends)
        self._called = self._clock()
        if self._goal is None or not self._subscription.has_read(self._goal[1]):
            return None
        time, _ = self._goal
        self._goal = None
        return time


def _has_shrunk(goal: Mapping[tuple[str, int], int], ends: Mapping[tuple[str, int], int]) -> bool:
    """Return whether a partition has lost records that it was to be read to."""
    return any(ends.get(partition, end) < end for partition, end in goal.items())
