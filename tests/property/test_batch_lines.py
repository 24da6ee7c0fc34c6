"""Laws of the lines of a batch: counts are of the other pages of a page's site, known and taught."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.frames.table import LineHashes
from neardup_stream.pipeline.batch_lines import BatchLines

MAX_LINES = 4

of_page = st.lists(st.integers(0, 9), min_size=1, max_size=8)
sites = st.lists(st.lists(st.tuples(of_page, st.booleans()), min_size=1, max_size=5), min_size=1, max_size=4)


def lines(hashes: Sequence[int]) -> LineHashes:
    return np.array(hashes, np.uint32)


@given(sites, st.integers(0, 3))
def test_a_line_counts_on_each_other_page_of_its_site_that_has_taught(
    of_sites: list[list[tuple[list[int], bool]]], known: int
) -> None:
    pages = [page for of_site in of_sites for page, _ in of_site]
    batch = BatchLines(
        list(map(lines, pages)),
        [len(of_site) for of_site in of_sites],
        np.full(sum(map(len, pages)), known),
        MAX_LINES,
    )
    taught = [teaches for of_site in of_sites for _, teaches in of_site]

    lessons = [lesson.tolist() for lesson in batch.lessons()]
    batch.teach([place for place, teaches in enumerate(taught) if teaches])

    assert lessons == [sorted(set(page))[:MAX_LINES] for page in pages]
    for places in batch.sites:
        for place in places:
            others = [lessons[other] for other in places if taught[other]]
            assert batch.counts(np.array([place])).tolist() == [
                known + sum(line in lesson for lesson in others) - taught[place] for line in pages[place]
            ]
