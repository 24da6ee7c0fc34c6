"""Frames are taken out of the pages of a batch by what is stored of their sites and by what is under way."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_lines
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.frames.lines import FrameConfig
from neardup_stream.frames.table import FrameTable
from neardup_stream.match import Match
from neardup_stream.message import Partition, Position, Record
from neardup_stream.meters import NoMeters
from neardup_stream.page import Fingerprint64, Handle, PageId
from neardup_stream.pipeline.arrival import Arrival
from neardup_stream.pipeline.batch_views import Viewed
from neardup_stream.pipeline.decode import Decode
from neardup_stream.pipeline.extract import Extract
from neardup_stream.pipeline.fingerprint import Fingerprint
from neardup_stream.pipeline.frame_reading import SETTLED_PAGES, TAUGHT_OF_SETTLED
from neardup_stream.pipeline.frame_views import FrameViewer, is_distinct
from neardup_stream.pipeline.likeness import VerdictConfig
from neardup_stream.pipeline.near_copies import EDITED_TOKENS
from neardup_stream.pipeline.preparation import Preparation
from neardup_stream.pipeline.scopes import scope_by
from neardup_stream.wire.pages import PageDecoder
from tests.framed_pages import outside_landmarks
from tests.pages_of_sites import framed_page, framed_site
from tests.pipelines import essay, page_json

SKETCH = SketchConfig()
SHOP = "shop.example"
CONTENT_WORDS = 60
EMPTY = FrameTable.empty()


def viewer(config: FrameConfig | None = None) -> FrameViewer:
    return FrameViewer(config or FrameConfig(), outside_landmarks, VerdictConfig(SKETCH))


def arrive(pages: Sequence[bytes], first: int = 0, scope: str = "host") -> list[Arrival]:
    """Pages as they come out of preparation, at offsets from `first` on."""
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
    return of.view(arrivals, batch, {site: (tables or {}).get(site, EMPTY) for site in sites}, SKETCH)


def at(url: str, page: bytes) -> bytes:
    """The same page at another place."""
    return msgspec.json.encode({**msgspec.json.decode(page), "url": url})


def content_tokens(viewed: Viewed) -> list[int]:
    return [arrival.content_token_count for arrival in viewed.arrivals]


def is_whole(arrival: Arrival) -> bool:
    return arrival.content_token_count == arrival.token_count and not arrival.whole


def taught_by(arrivals: Iterable[Arrival], times: int = 1) -> FrameTable:
    """What is stored of a site of which so many pages had the lines of these."""
    lines = [arrival.lines.hashes for arrival in arrivals if arrival.lines is not None]
    return EMPTY.learn(lines * times, 1024)


def test_pages_of_one_batch_teach_each_other_in_either_direction() -> None:
    viewed = view(viewer(), arrive(framed_site(SHOP, 1, 6)))

    assert content_tokens(viewed) == [CONTENT_WORDS] * 6


def test_a_lone_page_of_a_site_stays_whole() -> None:
    arrivals = arrive([framed_page(SHOP, "one"), framed_page("other.example", "two")])

    viewed = view(viewer(), arrivals)

    assert viewed.arrivals == [
        arrival._replace(lines=None, page=arrival.page.without_content()) for arrival in arrivals
    ]


def test_of_two_pages_each_keeps_the_lines_that_only_it_has() -> None:
    assert content_tokens(view(viewer(), arrive(framed_site(SHOP, 1, 2)))) == [CONTENT_WORDS] * 2


def test_pages_of_earlier_batches_that_are_in_flight_teach_those_of_later_ones() -> None:
    of = viewer()
    view(of, arrive(framed_site(SHOP, 1, 4)), batch=1)

    assert content_tokens(view(of, arrive(framed_site(SHOP, 5, 1), 4), batch=2)) == [CONTENT_WORDS]


def test_what_a_batch_taught_is_taken_back_where_its_pages_turn_out_to_be_no_lessons() -> None:
    of = viewer()
    view(of, arrive(framed_site(SHOP, 1, 4)), batch=1)
    of.confirm(1, {SHOP: []})

    (alone,) = view(of, arrive(framed_site(SHOP, 5, 1), 4), batch=2).arrivals

    assert is_whole(alone)


def test_what_other_batches_taught_outlasts_a_finished_one() -> None:
    of = viewer()
    view(of, arrive(framed_site(SHOP, 1, 4)), batch=1)
    view(of, arrive(framed_site(SHOP, 5, 4), 4), batch=2)
    of.confirm(1, {SHOP: []})

    assert content_tokens(view(of, arrive(framed_site(SHOP, 9, 1), 8), batch=3)) == [CONTENT_WORDS]


@pytest.mark.parametrize("count", [4, 40])
def test_lessons_that_are_confirmed_count_as_before(count: int) -> None:
    one, other = viewer(), viewer()
    arrivals = arrive(framed_site(SHOP, 1, count))
    for of in (one, other):
        view(of, arrivals, batch=1)
    one.confirm(1, {SHOP: [each.lines.hashes for each in arrivals if each.lines is not None]})

    later = arrive(framed_site(SHOP, 100, 3), count)
    assert view(one, later, batch=2).arrivals == view(other, later, batch=2).arrivals


def test_a_table_with_pages_of_others_takes_the_place_of_what_was_known() -> None:
    of = viewer()
    view(of, arrive(framed_site(SHOP, 1, 4)), batch=1)
    of.replace(SHOP, EMPTY, [1])

    (alone,) = view(of, arrive(framed_site(SHOP, 5, 1), 4), batch=2).arrivals

    assert is_whole(alone)


def test_confirming_lessons_of_a_site_that_was_forgotten_is_no_error() -> None:
    of = viewer()
    view(of, arrive(framed_site(SHOP, 1, 4)), batch=1)
    of.forget(SHOP)
    of.confirm(1, {SHOP: []})
    of.replace(SHOP, EMPTY, [1])

    assert is_whole(view(of, arrive(framed_site(SHOP, 5, 1), 4), batch=2).arrivals[0])


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
        page._replace(bands=number.to_bytes(4, "big") + bytes(4))
        for number, page in enumerate(pages[:9], start=1)
    ]
    original = pages[9]._replace(bands=bytes([9] * 4 + [1] * 4))
    copy = pages[10]._replace(bands=bytes([9] * 4 + [0] * 4))
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


@pytest.mark.parametrize("page_count", [0, 23, 24, SETTLED_PAGES - 1])
def test_a_new_design_is_learned_from_pages_of_its_first_batch(page_count: int) -> None:
    table = EMPTY.learn([np.array([number], np.uint32) for number in range(page_count)], 1024)

    viewed = view(viewer(), arrive(framed_site(SHOP, 1, 6)), tables={SHOP: table})

    assert content_tokens(viewed) == [CONTENT_WORDS] * 6


def test_on_a_settled_site_a_new_design_is_learned_from_pages_in_flight() -> None:
    of, tables = viewer(), {SHOP: EMPTY.learn([np.array([1], np.uint32)] * SETTLED_PAGES, 1024)}
    first = view(of, arrive(framed_site(SHOP, 1, 40)), tables=tables)
    assert len(first.lessons) > FrameConfig().markup_pages

    assert content_tokens(first) == [CONTENT_WORDS] * 40
    assert content_tokens(view(of, arrive(framed_site(SHOP, 41, 1), 40), batch=2)) == [CONTENT_WORDS]


def test_copies_of_a_page_teach_a_well_known_site_nothing() -> None:
    table = EMPTY.learn([np.array([number], np.uint32) for number in range(SETTLED_PAGES - 1)], 1024)
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

    assert all(is_whole(arrival) and not arrival.is_decided for arrival in viewed.arrivals)
    assert viewed.lessons == {}


def test_every_page_of_a_known_site_that_is_no_copy_has_a_lesson() -> None:
    arrivals = arrive([framed_page(SHOP, "one"), framed_page(SHOP, "other"), framed_page(SHOP, "third")])

    viewed = view(viewer(), arrivals)

    assert list(viewed.lessons) == [arrival.record.position for arrival in arrivals]
    for arrival in arrivals:
        assert arrival.lines is not None
        lesson = viewed.lessons[arrival.record.position]
        assert (lesson.site, lesson.lines.tolist()) == (SHOP, sorted(set(arrival.lines.hashes.tolist())))
    assert all(arrival.lines is None for arrival in viewed.arrivals)


@pytest.mark.parametrize("edits", [0, 1, 25])
def test_a_copy_has_no_lesson(edits: int) -> None:
    page = framed_page(SHOP, "same", words=100)
    copy = at(f"https://{SHOP}/copy", framed_page(SHOP, "same", words=100, edits=edits))
    arrivals = arrive([page, copy, framed_page(SHOP, "other")])

    viewed = view(viewer(), arrivals)

    assert list(viewed.lessons) == [arrivals[0].record.position, arrivals[2].record.position]


def test_a_copy_of_a_page_that_was_decided_long_ago_still_has_no_lesson() -> None:
    of = viewer()
    view(of, arrive([framed_page(SHOP, "same")]), batch=1)
    of.confirm(1, {SHOP: []})

    viewed = view(of, arrive([at(f"https://{SHOP}/copy", framed_page(SHOP, "same", edits=2))], 1), batch=2)

    assert viewed.lessons == {}


def test_a_viewer_that_learns_takes_so_many_lessons_of_a_well_known_site_and_then_samples() -> None:
    of = FrameViewer(FrameConfig(), outside_landmarks, VerdictConfig(SKETCH), most_lessons=40)
    arrivals = arrive(framed_site(SHOP, 1, 40))
    table = taught_by(arrivals[:1], times=SETTLED_PAGES)

    assert len(view(of, arrivals, tables={SHOP: table}).lessons) == 40
    later = arrive(framed_site(SHOP, 41, 80), 40)
    sampled = [each.record.position for each in later if each.text_fingerprint % TAUGHT_OF_SETTLED == 0]
    assert 0 < len(sampled) < 20
    assert list(view(of, later, batch=2).lessons) == sampled


@pytest.mark.parametrize(("is_redesigned", "one_in"), [(False, 16), (True, 4)])
def test_few_pages_of_a_well_known_site_teach_unless_it_has_a_new_design(
    *, is_redesigned: bool, one_in: int
) -> None:
    arrivals = arrive(framed_site(SHOP, 1, 100))
    table = taught_by(arrivals[:1], times=SETTLED_PAGES)
    if is_redesigned:
        table = taught_by(arrive([framed_page("other.example", "one")]), times=SETTLED_PAGES)

    viewed = view(viewer(), arrivals, tables={SHOP: table})

    sampled = [each.record.position for each in arrivals if each.text_fingerprint % one_in == 0]
    assert 0 < len(sampled) < 50
    assert list(viewed.lessons) == sampled


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

    others = [page_json(f"{number}", f"{number} others of the site") for number in range(9)]
    table = taught_by(arrive(others)).learn(
        [arrival.lines.hashes for arrival in arrive([page("a", "p"), page("b", "p")]) if arrival.lines], 1024
    )

    viewed = view(viewer(), arrive([page("c", "nav")]), tables={SHOP: table})
    beside = view(viewer(), arrive([page("c", "div")]), tables={SHOP: table})
    in_both = page("c", "nav").replace(b"<p>cx0 ", f"{common}<p>cx0 ".encode())
    repeated = view(viewer(), arrive([in_both]), tables={SHOP: table})

    assert content_tokens(viewed) == [CONTENT_WORDS]
    assert is_whole(beside.arrivals[0])
    assert is_whole(repeated.arrivals[0])


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


def match(kind: str = "near", containment: float | None = None) -> Match:
    return Match(
        handle=Handle(1),
        id=PageId("other"),
        url="other",
        version=1,
        distance_bits=0,
        kind="exact" if kind == "exact" else "near",
        fingerprint=Fingerprint64(0),
        rank=1,
        resemblance=containment,
        containment=containment,
        contained_in=1.0,
    )


def test_a_page_is_distinct_unless_it_nearly_equals_another() -> None:
    assert is_distinct([])
    assert is_distinct([match(containment=0.89), match(containment=0.5)])
    assert not is_distinct([match(containment=0.5), match(containment=0.9)])
    assert not is_distinct([match("exact", 1.0)])


@pytest.mark.parametrize(("known_pages", "size_bytes"), [(9, 100), (10, 40)])
def test_on_a_young_site_all_samples_of_the_whole_text_are_kept(known_pages: int, size_bytes: int) -> None:
    pages = arrive(framed_site(SHOP, 1, 2))

    viewed = view(viewer(), pages[:1], tables={SHOP: taught_by(pages[1:], times=known_pages)})

    assert [len(arrival.whole) for arrival in viewed.arrivals] == [size_bytes]


@pytest.mark.parametrize("words", [40, 12])
def test_siblings_whose_frame_is_nearly_all_of_their_text_are_learned_from(words: int) -> None:
    arrivals = arrive([framed_page(SHOP, f"page{number}x", words=words) for number in range(8)])

    viewed = view(viewer(), arrivals)

    is_read = words > EDITED_TOKENS
    assert len(viewed.lessons) == (8 if is_read else 1)
    assert [arrival.is_sibling for arrival in viewed.arrivals] == [False, *[is_read] * 7]


def test_a_sibling_is_distinct_however_much_it_shares_but_no_exact_copy() -> None:
    assert is_distinct([match(containment=0.97)], is_sibling=True)
    assert not is_distinct([match("exact", 1.0)], is_sibling=True)
