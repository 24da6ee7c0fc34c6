"""Plans an index: from pages, rate and words to a layout, its cost, the machines and the settings."""

from math import ceil
from typing import Final, NamedTuple

import msgspec

from neardup_daemon.capacity.layouts import LayoutCost, layout_costs, layout_for, range_entries
from neardup_daemon.capacity.machines import Cost, Machines, cost_per_page, machines_for, warnings_of
from neardup_daemon.capacity.memory import BytesPerPage, bytes_per_page, tombstone_bytes
from neardup_daemon.capacity.recall import recall_of_edits
from neardup_daemon.preparing import sketch_config
from neardup_daemon.settings.settings import Settings
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.pipeline.contents_inside import SMALL_FRAME

__all__ = ["FRAME_SHARES", "Corpus", "IndexPlan", "RecallRow", "plan_index"]

FRAME_SHARES: Final = (0.0, 0.5, 0.8)
"""For which recall is predicted."""

_EDITED_WORDS: Final = (0, 1, 2, 5, 10, 20, 50, 100)


class Corpus(NamedTuple):
    """What is to be stored, and how fast it comes.

    Attributes:
        pages: most pages to be kept at once.
        rate: pages a second.
        words: of an average page.
        html_bytes: of its markup; 0 for pages that arrive as text.
        url_bytes: of an average URL.
        linked_share: of the pages, those that are near-duplicates of others.
        framed_share: of the pages, those on sites whose frame is learned.
        recall_at: edited words of a page for which recall is wanted, beside the usual ones.
        master_bytes: memory of one Redis master.
    """

    pages: int
    rate: float
    words: int
    html_bytes: float
    url_bytes: float
    linked_share: float
    framed_share: float
    recall_at: int
    master_bytes: float


class RecallRow(msgspec.Struct, frozen=True):
    """Recall of copies with so many edited words.

    Attributes:
        edited_words: in the content of the page.
        recalls: for each of `FRAME_SHARES`; None where the content has fewer words.
    """

    edited_words: int
    recalls: tuple[float | None, ...]


class IndexPlan(msgspec.Struct, frozen=True):
    """A plan.

    Attributes:
        substrings: of a fingerprint.
        blocks: of each substring.
        range_entries: entries that a probe of a permuted table reads on average.
        layouts: what this layout and others cost a usual page.
        bytes_per_page: by what they hold.
        index_bytes: of all pages, at rest.
        tombstone_bytes: that come on top while pages flow.
        cost: of a page.
        machines: that carry it.
        recall: by edited words.
        settings: to paste.
        warnings: what such machines cannot carry.
    """

    substrings: int
    blocks: int
    range_entries: float
    layouts: tuple[LayoutCost, ...]
    bytes_per_page: BytesPerPage
    index_bytes: int
    tombstone_bytes: int
    cost: Cost
    machines: Machines
    recall: tuple[RecallRow, ...]
    settings: dict[str, int]
    warnings: tuple[str, ...]


def plan_index(corpus: Corpus, settings: Settings) -> IndexPlan:
    """Plan an index with these settings; its layout, shards and expected pages follow from the corpus.

    Raises:
        ConfigError: no layout keeps the ranges of so many pages within `index.bucket_cap`, or pages are
            compared by simhash alone, whose recall is not predicted.
    """
    sketch = sketch_config(settings)
    if sketch is None:
        raise ConfigError("recall is predicted for sketches: set verdict.scheme to sketch")
    layout = layout_for(corpus.pages, settings)
    permuted = layout.config.permuted
    page = bytes_per_page(
        layout,
        sketch,
        url_bytes=corpus.url_bytes,
        linked_share=corpus.linked_share,
        framed_share=corpus.framed_share,
    )
    entries = range_entries(corpus.pages, layout)
    cost = cost_per_page(
        layout,
        range_entries=entries,
        words=corpus.words,
        html_bytes=corpus.html_bytes,
        linked_share=corpus.linked_share,
    )
    index_bytes, clusters_bytes = page.total * corpus.pages, page.clusters * corpus.pages
    machines = machines_for(cost, corpus.rate, index_bytes, corpus.master_bytes)
    return IndexPlan(
        substrings=permuted.substrings,
        blocks=permuted.blocks,
        range_entries=entries,
        layouts=tuple(layout_costs(corpus.pages, settings)),
        bytes_per_page=page,
        index_bytes=round(index_bytes),
        tombstone_bytes=round(tombstone_bytes(corpus.rate, settings.clusters.tombstone_ttl_seconds)),
        cost=cost,
        machines=machines,
        recall=tuple(_recall_rows(corpus, sketch, settings)),
        settings={
            "index.expected_pages": corpus.pages,
            "index.blocks": permuted.blocks,
            "index.substrings": permuted.substrings,
            "index.shards": machines.shards,
        },
        warnings=tuple(
            warnings_of(machines, cost, corpus.rate, index_bytes, clusters_bytes, corpus.master_bytes)
        ),
    )


def _recall_rows(corpus: Corpus, sketch: SketchConfig, settings: Settings) -> list[RecallRow]:
    verdict = settings.verdict
    edited = sorted({*_EDITED_WORDS, corpus.recall_at})
    return [
        RecallRow(
            words,
            tuple(
                recall_of_edits(
                    corpus.words,
                    words,
                    sketch,
                    verdict.near_resemblance,
                    verdict.content_containment if share > SMALL_FRAME else verdict.near_containment,
                    share,
                )
                if words <= ceil(corpus.words * (1 - share))
                else None
                for share in FRAME_SHARES
            ),
        )
        for words in edited
        if words <= corpus.words
    ]
