"""Read the time of Redis, and refuse a host whose clock disagrees with it."""

from time import monotonic, time
from typing import Final

from neardup_stream.errors import ConfigError

__all__ = ["MOST_SECONDS_APART", "StoreClock", "require_same_time"]

MOST_SECONDS_APART: Final = 60.0
"""A clock that is further off than this is refused."""


class StoreClock:
    """Shows the time of Redis, and does not jump when the clock of this host does.

    Args:
        store_seconds: epoch seconds by Redis now; None where it did not say: by this host.
    """

    def __init__(self, store_seconds: float | None = None) -> None:
        self.set(time() if store_seconds is None else store_seconds)

    def set(self, store_seconds: float) -> None:
        """Note what Redis says now."""
        self._offset_seconds = store_seconds - monotonic()

    def __call__(self) -> float:
        """Epoch seconds."""
        return monotonic() + self._offset_seconds


def require_same_time(store_seconds: float, own_seconds: float | None = None) -> None:
    """Return if the clocks agree.

    Args:
        store_seconds: epoch seconds by Redis.
        own_seconds: the same by this host, None for now.

    Raises:
        ConfigError: they are more than `MOST_SECONDS_APART` apart.
    """
    ahead = (time() if own_seconds is None else own_seconds) - store_seconds
    if abs(ahead) > MOST_SECONDS_APART:
        direction = "ahead of" if ahead > 0 else "behind"
        raise ConfigError(
            f"the clock of this host is {abs(ahead):.0f} seconds {direction} that of Redis, and may be"
            f" {MOST_SECONDS_APART:.0f}: set the clocks of both (NTP)"
        )
