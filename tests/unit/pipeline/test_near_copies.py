"""Which pages of a crawl nearly equal an earlier one, as far as is remembered."""

from neardup_stream.fingerprints.simhash import SimhashConfig
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.arrival import Arrival
from neardup_stream.pipeline.likeness import VerdictConfig
from neardup_stream.pipeline.near_copies import NearCopies
from neardup_stream.pipeline.preparation import Preparation
from neardup_stream.pipeline.scopes import EVERYTHING, scope_by
from neardup_stream.streams.memory import numbered
from neardup_stream.wire.pages import PageDecoder
from tests.pipelines import essay, page_json

VERDICT = VerdictConfig(SketchConfig())


def arrivals(*pages: bytes) -> list[Arrival]:
    preparation = Preparation(
        decoder=PageDecoder(),
        extraction="all_text",
        simhash=SimhashConfig(),
        sketch=SketchConfig(),
        scope_of=scope_by(EVERYTHING),
        meters=NoMeters(),
    )
    return preparation.prepare(numbered(list(pages))).arrivals


def test_a_page_with_the_same_text_or_nearly_the_same_is_a_copy() -> None:
    copies = NearCopies(VERDICT)

    pages = arrivals(
        page_json("a", essay(1)),
        page_json("b", essay(2)),
        page_json("same", essay(1)),
        page_json("edited", essay(2, edits=[50])),
    )

    assert copies.add(pages) == [False, False, True, True]


def test_a_page_that_shares_much_but_not_nearly_all_is_no_copy() -> None:
    copies = NearCopies(VERDICT)

    pages = arrivals(page_json("a", essay(1)), page_json("b", essay(1, edits=range(0, 200, 15))))

    assert copies.add(pages) == [False, False]


def test_another_crawl_of_a_page_is_a_copy_whatever_it_says() -> None:
    copies = NearCopies(VERDICT)

    assert copies.add(arrivals(page_json("a", essay(1)))) == [False]
    assert copies.add(arrivals(page_json("a", essay(2)))) == [True]


def test_only_the_latest_pages_are_remembered() -> None:
    copies = NearCopies(VERDICT, max_pages=2)

    copies.add(arrivals(*(page_json(f"p{topic}", essay(topic)) for topic in range(3))))

    assert copies.add(arrivals(page_json("new", essay(1, edits=[9])))) == [True]
    assert copies.add(arrivals(page_json("p0", essay(0)), page_json("old", essay(2)))) == [False, False]
