"""Name what a check found."""

from typing import Literal, NamedTuple

__all__ = ["Finding"]


class Finding(NamedTuple):
    """One thing that was looked at."""

    grade: Literal["good", "warning", "bad"]
    sentence: str
