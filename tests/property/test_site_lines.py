"""Laws of the lines of sites: merging and taking over save work, and change no count."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.frames.table import FrameTable, LearningStep, LineHashes
from neardup_stream.pipeline.site_lines import SiteLines, merge_lessons

MAX_LINES = 12
ASKED = np.arange(31, dtype=np.uint32)

pages = st.lists(st.lists(st.integers(0, 30), max_size=12, unique=True), max_size=8)
batches = st.lists(pages, max_size=4)


def lessons(of_pages: Sequence[Sequence[int]]) -> list[LineHashes]:
    return [np.array(sorted(page), np.uint32) for page in of_pages]


def site_with(table: FrameTable, of_batches: Sequence[Sequence[Sequence[int]]]) -> SiteLines:
    site = SiteLines(table, MAX_LINES)
    for batch, of_pages in enumerate(of_batches):
        for lines in lessons(of_pages):
            site.add(batch, lines)
    return site


def table_of(of_pages: Sequence[Sequence[int]]) -> FrameTable:
    return FrameTable.empty().learn(lessons(of_pages), MAX_LINES)


def counts(site: SiteLines) -> tuple[int, list[int]]:
    return site.page_count, site.counts_merged(ASKED).tolist()


@given(st.lists(st.tuples(pages, batches), max_size=5), st.lists(pages, max_size=5))
def test_lessons_of_many_sites_are_merged_as_those_of_each_alone(
    sites: list[tuple[list[list[int]], list[list[list[int]]]]], later: list[list[list[int]]]
) -> None:
    alone = [site_with(table_of(known), of_batches) for known, of_batches in sites]
    together = [site_with(table_of(known), of_batches) for known, of_batches in sites]

    merge_lessons(together, MAX_LINES)
    assert list(map(counts, together)) == list(map(counts, alone))
    for one, other, of_pages in zip(together, alone, later, strict=False):
        for lines in lessons(of_pages):
            one.add(9, lines)
            other.add(9, lines)
    merge_lessons(together, MAX_LINES)
    assert list(map(counts, together)) == list(map(counts, alone))


@given(pages, batches, pages)
def test_a_table_that_has_learned_a_batch_is_taken_over_as_if_it_were_learned_once_more(
    known: list[list[int]], of_batches: list[list[list[int]]], counted: list[list[int]]
) -> None:
    before = table_of(known)
    learning, taking = site_with(before, of_batches), site_with(before, of_batches)

    learning.confirm(0, lessons(counted))
    taking.confirm(0, lessons(counted), LearningStep(before, before.learn(lessons(counted), MAX_LINES)))

    assert counts(taking) == counts(learning)


def test_a_table_that_has_learned_is_taken_over_by_who_had_the_very_table_before_it_only() -> None:
    before, equal, after = table_of([[1]]), table_of([[1]]), table_of([[7]])
    had_it, had_another = site_with(before, [[[2]]]), site_with(equal, [[[2]]])

    for site in had_it, had_another:
        site.confirm(0, lessons([[2]]), LearningStep(before, after))

    assert had_it.counts_merged(ASKED).tolist() == after.counts_of(ASKED).tolist()
    assert had_another.counts_merged(ASKED).tolist() == table_of([[1], [2]]).counts_of(ASKED).tolist()
