"""Frames are taken out of the pages of a batch by what is stored of their sites and by what is in flight."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_lines
from neardup_stream.frames.lines import FrameConfig
from neardup_stream.pipeline.batch_views import Viewed
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.frame_reading import SETTLED_SITE_PAGES
from neardup_stream.pipeline.frame_views import FrameViewer
from tests.pages_of_sites import framed_page, framed_site
from tests.pipelines import essay, page_json
from tests.unit.pipeline.viewed_pages import (
    CONTENT_WORDS,
    EMPTY,
    SHOP,
    SKETCH,
    arrive,
    at,
    content_tokens,
    is_whole,
    taught_by,
    view,
    viewer,
)


def test_pages_of_one_batch_teach_each_other_in_either_direction() -> None:
    viewed = view(viewer(), arrive(framed_site(SHOP, 1, 6)))

    assert content_tokens(viewed) == [CONTENT_WORDS] * 6


def test_a_lone_page_of_a_site_stays_whole() -> None:
    arrivals = arrive([framed_page(SHOP, "one"), framed_page("other.example", "two")])

    viewed = view(viewer(), arrivals)

    assert viewed.arrivals == [
        msgspec.structs.replace(arrival, lines=None, page=arrival.page.without_content())
        for arrival in arrivals
    ]


def test_of_two_pages_each_keeps_the_lines_that_only_it_has() -> None:
    assert content_tokens(view(viewer(), arrive(framed_site(SHOP, 1, 2)))) == [CONTENT_WORDS] * 2


def test_a_page_is_none_of_the_pages_that_its_bounds_depend_on() -> None:
    """With two other pages one that has a line is enough, with three it is not."""
    pages = [framed_page(SHOP, "one"), framed_page(SHOP, "two"), framed_page("b.example", "three")]
    last = at(f"https://{SHOP}/three", pages[2])

    viewed = view(viewer(), arrive([*pages[:2], last]))

    assert content_tokens(viewed)[:2] == [CONTENT_WORDS] * 2


@pytest.mark.parametrize("edits", [0, 1])
def test_near_copies_of_a_page_teach_it_nothing(edits: int) -> None:
    pages = [
        at(f"https://{SHOP}/{row}", framed_page(SHOP, "same", words=400, edits=min(row, edits)))
        for row in range(8)
    ]

    assert all(is_whole(arrival) for arrival in view(viewer(), arrive(pages)).arrivals)


def test_copies_in_different_batches_teach_nothing() -> None:
    of = viewer()
    for batch in range(1, 9):
        (page,) = view(of, arrive([framed_page(SHOP, "same")], batch), batch).arrivals
        assert is_whole(page)


def test_a_copy_of_a_copy_teaches_nothing_after_the_original_is_finished() -> None:
    of = viewer()
    for batch in (1, 2):
        view(of, arrive([framed_page(SHOP, "same")], batch), batch)
    of.confirm(1, {SHOP: []})
    view(of, arrive([framed_page(SHOP, "same")], 3), batch=3)

    (other,) = view(of, arrive([framed_page(SHOP, "other")], 4), batch=4).arrivals

    assert is_whole(other)


def test_a_page_of_one_line_has_no_frame_and_teaches_none() -> None:
    of, pages = viewer(), arrive([page_json(str(number), essay(number)) for number in range(10)])

    viewed = view(of, pages)

    assert all(map(is_whole, viewed.arrivals))
    assert viewed.lessons == {}


def test_a_page_is_compared_with_the_latest_pages_that_share_a_band() -> None:
    """Nine others share its second band; its original came after them and shares the first."""
    texts = [" ".join(f"own{number}x{word}" for word in range(50)) + "\nThe end" for number in range(10)]
    pages = arrive([page_json(f"{number}", text) for number, text in enumerate([*texts, texts[-1]])])
    others = [
        msgspec.structs.replace(page, bands=number.to_bytes(4, "big") + bytes(4))
        for number, page in enumerate(pages[:9], start=1)
    ]
    original = msgspec.structs.replace(pages[9], bands=bytes([9] * 4 + [1] * 4))
    copy = msgspec.structs.replace(pages[10], bands=bytes([9] * 4 + [0] * 4))
    of, (site,) = viewer(), {page.site for page in pages}

    view(of, [*others, original])
    assert of._sites[site].page_count == 10
    view(of, [copy], batch=2)

    assert of._sites[site].page_count == 10


def test_the_lines_of_a_page_do_not_count_for_itself() -> None:
    """One more page than the bound have a line: each is on as many others as the bound."""
    config = FrameConfig(text_pages=3)
    shared = "the same words stand on every page of this site"
    for count, is_frame in ((3, False), (4, True)):
        pages = [
            page_json(f"{number}", f"{shared}\n" + " ".join(f"own{number}x{word}" for word in range(50)))
            for number in range(count)
        ]
        expected = 50 if is_frame else 60
        assert content_tokens(view(viewer(config), arrive(pages))) == [expected] * count


def test_a_line_that_one_page_repeats_is_on_one_page() -> None:
    config = FrameConfig(text_pages=2)
    refrain = "a refrain that comes again and again in this song of mine"
    pages = [
        page_json(f"{number}", f"{refrain}\n" * 9 + " ".join(f"own{number}x{word}" for word in range(50)))
        for number in range(2)
    ]

    assert all(is_whole(arrival) for arrival in view(viewer(config), arrive(pages)).arrivals)


def test_what_is_stored_of_a_site_counts_from_its_first_page_on() -> None:
    table = taught_by(arrive(framed_site(SHOP, 1, 5)))

    (page,) = view(viewer(), arrive(framed_site(SHOP, 9, 1)), tables={SHOP: table}).arrivals

    assert page.content_token_count == CONTENT_WORDS


@pytest.mark.parametrize("page_count", [0, 23, 24, SETTLED_SITE_PAGES - 1])
def test_a_new_design_is_learned_from_pages_of_its_first_batch(page_count: int) -> None:
    table = EMPTY.learn([np.array([number], np.uint32) for number in range(page_count)], 1024)

    viewed = view(viewer(), arrive(framed_site(SHOP, 1, 6)), tables={SHOP: table})

    assert content_tokens(viewed) == [CONTENT_WORDS] * 6


def test_on_a_settled_site_a_new_design_is_learned_from_pages_in_flight() -> None:
    of, tables = viewer(), {SHOP: EMPTY.learn([np.array([1], np.uint32)] * SETTLED_SITE_PAGES, 1024)}
    first = view(of, arrive(framed_site(SHOP, 1, 40)), tables=tables)
    assert len(first.lessons) > FrameConfig().markup_pages

    assert content_tokens(first) == [CONTENT_WORDS] * 40
    assert content_tokens(view(of, arrive(framed_site(SHOP, 41, 1), 40), batch=2)) == [CONTENT_WORDS]


def test_copies_of_a_page_teach_a_well_known_site_nothing() -> None:
    table = EMPTY.learn([np.array([number], np.uint32) for number in range(SETTLED_SITE_PAGES - 1)], 1024)
    pages = [at(f"https://{SHOP}/{n}", framed_page(SHOP, "same", words=200, edits=n % 9)) for n in range(20)]
    of = viewer()

    first = view(of, arrive(pages[:10]), tables={SHOP: table})
    second = view(of, arrive(pages[10:], 10), batch=2)

    assert len(first.lessons) == 1
    assert all(is_whole(arrival) for arrival in [*first.arrivals, *second.arrivals])


@pytest.mark.parametrize("scope", ["meta.shop", "domain"])
def test_pages_of_no_known_site_stay_whole_and_teach_nothing(scope: str) -> None:
    """Without the `meta` field, or with a URL that has no domain."""
    pages = [at(f"urn:page:{number}", page) for number, page in enumerate(framed_site(SHOP, 1, 6))]

    viewed = view(viewer(), arrive(pages, scope=scope))

    assert all(is_whole(arrival) and not arrival.site for arrival in viewed.arrivals)
    assert (viewed.lessons, viewed.tokens, viewed.frame_tokens) == ({}, 0, 0)


def test_a_site_may_be_named_by_meta() -> None:
    pages = [
        msgspec.json.encode({**msgspec.json.decode(page), "meta": {"shop": f"s{number % 2}"}})
        for number, page in enumerate(framed_site(SHOP, 1, 8))
    ]

    viewed = view(viewer(), arrive(pages, scope="meta.shop"))

    assert content_tokens(viewed) == [CONTENT_WORDS] * 8
    assert {lesson.site for lesson in viewed.lessons.values()} == {"s0", "s1"}


def test_a_page_with_too_few_tokens_is_left_alone_and_teaches_nothing() -> None:
    pages = [page_json(str(number), "nine words are too few for any page here") for number in range(20)]

    viewed = view(viewer(), arrive(pages))

    assert all(is_whole(arrival) and not arrival.has_enough_tokens for arrival in viewed.arrivals)
    assert viewed.lessons == {}


def test_tokens_that_were_taken_out_are_counted() -> None:
    arrivals = arrive([*framed_site(SHOP, 1, 6), framed_page("other.example", "one")])
    total = sum(arrival.token_count for arrival in arrivals)

    viewed = view(viewer(), arrivals)

    assert viewed.tokens == total
    assert viewed.frame_tokens == sum(each.token_count for each in arrivals[:6]) - 6 * CONTENT_WORDS


def test_a_view_has_the_sketch_of_the_content_and_keeps_the_whole_beside_it() -> None:
    arrivals = arrive(framed_site(SHOP, 1, 6))
    content = " ".join(f"page1xword{number}" for number in range(CONTENT_WORDS))
    alone, _ = fingerprint_lines([content], SimhashConfig(), SKETCH)

    first, before = view(viewer(), arrivals).arrivals[0], arrivals[0]

    assert first.sketch == alone.sketches[0].tobytes()
    assert first.shingle_count == CONTENT_WORDS - 2
    assert first.bands == alone.bands[0].astype(">u4").tobytes()
    assert (first.whole_count, first.whole_bands) == (before.shingle_count, before.bands)
    assert first.whole.startswith(before.sketch[:32])
    assert (first.fingerprint, first.text_fingerprint) == (before.fingerprint, before.text_fingerprint)


def test_of_a_page_with_next_to_no_content_the_bands_are_those_of_the_whole_text() -> None:
    table = taught_by(arrive(framed_site(SHOP, 1, 5)))
    (before,) = arrive([framed_page(SHOP, "empty", words=9)])

    (page,) = view(viewer(), [before], tables={SHOP: table}).arrivals

    assert (page.content_token_count, page.shingle_count) == (9, 7)
    assert page.bands == page.whole_bands == before.bands


def test_a_landmark_is_frame_earlier_than_other_markup() -> None:
    lines = [f"line {number} of what all pages of the site have" for number in range(4)]
    common = "".join(f"<p>{line}</p>" for line in lines)

    def page(name: str, element: str) -> bytes:
        words = " ".join(f"{name}x{number}" for number in range(CONTENT_WORDS))
        html = f"<{element}>{common}</{element}><p>{words}</p>"
        return msgspec.json.encode({"url": f"https://{SHOP}/{name}", "html": html})

    others = [page_json(f"{number}", f"{number} others\nof the site") for number in range(9)]
    table = taught_by(arrive(others)).learn(
        [arrival.lines.hashes for arrival in arrive([page("a", "p"), page("b", "p")]) if arrival.lines], 1024
    )

    viewed = view(viewer(), arrive([page("c", "nav")]), tables={SHOP: table})
    beside = view(viewer(), arrive([page("c", "div")]), tables={SHOP: table})
    in_both = page("c", "nav").replace(b"<p>cx0 ", f"{common}<p>cx0 ".encode())
    repeated = view(viewer(), arrive([in_both]), tables={SHOP: table})

    unknown = FrameViewer(FrameConfig(), lambda _page: None, VerdictConfig(SKETCH))
    unread = view(unknown, arrive([page("c", "nav")]), tables={SHOP: table})

    assert content_tokens(viewed) == [CONTENT_WORDS]
    assert is_whole(beside.arrivals[0])
    assert is_whole(repeated.arrivals[0])
    assert is_whole(unread.arrivals[0])


@settings(max_examples=30, deadline=None)
@given(st.permutations([f"{site}.example" for site in "aabbbcccc"]))
def test_the_view_of_a_page_does_not_depend_on_pages_of_other_sites(sites: list[str]) -> None:
    """Whichever stand beside or between them."""
    pages = {site: framed_site(site, 1, sites.count(site)) for site in set(sites)}
    alone = {
        (arrival.site, arrival.page.id): (arrival.sketch, arrival.whole, arrival.bands)
        for of_site in pages.values()
        for arrival in view(viewer(), arrive(of_site)).arrivals
    }

    together = view(viewer(), arrive([pages[site].pop(0) for site in sites])).arrivals

    assert {
        (arrival.site, arrival.page.id): (arrival.sketch, arrival.whole, arrival.bands)
        for arrival in together
    } == alone


def test_an_empty_batch_is_viewed() -> None:
    assert view(viewer(), []) == Viewed([], {}, 0, 0)


@pytest.mark.parametrize("text", ["one two", essay(1)])
def test_a_page_of_few_tokens_or_one_line_has_no_frame(text: str) -> None:
    (arrival,) = arrive([at(f"https://{SHOP}/1", page_json("a", text))])
    _, (lines,) = fingerprint_lines([text], SimhashConfig())
    arrival = msgspec.structs.replace(arrival, lines=lines)

    assert viewer().content_of(arrival, taught_by([arrival], 20)).tolist() == [True]
