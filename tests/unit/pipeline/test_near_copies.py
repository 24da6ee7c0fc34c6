"""Which pages nearly equal an earlier one of their site, as far as is remembered."""

from collections.abc import Sequence
from random import Random

import msgspec
import pytest

from neardup_stream.archive.texts import TEXTS
from neardup_stream.errors import ConfigError, InvariantBroken
from neardup_stream.fingerprints.simhash import SimhashConfig
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.decode import Decode
from neardup_stream.pipeline.extract import Extract
from neardup_stream.pipeline.fingerprint import Fingerprint
from neardup_stream.pipeline.near_copies import NearCopies, SeenPage
from neardup_stream.pipeline.preparation import Preparation
from neardup_stream.pipeline.scopes import EVERYTHING, scope_by
from neardup_stream.streams.memory.streams import numbered
from neardup_stream.wire.pages import PageDecoder
from tests.pages_of_sites import framed_page
from tests.pipelines import essay, page_json

VERDICT = VerdictConfig(SketchConfig())
SHOP = "shop.example"


def seen(*pages: bytes) -> list[SeenPage]:
    """Return pages with their lines, also those of a single one."""
    preparation = Preparation(
        Decode(PageDecoder()),
        Extract("all_text"),
        Fingerprint(
            SimhashConfig(), SketchConfig(), scope_by(EVERYTHING), scope_by("host"), frozenset({TEXTS})
        ),
        NoMeters(),
    )
    return [
        SeenPage(arrival, arrival, is_young=True)
        for arrival in preparation.prepare(numbered(list(pages))).arrivals
    ]


def copies_after(first: Sequence[bytes], then: bytes, max_bytes: int = 1 << 20) -> bool:
    copies = NearCopies(VERDICT, max_bytes)
    for page in seen(*first):
        copies.find_and_remember([[page]])
    (relation,) = copies.find_and_remember([seen(then)])
    return relation == "copy"


@pytest.mark.parametrize("edits", [[], [50], range(0, 200, 15)])
def test_a_page_that_differs_in_single_words_is_a_copy(edits: Sequence[int]) -> None:
    assert copies_after([page_json("a", essay(1))], page_json("b", essay(1, edits=edits)))


def test_a_page_with_half_of_its_words_replaced_is_no_copy() -> None:
    assert not copies_after([page_json("a", essay(1))], page_json("b", essay(1, edits=range(0, 200, 2))))


def test_a_sibling_that_shares_four_fifths_of_its_text_as_whole_lines_is_no_copy() -> None:
    first, second = (framed_page(SHOP, name) for name in ("one", "two"))

    assert not copies_after([first], second)


def sentence_pages(count: int, sentence_words: int = 12) -> list[bytes]:
    """Pages of one site that are a frame of 220 words, and a sentence each."""
    return [framed_page(SHOP, f"page{number}x", words=sentence_words) for number in range(count)]


def test_pages_that_differ_in_a_sentence_are_siblings_where_the_site_repeats_the_rest() -> None:
    *earlier, last = sentence_pages(4)

    assert copies_after(earlier[:2], last)
    assert not copies_after(earlier, last)


def test_pages_that_differ_in_a_sentence_are_copies_where_other_pages_of_the_site_are_others() -> None:
    *copies, last = sentence_pages(4)
    others = [msgspec.json.encode({"url": f"https://{SHOP}/{n}", "text": essay(n)}) for n in range(4)]

    assert copies_after([*others, *copies], last)


def test_a_sentence_in_a_long_page_is_no_content_of_its_own() -> None:
    article = f"<p>{essay(1)}</p><p>{essay(2)}</p><footer>".encode()
    pages = [page.replace(b"<footer>", article) for page in sentence_pages(8)]

    assert copies_after(pages[:-1], pages[-1])


def test_pages_that_differ_in_a_date_or_a_number_are_copies_whatever_the_site_repeats() -> None:
    short = [
        msgspec.json.encode(
            {"url": f"https://{SHOP}/{n}", "html": f"<p>{essay(1)[:400]}</p><p>{n} {n} {n} a {n}</p>"}
        )
        for n in range(10, 30)
    ]

    assert copies_after(short[:-1], short[-1])


def test_crawls_of_one_page_are_one_of_the_pages_that_repeat_something() -> None:
    first, second, last = sentence_pages(3)
    again = [second.replace(b"word3", b"other%d" % number) for number in range(5)]

    assert copies_after([first, *again], last)


def test_a_page_of_very_many_lines_is_not_read_for_what_the_site_repeats() -> None:
    *earlier, last = sentence_pages(4)
    many = b"".join(b"<p>line %d</p>" % number for number in range(1001))
    long = [page.replace(b"<footer>", many + b"<footer>").replace(b"page", b"long") for page in earlier]

    assert not copies_after(earlier, last)
    assert copies_after([*earlier[:2], *long[:2]], last)


def test_of_many_siblings_that_nearly_equal_a_page_only_three_are_read_and_none_makes_it_a_copy() -> None:
    *earlier, last = sentence_pages(30, sentence_words=8)

    assert not copies_after(earlier, last)


def test_another_crawl_of_a_page_is_a_copy_whatever_it_says() -> None:
    assert copies_after([page_json("a", essay(1))], page_json("a", essay(2)))


def test_a_copy_on_another_site_is_none_of_this_site() -> None:
    assert not copies_after([framed_page("one.example", "same")], framed_page("two.example", "same"))


def test_a_copy_is_found_among_many_pages_of_its_site() -> None:
    many = [page_json(f"p{topic}", essay(topic)) for topic in range(100)]

    assert copies_after(many, page_json("new", essay(5, edits=[9])))


def test_only_the_latest_pages_are_remembered() -> None:
    pages = [page_json(f"p{topic}", essay(topic)) for topic in range(20)]
    room = 10 * 8192

    assert copies_after(pages, page_json("new", essay(19, edits=[9])), room)
    assert not copies_after(pages, page_json("new", essay(0, edits=[9])), room)
    assert not copies_after(pages, page_json("p0", essay(0)), room)


def test_pages_that_are_forgotten_are_not_asked_for_by_what_they_had_in_common() -> None:
    pages = [page_json(f"old{edit}", essay(0, edits=[edit])) for edit in (9, 50)]
    pages += [page_json(f"p{topic}", essay(topic)) for topic in range(1, 21)]

    assert not copies_after(pages, page_json("new", essay(0)), 10 * 8192)


def test_a_page_stays_known_while_one_of_its_crawls_is_remembered() -> None:
    """There is room for 14 pages: of 18 the first crawl is forgotten, and the second is not."""
    pages = [page_json(f"p{topic}", essay(topic)) for topic in range(18)]
    pages[9] = page_json("p0", essay(9))

    assert copies_after(pages, page_json("p0", essay(30)), 10 * 8192)


def test_nothing_is_kept_of_a_site_whose_pages_are_all_forgotten() -> None:
    copies = NearCopies(VERDICT, 0)

    copies.find_and_remember([seen(framed_page(SHOP, "one"))])

    assert not copies._sites


def test_turns_of_one_call_are_compared_as_those_of_several_calls() -> None:
    """With so little room that pages are forgotten on the way."""
    random = Random(7)
    topics = [random.randrange(13) for _ in range(60)]
    pages = seen(*(page_json(f"p{n}", essay(topic, edits=[n])) for n, topic in enumerate(topics)))
    turns = [pages[start : start + 3] for start in range(0, len(pages), 3)]
    apart, together = (NearCopies(VERDICT, 5 * 8192) for _ in range(2))

    relations = [relation for turn in turns for relation in apart.find_and_remember([turn])]

    assert together.find_and_remember(turns) == relations
    assert 0 < relations.count("copy") < len(pages) - 13


def test_a_page_too_large_to_be_read_line_by_line_is_compared_by_its_sketch() -> None:
    words = [f"w{number}" for number in range(30_000)]
    edited = [*words[:-300], *(f"edited{number}" for number in range(300))]

    assert copies_after([page_json("a", " ".join(words))], page_json("b", " ".join(edited)), 1 << 24)


def test_without_sketches_there_is_nothing_to_compare() -> None:
    with pytest.raises(ConfigError, match="simhash keeps no sketches"):
        NearCopies(VerdictConfig(None), 1 << 20)


def test_a_page_whose_lines_are_gone_cannot_be_compared() -> None:
    (page,) = seen(page_json("a", essay(1)))

    with pytest.raises(InvariantBroken, match="lines"):
        NearCopies(VERDICT, 1 << 20).find_and_remember(
            [[page._replace(arrival=msgspec.structs.replace(page.arrival, lines=None))]]
        )
