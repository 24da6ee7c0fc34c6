"""Map the field names of known crawlers to ours, and amend what their fields say.

An id that a crawler generates for each capture does not identify a page: a re-crawled page would be a
duplicate of itself. For such crawlers the URL is the identity.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal

from msgspec import Raw

from neardup_stream.message import Skipped
from neardup_stream.wire.nutch_dump import dumped_fields

__all__ = ["AMENDMENTS", "PRESETS", "Amend", "Paths", "Preset"]

_NULL = b"null"

Preset = Literal["none", "scrapy", "browsertrix", "nutch", "stormcrawler"]
"""A crawler whose field names are known."""

Paths = Mapping[str, tuple[str, ...]]
"""Our name → dotted paths, of which the first with a value other than null is used; none for a field that is
not read."""

PRESETS: Final[Mapping[Preset, Paths]] = {
    "none": {},
    # Items that a spider yields; these names follow `Response`, whose text is stored under one of them.
    "scrapy": {"html": ("html", "body", "content"), "body": (), "id": ()},
    # Lines of `pages.jsonl` and `extraPages.jsonl`; `id` is a new UUID for each capture.
    "browsertrix": {"id": (), "fetched_at": ("ts",)},
    # `commoncrawldump` writes `response`, the index writers `content`; a status is a string there.
    "nutch": {
        "html": ("response.body",),
        "text": ("content",),
        "body": (),
        "id": (),
        "fetched_at": (),
        "status": (),
        "score": (),
    },
    # Index bolts, with the names of fields that the archetype's configuration gives them.
    "stormcrawler": {"text": ("content", "text"), "body": (), "id": ()},
}
"""The paths of each crawler."""

Amend = Callable[[Mapping[str, Raw], Mapping[str, Raw]], Mapping[str, Raw] | Skipped]
"""A page as its crawler wrote it, and the fields that paths found → fields that no path leads to, or why the
page is skipped."""


def _without_text(page: Mapping[str, Raw], found: Mapping[str, Raw]) -> Mapping[str, Raw] | Skipped:
    """Skip what has an address and no text, as what Browsertrix lists of a PDF and of a page that failed."""
    del page
    bodies = (found[name] for name in ("html", "text", "body") if name in found)
    has_body = any(memoryview(body) != _NULL for body in bodies)
    return {} if has_body or "url" not in found else Skipped("no_text")


AMENDMENTS: Final[Mapping[Preset, Amend]] = {"browsertrix": _without_text, "nutch": dumped_fields}
"""Of the crawlers that need one."""
