"""Which pages are lessons about the frame of their site."""

import msgspec
import numpy as np
import pytest

from neardup_stream.clusters.placements import Decided
from neardup_stream.frames.lines import FrameConfig
from neardup_stream.match import Match
from neardup_stream.message import Partition, Position
from neardup_stream.meters import Outcome
from neardup_stream.page import Fingerprint64, Handle, PageId
from neardup_stream.pipeline.arrival import Lesson, Prepared
from neardup_stream.pipeline.batch import Decisions
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.conclusion import conclude
from neardup_stream.pipeline.decision_record import DecisionRecord
from neardup_stream.pipeline.frame_reading import (
    SETTLED_SITE_PAGES,
    TAUGHT_OF_REDESIGNED,
    TAUGHT_OF_SETTLED,
)
from neardup_stream.pipeline.frame_views import FrameViewer, is_distinct
from neardup_stream.pipeline.page_differences import EDITED_TOKENS
from tests.framed_pages import outside_landmarks
from tests.pages_of_sites import framed_page, framed_site
from tests.unit.pipeline.viewed_pages import SHOP, SKETCH, arrive, at, taught_by, view, viewer


def test_every_page_of_a_known_site_that_is_no_copy_has_a_lesson() -> None:
    arrivals = arrive([framed_page(SHOP, "one"), framed_page(SHOP, "other"), framed_page(SHOP, "third")])

    viewed = view(viewer(), arrivals)

    assert list(viewed.lessons) == [arrival.record.position for arrival in arrivals]
    for arrival in arrivals:
        assert arrival.lines is not None
        lesson = viewed.lessons[arrival.record.position]
        assert (lesson.site, lesson.lines.tolist()) == (SHOP, sorted(set(arrival.lines.hashes.tolist())))
    assert all(arrival.lines is None for arrival in viewed.arrivals)


@pytest.mark.parametrize("times", [0, SETTLED_SITE_PAGES - 1], ids=["young", "known"])
def test_a_lesson_keeps_no_more_of_its_page_than_is_taught(times: int) -> None:
    """Lessons wait for thousands of pages, and a large page has a million lines."""
    many = "\n".join(f"line {number}" for number in range(5000))
    page = msgspec.json.encode({"url": f"https://{SHOP}/many", "text": many})
    of = FrameViewer(FrameConfig(max_lines=100), outside_landmarks, VerdictConfig(SKETCH))
    tables = {SHOP: taught_by(arrive([framed_page(SHOP, "one")]), times=times)} if times else None

    (lesson,) = view(of, arrive([page]), tables=tables).lessons.values()

    assert lesson.lines.size == 100
    assert lesson.lines.base is None


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
    table = taught_by(arrivals[:1], times=SETTLED_SITE_PAGES)

    assert len(view(of, arrivals, tables={SHOP: table}).lessons) == 40
    later = arrive(framed_site(SHOP, 41, 80), 40)
    sampled = [each.record.position for each in later if each.text_fingerprint % TAUGHT_OF_SETTLED == 0]
    assert 0 < len(sampled) < 20
    assert list(view(of, later, batch=2).lessons) == sampled


@pytest.mark.parametrize(
    ("known", "one_in"),
    [
        pytest.param(framed_page(SHOP, "one"), TAUGHT_OF_SETTLED, id="its frame is known"),
        pytest.param(framed_page("other.example", "one"), TAUGHT_OF_REDESIGNED, id="a new design"),
    ],
)
def test_few_pages_of_a_well_known_site_teach_unless_it_has_a_new_design(known: bytes, one_in: int) -> None:
    arrivals = arrive(framed_site(SHOP, 1, 100))

    viewed = view(viewer(), arrivals, tables={SHOP: taught_by(arrive([known]), times=SETTLED_SITE_PAGES)})

    sampled = [each.record.position for each in arrivals if each.text_fingerprint % one_in == 0]
    assert 0 < len(sampled) < 50
    assert list(viewed.lessons) == sampled


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


def test_siblings_whose_frame_is_nearly_all_of_their_text_are_learned_from() -> None:
    arrivals = arrive([framed_page(SHOP, f"page{number}x", words=2 * EDITED_TOKENS) for number in range(8)])

    viewed = view(viewer(), arrivals)

    assert len(viewed.lessons) == 8
    assert [arrival.is_sibling for arrival in viewed.arrivals] == [False, *[True] * 7]


def test_siblings_that_differ_in_a_sentence_are_learned_from_once_a_third_page_repeats_the_rest() -> None:
    arrivals = arrive([framed_page(SHOP, f"page{number}x", words=12) for number in range(8)])

    viewed = view(viewer(), arrivals)

    assert len(viewed.lessons) == 6
    assert [arrival.is_sibling for arrival in viewed.arrivals] == [*[False] * 3, *[True] * 5]


def test_a_sibling_is_distinct_however_much_it_shares_but_no_exact_copy() -> None:
    assert is_distinct([match(containment=0.97)], is_sibling=True)
    assert not is_distinct([match("exact", 1.0)], is_sibling=True)


@pytest.mark.parametrize(
    ("outcome", "is_distinct", "is_taught"),
    [
        ("unique", True, True),
        ("duplicate", True, True),
        ("unique", False, False),
        ("undecided", True, False),
        ("superseded", True, False),
    ],
)
def test_a_page_with_a_decision_record_of_its_own_teaches_if_it_was_judged_and_is_distinct(
    outcome: Outcome, *, is_distinct: bool, is_taught: bool
) -> None:
    position = Position(Partition("pages", 0), 3)
    lesson = Lesson(SHOP, np.array([1, 2], np.uint64))
    prepared = Prepared([], [], [], 0)._replace(lessons={position: lesson})
    run = Decisions(
        positions=[position],
        decided={position: Decided(1, DecisionRecord(outcome).pack())},
        distinct={position} if is_distinct else set(),
    )

    assert conclude(prepared, [run]).follow_up.lessons == [lesson] * is_taught
