"""Pages of a shop, viewed without its frame."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from neardup_stream.fingerprints.simhash import SimhashConfig
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.frames.lines import FrameConfig
from neardup_stream.frames.table import FrameTable
from neardup_stream.message import Partition, Position, Record
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.arrival import Arrival
from neardup_stream.pipeline.batch_views import Viewed
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.decode import Decode
from neardup_stream.pipeline.extract import Extract
from neardup_stream.pipeline.fingerprint import Fingerprint
from neardup_stream.pipeline.frame_views import FrameViewer
from neardup_stream.pipeline.preparation import Preparation
from neardup_stream.pipeline.scopes import scope_by
from neardup_stream.wire.pages import PageDecoder
from tests.framed_pages import outside_landmarks

__all__ = [
    "CONTENT_WORDS",
    "EMPTY",
    "SHOP",
    "SKETCH",
    "arrive",
    "at",
    "content_tokens",
    "is_whole",
    "taught_by",
    "view",
    "viewer",
]

SKETCH = SketchConfig()
SHOP = "shop.example"
EMPTY = FrameTable.empty()
CONTENT_WORDS = 60


def viewer(config: FrameConfig | None = None) -> FrameViewer:
    return FrameViewer(config or FrameConfig(), outside_landmarks, VerdictConfig(SKETCH))


def arrive(pages: Sequence[bytes], first: int = 0, scope: str = "host") -> list[Arrival]:
    """Return pages as they come out of preparation, at offsets from `first` on."""
    preparation = Preparation(
        Decode(PageDecoder()),
        Extract("all_text"),
        Fingerprint(SimhashConfig(), SKETCH, scope_by("everything"), scope_by(scope)),
        NoMeters(),
    )
    records = [
        Record(position=Position(Partition("pages", 0), first + row), key=None, value=page)
        for row, page in enumerate(pages)
    ]
    prepared = preparation.prepare(records)
    assert not prepared.rejected
    return prepared.arrivals


def view(
    of: FrameViewer,
    arrivals: Sequence[Arrival],
    batch: int = 1,
    tables: Mapping[str, FrameTable] | None = None,
) -> Viewed:
    sites = {arrival.site for arrival in arrivals if arrival.site}
    return of.view(arrivals, batch, {site: (tables or {}).get(site, EMPTY) for site in sites})


def at(url: str, page: bytes) -> bytes:
    """Return the same page at another place."""
    return msgspec.json.encode({**msgspec.json.decode(page), "url": url})


def taught_by(arrivals: Iterable[Arrival], times: int = 1) -> FrameTable:
    """Return what is stored of a site of which so many pages had the lines of these."""
    lines = [arrival.lines.hashes for arrival in arrivals if arrival.lines is not None]
    return EMPTY.learn(lines * times, 1024)


def content_tokens(viewed: Viewed) -> list[int]:
    return [arrival.content_token_count for arrival in viewed.arrivals]


def is_whole(arrival: Arrival) -> bool:
    return arrival.content_token_count == arrival.token_count and not arrival.whole
