"""Laws of the lines of sites: merging and taking over save work, and change no count."""

from collections.abc import Mapping, Sequence

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


@given(
    pages,
    st.lists(
        st.tuples(
            st.sampled_from(["add", "confirm", "replace", "ask", "ask merged"]), st.integers(0, 2), pages
        ),
        max_size=12,
    ),
)
def test_each_page_counts_once_however_it_was_asked_between(
    known: list[list[int]], steps: list[tuple[str, int, list[list[int]]]]
) -> None:
    """Of few lines, none of which is dropped from a table."""
    site, in_flight = (
        SiteLines(FrameTable.empty().learn(lessons(known), 64), 64),
        dict[int, list[list[int]]](),
    )
    for step, batch, of_pages in steps:
        match step:
            case "add":
                for page, lines in zip(of_pages, lessons(of_pages), strict=True):
                    site.add(batch, lines)
                    in_flight.setdefault(batch, []).append(page)
            case "confirm":
                counted = in_flight.pop(batch, [])[: len(of_pages)]
                site.confirm(batch, lessons(counted))
                known = known + counted
            case "replace":
                site.replace(FrameTable.empty().learn(lessons(of_pages), 64), [batch])
                in_flight.pop(batch, None)
                known = of_pages
            case "ask":
                assert site.counts_one_by_one(ASKED).tolist() == on_pages(known, in_flight)
            case _:
                assert site.counts_merged(ASKED).tolist() == on_pages(known, in_flight)

    assert site.page_count == len(known) + sum(map(len, in_flight.values()))
    assert site.counts_one_by_one(ASKED).tolist() == on_pages(known, in_flight)
    assert site.counts_merged(ASKED).tolist() == on_pages(known, in_flight)


def on_pages(known: Sequence[Sequence[int]], in_flight: Mapping[int, Sequence[Sequence[int]]]) -> list[int]:
    """Return on how many pages each line is."""
    every_page = [*known, *(page for of_pages in in_flight.values() for page in of_pages)]
    return [sum(line in page for page in every_page) for line in ASKED.tolist()]


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
