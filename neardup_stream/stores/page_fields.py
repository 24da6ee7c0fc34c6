"""The fields of a page record that its first version takes as they are, and the states of a page."""

from typing import Literal, Required, TypedDict

__all__ = ["FirstFields", "PageState"]

PageState = Literal["live", "short", "expiring", "gone", "archived"]
"""live: indexed, others may match it. short: too few tokens to be judged. expiring: still live, but about to
go. gone: forgotten or expired; a stub that remembers the version and the offsets. archived: like pages of
frozen archives, and left to them; not indexed."""


class FirstFields(TypedDict, total=False):
    """Fields of a page record that its first version takes as they are."""

    text_fingerprint: Required[int]
    seen_seconds: Required[int]
    sketch: bytes
    shingle_count: int
    bands: bytes
    whole: bytes
    whole_count: int
    whole_bands: bytes
    scope: str
    state: PageState
    is_return: bool
