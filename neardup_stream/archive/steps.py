"""Name the steps in which archives and their lists of forgotten pages are written, for tests of crashes."""

from collections.abc import Callable
from typing import Literal

__all__ = ["BuildStep", "OnStep", "no_step"]

BuildStep = Literal[
    "read",
    "spill",
    "merge",
    "hash",
    "section",
    "checks",
    "header",
    "sync",
    "publish",
    "published",
    "forget",
    "forgotten",
]
"""read: the next batch of pages. spill: what is sorted lies on the disk. merge: the next pages go into the
log and the parts. hash: the next part of the perfect hash. section: the bytes of the next section are there.
published: the archive has its name, which is not durable yet. forget, forgotten: the same of the file of
forgets."""

OnStep = Callable[[BuildStep], None]
"""Called before each step."""


def no_step(_step: BuildStep) -> None:
    """Do nothing."""
