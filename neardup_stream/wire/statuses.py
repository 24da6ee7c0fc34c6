"""Decide by the HTTP status which answers are pages."""

from collections.abc import Set as AbstractSet
from typing import Final

__all__ = ["holds_page", "is_wanted"]

_WITHOUT_PAGE: Final = frozenset({204, 205, 304})
"""No content, reset content, not modified."""


def holds_page(status: int | None) -> bool:
    """Return False for an answer that by HTTP has no body: informational, without content, or not modified.

    >>> holds_page(100), holds_page(200), holds_page(204), holds_page(304), holds_page(404), holds_page(None)
    (False, True, False, False, True, True)
    """
    return status is None or (status not in _WITHOUT_PAGE and not 100 <= status < 200)


def is_wanted(status: int | None, statuses: AbstractSet[int]) -> bool:
    """Return whether a page of this status is processed, where only these are; none of them means all."""
    return holds_page(status) and (not statuses or status is None or status in statuses)
