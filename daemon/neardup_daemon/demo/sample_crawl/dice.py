"""Make random choices that are the same on every Python.

Of the standard generator only `random()` keeps its sequence from one Python to the next; `choice`, `sample`
and `shuffle` may change. So every choice here is made from `random()` alone.
"""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

__all__ = ["Dice"]

T = TypeVar("T")


class Dice:
    """A seeded source of choices.

    Args:
        seed: any int; the same seed gives the same choices for ever.
    """

    __slots__ = ("random",)

    def __init__(self, seed: int) -> None:
        self.random = Random(seed).random  # noqa: S311 - repeatable sample pages, no secret
        """The next float in [0, 1)."""

    def between(self, low: int, high: int) -> int:
        """Return an int from `low` to `high`, both included."""
        return low + int(self.random() * (high - low + 1))

    def pick(self, choices: Sequence[T]) -> T:
        """Return one of the choices, each as likely as its place is frequent."""
        return choices[int(self.random() * len(choices))]

    def picks(self, choices: Sequence[T], count: int) -> list[T]:
        """Return so many choices, repeats allowed."""
        random, size = self.random, len(choices)
        return [choices[int(random() * size)] for _ in range(count)]

    def places(self, size: int, count: int) -> list[int]:
        """Different positions in range(size), `count` of them, in the order drawn; all if there are fewer."""
        drawn: dict[int, None] = {}
        while len(drawn) < min(count, size):
            drawn[int(self.random() * size)] = None
        return list(drawn)
