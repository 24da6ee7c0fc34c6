"""Report how an index of other settings or another release differs, with the remedy."""

from collections.abc import Iterator, Mapping
from typing import Final

from neardup_stream.version import __version__

__all__ = ["differences_of", "explain_difference"]

_FORMAT: Final = "entry_format"
_UNRELEASED: Final = 6
"""The format of the first release; indexes of earlier formats were written by versions before it."""


def explain_difference(
    namespace: str, stored: Mapping[str, object], ours: Mapping[str, object], created_by: str
) -> str:
    """Return why this index cannot be used, and the remedy; empty if nothing differs.

    Args:
        namespace: where it is.
        stored: the schema it was made with.
        ours: the schema of this process.
        created_by: the release that made it; empty if it does not say.
    """
    differences = list(differences_of(stored, ours))
    if not differences:
        return ""
    if stored.get(_FORMAT) == ours.get(_FORMAT):
        return (
            f"the index under redis.namespace {namespace!r} was made with other settings: "
            f"{'; '.join(differences)}; use those, or another namespace"
        )
    return (
        f"the index under redis.namespace {namespace!r} has format {stored.get(_FORMAT)} and was made by"
        f" {_release(stored, created_by)}; neardup-stream {__version__} reads and writes format"
        f" {ours.get(_FORMAT)}, and does not convert. Fill a new index from the"
        " pages topic: set redis.namespace to a free name,"
        ' kafka.group_id to a new group and kafka.first_start = "earliest"; or run the release that made it.'
        " docs/upgrading.md has every step"
    )


def _release(stored: Mapping[str, object], created_by: str) -> str:
    if created_by:
        return f"neardup-stream {created_by}"
    number = stored.get(_FORMAT)
    if isinstance(number, int) and number < _UNRELEASED:
        return "a version before the first release"
    return "another release"


def differences_of(stored: Mapping[str, object], ours: Mapping[str, object]) -> Iterator[str]:
    """Yield each setting that differs, with both values."""
    for field in sorted({*stored, *ours}):
        if stored.get(field) != ours.get(field):
            yield f"{field} is {stored.get(field)!r} there and {ours.get(field)!r} here"
