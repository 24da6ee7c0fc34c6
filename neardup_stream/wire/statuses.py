"""Decide by the HTTP status which answers are pages."""

from collections.abc import Set as AbstractSet

__all__ = ["holds_page", "is_wanted"]

_NOT_MODIFIED = 304


def holds_page(status: int | None) -> bool:
    """Return False for an answer that is about a page and holds none: informational, or not modified.

    >>> holds_page(100), holds_page(200), holds_page(304), holds_page(404), holds_page(None)
    (False, True, False, True, True)
    """
    return status is None or (status != _NOT_MODIFIED and not 100 <= status < 200)


def is_wanted(status: int | None, statuses: AbstractSet[int]) -> bool:
    """Return whether a page of this status is processed, where only these are; none of them means all."""
    return holds_page(status) and (not statuses or status is None or status in statuses)
