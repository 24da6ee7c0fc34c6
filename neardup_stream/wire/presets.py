"""How crawlers write pages: which of their fields are which of ours.

An id that a crawler makes anew for each capture is no identity: the same page would be a duplicate of itself
at every crawl. Where a crawler does that, pages go by their URL.
"""

from collections.abc import Mapping
from typing import Final, Literal

__all__ = ["PRESETS", "Paths", "Preset"]

Preset = Literal["none", "scrapy", "browsertrix", "nutch", "stormcrawler"]
"""A crawler whose fields are known."""

Paths = Mapping[str, tuple[str, ...]]
"""Our name → dotted paths, of which the first that is there counts; no path for a field that is not taken."""

PRESETS: Final[Mapping[Preset, Paths]] = {
    "none": {},
    # Items are what a spider yields; these names follow `Response`, whose text is put under one of them.
    "scrapy": {"html": ("html", "body", "content"), "body": (), "id": ()},
    # Lines of `pages.jsonl`; `id` is a new UUID for each capture.
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
"""By crawler."""
