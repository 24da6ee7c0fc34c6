"""Pages of known sites are viewed together, and by the same bounds as each alone."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from neardup_stream.frames.lines import FrameConfig
from tests.pages_of_sites import framed_page
from tests.unit.pipeline.viewed_pages import EMPTY, SHOP, arrive, at, view, viewer


@settings(max_examples=100, deadline=None)
@given(
    markup_pages=st.integers(1, 32),
    landmark_pages=st.integers(1, 32),
    page_count=st.integers(24, 100),
    share=st.floats(0, 1),
    words=st.sampled_from([9, 60, 600]),
)
@example(markup_pages=20, landmark_pages=20, page_count=30, share=0.5, words=60)
@example(markup_pages=20, landmark_pages=20, page_count=30, share=0.5, words=9)
def test_a_known_site_is_viewed_by_the_bounds_of_any_site(
    *, markup_pages: int, landmark_pages: int, page_count: int, share: float, words: int
) -> None:
    """A copy teaches nothing, so its first view stays; it has the frame, and its original is in the table."""
    config = FrameConfig(markup_pages, landmark_pages)
    pages = [at(f"https://{SHOP}/{n}", framed_page(SHOP, "same", words=words)) for n in range(2)]
    original, copy = arrive(pages)
    (framed,) = arrive([framed_page(SHOP, "other")])
    assert framed.lines is not None
    assert copy.lines is not None
    seen = int(share * page_count)
    others = [np.array([number], np.uint32) for number in range(page_count - seen)]
    table = EMPTY.learn([framed.lines.hashes] * seen + others, 1024)
    of = viewer(config)
    if (original_view := view(of, [original], tables={SHOP: table})).lessons:
        table = table.learn([lesson.lines for lesson in original_view.lessons.values()], 1024)

    (viewed,) = view(of, [copy], batch=2).arrivals

    expected = of.content_of(copy, table)
    assert viewed.content_token_count == copy.lines.token_counts[expected].sum()
