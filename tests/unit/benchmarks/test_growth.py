import argparse

import msgspec
import pytest

from benchmarks.growing_crawl import BLOCK_PAGES, COPIES, WORDS, GrowingCrawl, url_of
from benchmarks.growing_index import Found, check_events
from benchmarks.growth import portions, sizes_of
from benchmarks.redis_readings import kind_of
from neardup_stream.event_parts import EventMatch, EventPage
from neardup_stream.events import DuplicateFound, event_type
from neardup_stream.message import Message

COUNT = 4 * BLOCK_PAGES


@pytest.fixture(scope="module")
def crawl() -> GrowingCrawl:
    grown = GrowingCrawl()
    grown.next_records(COUNT)
    return grown


def words_of(value: bytes | None) -> list[str]:
    page: dict[str, str] = msgspec.json.decode(value or b"")
    return page["text"].split()


def reported(number: int, *matches: int) -> Message:
    """Return the event of a page with these matches."""
    page = EventPage(
        id=url_of(number),
        url=url_of(number),
        version=1,
        fetched_at="2026-01-01T00:00:00Z",
        fingerprint="1",
    )
    found = DuplicateFound(
        page=page,
        kind="near",
        matches=tuple(
            EventMatch(id=url_of(each), url=url_of(each), version=1, distance_bits=2) for each in matches
        ),
        matches_total=len(matches),
    )
    headers = [("ce_type", event_type("duplicate").encode())]
    return Message(key=b"", value=msgspec.json.encode(found), headers=headers)


def test_a_crawl_made_in_portions_is_the_crawl_made_at_once() -> None:
    whole, grown = GrowingCrawl(), GrowingCrawl()
    records = whole.next_records(3 * BLOCK_PAGES)
    assert grown.next_records(BLOCK_PAGES) + grown.next_records(2 * BLOCK_PAGES) == records
    assert grown.origins == whole.origins


def test_a_copy_is_its_earlier_original_but_for_two_words() -> None:
    crawl = GrowingCrawl()
    texts = [words_of(record.value) for record in crawl.next_records(COUNT)]
    copies = [number for number, origin in enumerate(crawl.origins) if origin != number]
    assert len(copies) == crawl.copies_from(0) == pytest.approx(COPIES * (COUNT - BLOCK_PAGES), rel=0.1)
    for number in copies:
        origin = crawl.origins[number]
        assert origin < number
        assert crawl.origins[origin] == origin
        assert sum(a != b for a, b in zip(texts[number], texts[origin], strict=True)) <= 2
    assert {len(text) for text in texts} == {WORDS}


def test_pages_in_clusters_are_copies_and_what_they_copy(crawl: GrowingCrawl) -> None:
    pairs = [(number, origin) for number, origin in enumerate(crawl.origins) if origin != number]
    assert crawl.linked_count == len({number for pair in pairs for number in pair})


def test_a_pair_is_false_unless_both_are_of_one_original(crawl: GrowingCrawl) -> None:
    copy = next(number for number, origin in enumerate(crawl.origins) if origin != number)
    origin = crawl.origins[copy]
    assert check_events([reported(copy, origin)], crawl) == Found(copies=1, pairs=1, false_pairs=0)
    assert check_events([reported(copy, origin, origin + 1)], crawl) == Found(1, 2, 1)
    assert check_events([reported(origin, copy)], crawl) == Found(copies=0, pairs=1, false_pairs=0)


def test_a_page_is_reported_once(crawl: GrowingCrawl) -> None:
    with pytest.raises(AssertionError, match="two events"):
        check_events([reported(5, 4), reported(5, 4)], crawl)


@pytest.mark.parametrize(
    ("sizes", "window", "expected"),
    [
        ([10], 4, [(2, "filled"), (4, "decided"), (4, "measured")]),
        ([4, 20], 4, [(4, "measured"), (4, "filled"), (4, "filled"), (4, "decided"), (4, "measured")]),
        ([3, 8], 4, [(3, "measured"), (1, "decided"), (4, "measured")]),
    ],
)
def test_the_last_portion_before_a_size_is_a_window_and_the_one_before_it_is_decided(
    sizes: list[int], window: int, expected: list[tuple[int, str]]
) -> None:
    assert list(portions(sizes, window)) == expected


@pytest.mark.parametrize("text", ["0", "1500", "2000,1000", "1000,1000"])
def test_sizes_are_growing_multiples_of_a_block(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        sizes_of(text)
    assert sizes_of("1000,3000") == [1000, 3000]


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (b"nd:ab12:{3.0}:t0:0f", "index"),
        (b"nd:ab12:{3.0}:t1.0:0f", "index"),
        (b"nd:ab12:{3.0}:p1f", "records"),
        (b"nd:ab12:{c}:pages:1", "clusters"),
        (b"nd:ab12:{3.0}:f0f", "frames"),
        (b"nd:meta", "other"),
    ],
)
def test_a_key_is_of_the_kind_that_it_holds(key: bytes, kind: str) -> None:
    assert kind_of(key) == kind
