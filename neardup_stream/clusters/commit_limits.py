"""How many requests of a portion each of its commits decides."""

from collections import deque
from collections.abc import Sequence

__all__ = ["CommitLimits"]


class CommitLimits:
    """Limits the commits of a portion, one after the other.

    A commit takes all requests that are left, unless their decision records were too large for one commit or
    others have changed the same cells. Then the next commits take fewer, and more again behind them.

    Args:
        size: of the portion.

    Attributes:
        limit: most requests of the next commit.
    """

    def __init__(self, size: int) -> None:
        self.limit = size
        self._size = size
        self._planned: deque[int] = deque()

    def advance(self) -> None:
        """Go on after a commit."""
        self.limit = self._planned.popleft() if self._planned else min(2 * self.limit, self._size)

    def shrink(self, counts: Sequence[int]) -> None:
        """Limit each of the next commits to its count, because one of all of them would store too many bytes.

        So one large decision record makes only its own commit small, and where all are large, they are not
        planned once more for each commit.
        """
        self.limit, *planned = counts
        self._planned = deque(planned)

    def back_off(self) -> None:
        """Cut the next commit to a quarter."""
        self.limit = max(1, self.limit // 4)
        self._planned.clear()
