"""The settings of retention: when pages that are not seen again expire."""

from typing import Annotated

from msgspec import Meta

from neardup_daemon.settings.section import Section

__all__ = ["Retention"]


class Retention(Section, frozen=True):
    """When pages that are not seen again expire."""

    seconds: Annotated[
        float,
        Meta(
            ge=0,
            le=10 * 366 * 86_400,
            description="Pages not seen for this long, in seconds, expire; 0 keeps all pages. Daemons of a"
            " namespace need the same `retention.*`: the shortest time expires pages for all of them, and"
            " while the times differ they may pause to read.",
        ),
    ] = 0.0
    stub_seconds: Annotated[
        float,
        Meta(
            gt=0,
            le=10 * 366 * 86_400,
            description="How long, in seconds, the stub (id and version) of a forgotten or expired page"
            " is kept, and how much longer than `retention.seconds` a page stays whose version is never"
            " decided.",
        ),
    ] = 86_400.0
