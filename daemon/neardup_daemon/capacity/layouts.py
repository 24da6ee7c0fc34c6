"""Choose how the tables of an index are laid out: the blocks and substrings that cost a page the least.

More tables take memory, and time for each of them; fewer have shorter prefixes, so that a probe reads more
entries. A Redis master is full by time or by memory, so the layout with the least product of both is taken.
"""

from itertools import product
from typing import Final

import msgspec
from msgspec.structs import replace

from neardup_daemon.capacity.machines import cost_per_page
from neardup_daemon.capacity.memory import bytes_per_page
from neardup_daemon.preparing import index_layout, sketch_config
from neardup_daemon.settings.settings import Settings
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.indexes.layout import IndexLayout

__all__ = [
    "USUAL_FRAMED_SHARE",
    "USUAL_LINKED_SHARE",
    "LayoutCost",
    "layout_costs",
    "layout_for",
    "range_entries",
]

_USUAL_URL_BYTES: Final = 60.0
USUAL_LINKED_SHARE: Final = 0.3
USUAL_FRAMED_SHARE: Final = 0.5
"""What a usual page is. Layouts are chosen for it, not for one corpus: `rebuild --into` knows none."""

_MORE_BLOCKS: Final = 4


class LayoutCost(msgspec.Struct, frozen=True):
    """What a usual page takes of Redis in one layout.

    Attributes:
        substrings: `index.substrings`.
        blocks: `index.blocks`.
        tables: permuted tables.
        range_entries: entries that a probe of a table reads on average.
        redis: microseconds of one core.
        bytes: of tables, record and clusters.
    """

    substrings: int
    blocks: int
    tables: int
    range_entries: float
    redis: float
    bytes: float


def layout_for(pages: int, settings: Settings) -> IndexLayout:
    """Return the layout that costs the least at so many pages.

    Raises:
        ConfigError: none keeps the ranges of so many pages within `index.bucket_cap`.
    """
    layouts = _layouts(pages, settings)
    if not layouts:
        raise ConfigError(
            f"no layout keeps the ranges of {pages:,} pages within index.bucket_cap"
            f" ({settings.index.bucket_cap}); split the corpus by verdict.scope or over several namespaces"
        )
    _, best = min(layouts, key=lambda each: each[0].redis * each[0].bytes)
    return best


def layout_costs(pages: int, settings: Settings) -> list[LayoutCost]:
    """Return what the layouts cost whose ranges are within `index.bucket_cap` on average.

    The fewest tables come first. Layouts that take more time than one of as many tables, or fewer, are left
    out.
    """
    costs = sorted(
        (cost for cost, _ in _layouts(pages, settings)), key=lambda cost: (cost.tables, cost.redis)
    )
    return [cost for at, cost in enumerate(costs) if all(cost.redis < each.redis for each in costs[:at])]


def range_entries(pages: int, layout: IndexLayout) -> float:
    """Return how many of such fingerprints share a prefix on average, in the table with the shortest."""
    return float(pages / 2 ** min(table.prefix_bits for table in layout.tables))


def _layouts(pages: int, settings: Settings) -> list[tuple[LayoutCost, IndexLayout]]:
    """Return the layouts whose ranges are within the cap, with what they cost; fewest substrings first."""
    distance_bits = settings.index.distance_bits
    sketch = sketch_config(settings)
    layouts = (
        _layout_with(pages, settings, substrings, distance_bits // substrings + more)
        for substrings, more in product(range(1, distance_bits + 2), range(1, _MORE_BLOCKS + 1))
    )
    return [
        (_cost(pages, layout, sketch), layout)
        for layout in layouts
        if layout is not None and range_entries(pages, layout) <= settings.index.bucket_cap
    ]


def _layout_with(pages: int, settings: Settings, substrings: int, blocks: int) -> IndexLayout | None:
    """Return the layout; None where it cannot be: too short a prefix, or too many tables."""
    index = replace(settings.index, expected_pages=pages)
    try:
        return index_layout(replace(settings, index=replace(index, substrings=substrings, blocks=blocks)))
    except ConfigError:
        return None


def _cost(pages: int, layout: IndexLayout, sketch: SketchConfig | None) -> LayoutCost:
    permuted, entries = layout.config.permuted, range_entries(pages, layout)
    cost = cost_per_page(layout, range_entries=entries, words=0, html_bytes=0, linked_share=0)
    return LayoutCost(
        substrings=permuted.substrings,
        blocks=permuted.blocks,
        tables=len(layout.tables),
        range_entries=entries,
        redis=cost.redis,
        bytes=bytes_per_page(
            layout,
            sketch,
            url_bytes=_USUAL_URL_BYTES,
            linked_share=USUAL_LINKED_SHARE,
            framed_share=USUAL_FRAMED_SHARE,
        ).total,
    )
