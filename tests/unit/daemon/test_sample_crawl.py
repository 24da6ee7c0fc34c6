import json
from collections import Counter
from difflib import SequenceMatcher
from hashlib import sha256
from itertools import combinations, islice

import pytest
from neardup_daemon.commands.demo import demo
from neardup_daemon.commands.options import WholeNumber
from neardup_daemon.demo.sample_crawl.crawl import MIN_PAGES, generate_crawl
from neardup_daemon.demo.sample_crawl.framed_site import ARTICLE_COUNT, FRAMED_KINDS
from neardup_daemon.demo.sample_crawl.plain_texts import generate_texts
from neardup_daemon.demo.sample_crawl.score import KindScore, Score, score
from neardup_daemon.demo.sample_crawl.story import EARLIER_PAGES, STORY_OUTCOMES, STORY_RECORDS
from neardup_daemon.demo.sample_crawl.truth import BROKEN_VALUE, CrawlRecord, Relation, SampleCrawl, Story
from neardup_daemon.demo.sample_crawl.variants import VARIANTS

from neardup_stream.errors import ConfigError

CRAWL = generate_crawl(600, seed=7)
BEFORE_THE_STORY = CRAWL.records[:-STORY_RECORDS]
PAGES = {
    page["id"]: page
    for page in (json.loads(value) for _, value, _ in BEFORE_THE_STORY if value not in {None, BROKEN_VALUE})
}
GOLDEN_DIGEST = "4d8cf41030d04a99187ae24f4505709a0422d0803597824bc0065d56684731d8"
"""sha256 of a hundred records; it changes only with the generator, never with the Python that runs it."""


def words_changed(before: str, after: str) -> int:
    old, new = before.split(), after.split()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return len(old) - sum(block.size for block in matcher.get_matching_blocks())


def variants_of_kind(kind: str, language: str | None = None) -> list[tuple[str, str]]:
    return [
        (page_id, relation.base_id)
        for page_id, relation in CRAWL.relations.items()
        if relation.kind == kind and (language is None or PAGES[page_id]["language"].endswith(language))
    ]


def test_the_same_seed_gives_the_same_bytes_on_every_python() -> None:
    digest = sha256()
    for key, value, _ in generate_crawl(100, seed=3).records:
        digest.update(key + (value or b""))

    assert digest.hexdigest() == GOLDEN_DIGEST


def test_another_seed_gives_another_crawl() -> None:
    assert generate_crawl(80, seed=1).records != generate_crawl(80, seed=2).records


def test_fewer_pages_than_the_least_are_refused() -> None:
    with pytest.raises(ConfigError, match="at least 80 pages, not 79"):
        generate_crawl(MIN_PAGES - 1)


def test_the_demo_takes_the_least_pages_that_a_crawl_may_have() -> None:
    (pages,) = (option.type for option in demo.params if option.name == "pages")

    assert isinstance(pages, WholeNumber)
    assert pages.min == MIN_PAGES


def test_every_page_keeps_the_contract_of_a_page() -> None:
    for page_id, page in PAGES.items():
        assert page.keys() == {"id", "url", "html", "fetched_at", "language", "meta"}
        assert page["id"] == page["url"] == page_id
        assert page["fetched_at"].endswith("+00:00")
        assert page["html"].endswith("</html>\n")


def test_keys_are_the_ids_of_the_pages() -> None:
    for key, value, _ in CRAWL.records:
        if value not in {None, BROKEN_VALUE}:
            assert json.loads(value)["id"].encode() == key


def test_fetch_times_never_fall() -> None:
    fetched = [
        json.loads(value)["fetched_at"] for _, value, _ in CRAWL.records if value not in {None, BROKEN_VALUE}
    ]

    assert fetched == sorted(fetched)


def test_records_come_in_the_order_of_their_times() -> None:
    times = [record.time_ms for record in CRAWL.records]

    assert sorted(set(times)) == times


def test_one_record_is_broken_and_two_forget_a_known_page() -> None:
    forgotten = [record.key.decode() for record in CRAWL.records if record.value is None]

    assert [record.value for record in CRAWL.records].count(BROKEN_VALUE) == 1
    assert len(forgotten) == CRAWL.expected_outcomes["forgotten"] == 2
    assert forgotten[0] in PAGES
    assert forgotten[1] in CRAWL.story.kin


def test_a_page_forgotten_before_the_story_has_no_variants() -> None:
    forgotten = next(record.key.decode() for record in CRAWL.records if record.value is None)

    assert forgotten not in {relation.base_id for relation in CRAWL.relations.values()}


def test_recrawls_repeat_a_page_with_the_same_content() -> None:
    seen: dict[str, str] = {}
    repeats = 0
    for _, value, _ in BEFORE_THE_STORY:
        if value not in {None, BROKEN_VALUE}:
            page = json.loads(value)
            repeats += page["id"] in seen
            assert seen.setdefault(page["id"], page["html"]) == page["html"]

    assert repeats == CRAWL.expected_outcomes["unchanged"]


@pytest.mark.parametrize("kind", ["exact copy", "tracking link"])
def test_copies_carry_the_same_markup_under_another_url(kind: str) -> None:
    for copy_id, base_id in variants_of_kind(kind):
        assert PAGES[copy_id]["html"] == PAGES[base_id]["html"]
        assert copy_id != base_id


@pytest.mark.parametrize("kind", ["mirror", "syndicated copy"])
def test_mirrors_and_syndicated_copies_stand_on_another_host(kind: str) -> None:
    for copy_id, base_id in variants_of_kind(kind):
        assert copy_id.split("/")[2] != base_id.split("/")[2]


def test_a_print_version_has_no_navigation() -> None:
    for copy_id, _ in variants_of_kind("print version"):
        assert "<a href" not in PAGES[copy_id]["html"]


@pytest.mark.parametrize("word_count", [1, 2, 5, 20])
def test_an_edited_repost_differs_in_exactly_the_words_it_says(word_count: int) -> None:
    kind = f"edited re-post ({word_count} word{'s' if word_count > 1 else ''})"
    pairs = variants_of_kind(kind, language="Latn")

    assert pairs
    for copy_id, base_id in pairs:
        assert words_changed(CRAWL.text_of(base_id), CRAWL.text_of(copy_id)) == word_count


def test_unrelated_articles_share_no_long_run_of_words() -> None:
    """Look-alikes of one template included: what they share is the template's notice and the chrome."""
    framed = set(CRAWL.framed.articles)
    originals = [page_id for page_id in PAGES if page_id not in CRAWL.relations and page_id not in framed]
    latin = [page_id for page_id in originals if PAGES[page_id]["language"] == "qaa-Latn"][:12]
    texts = [CRAWL.text_of(page_id).split() for page_id in latin]

    for number, one in enumerate(texts):
        for other in texts[number + 1 :]:
            shared = SequenceMatcher(None, one, other, autojunk=False).find_longest_match().size
            assert shared < len(one) / 3


def test_every_language_has_pages() -> None:
    scripts = Counter(page["language"].partition("-")[2] for page in PAGES.values())

    assert scripts.keys() == {"Latn", "Cyrl", "Grek", "Hani", "Jpan", "Thai"}


def test_text_of_a_page_has_no_markup_left() -> None:
    text = CRAWL.text_of(next(iter(PAGES)))

    assert "<" not in text
    assert len(text) > 100


def test_text_of_an_unknown_page_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="nowhere"):
        CRAWL.text_of("nowhere")


def frame_share(page_id: str) -> float:
    return CRAWL.framed.frame_word_count / len(CRAWL.text_of(page_id).split())


def pages_of_the_framed_site() -> list[str]:
    return [page_id for page_id in PAGES if page_id.split("/")[2] == CRAWL.framed.host]


def test_a_dozen_articles_of_one_host_are_mostly_the_frame_of_their_site() -> None:
    pages = pages_of_the_framed_site()

    assert len(set(CRAWL.framed.articles).intersection(pages)) == ARTICLE_COUNT == 12
    assert all(0.75 <= frame_share(page_id) < 0.9 for page_id in pages)


def test_pages_of_the_framed_site_have_landmarks_and_a_sidebar_that_is_none() -> None:
    for page_id in pages_of_the_framed_site():
        before, sidebar, rest = PAGES[page_id]["html"].partition('<div class="left">')
        assert sidebar
        assert "<header>" in before
        assert "<footer>" in rest
        assert "<nav" not in rest


def test_any_two_articles_in_one_frame_share_most_of_their_words() -> None:
    words = [Counter(CRAWL.text_of(page_id).split()) for page_id in CRAWL.framed.articles]

    for one, other in combinations(words, 2):
        assert (one & other).total() > 0.75 * max(one.total(), other.total())


def test_a_page_that_is_mostly_frame_stays_small() -> None:
    assert all(len(PAGES[page_id]["html"]) < 25_000 for page_id in pages_of_the_framed_site())


def test_three_articles_of_the_framed_site_have_a_near_duplicate_each_one_of_them_on_another_site() -> None:
    near = CRAWL.framed.near_duplicates
    kinds = [CRAWL.relations[page_id].kind for page_id in near]
    bases = {CRAWL.relations[page_id].base_id for page_id in near}

    assert sorted(kinds) == sorted(FRAMED_KINDS)
    assert len(bases) == len(near)
    assert bases < set(CRAWL.framed.articles)
    assert [page_id.split("/")[2] == CRAWL.framed.host for page_id in near].count(False) == 1


def test_the_storys_site_has_pages_before_the_story_begins() -> None:
    host = CRAWL.story.steps[0].page_id.split("/")[2]

    assert [page_id.split("/")[2] for page_id in PAGES].count(host) == EARLIER_PAGES


SMALL_TRUTH = SampleCrawl(
    records=(CrawlRecord(b"a", b"{}", 0),),
    relations={
        "a2": Relation("a", "mirror"),
        "a3": Relation("a", "exact copy"),
        "b2": Relation("b", "mirror"),
    },
    expected_outcomes={},
    story=Story(kin=frozenset({"d", "d2"}), cluster=frozenset({"d", "d2"})),
)


@pytest.mark.parametrize(
    ("matches", "expected"),
    [
        pytest.param(
            [], Score((KindScore("mirror", 2, 0), KindScore("exact copy", 1, 0)), ()), id="nothing-found"
        ),
        pytest.param(
            [("a2", "a")],
            Score((KindScore("mirror", 2, 1), KindScore("exact copy", 1, 0)), ()),
            id="its-original",
        ),
        pytest.param(
            [("a3", "a2"), ("a3", "a2")],
            Score((KindScore("mirror", 2, 0), KindScore("exact copy", 1, 1)), ()),
            id="another-variant-counts-for-the-later-page-only",
        ),
        pytest.param(
            [("b2", "a")],
            Score((KindScore("mirror", 2, 0), KindScore("exact copy", 1, 0)), (("b2", "a"),)),
            id="unrelated-pages-are-a-false-pair",
        ),
        pytest.param(
            [("b2", "a"), ("b2", "b")],
            Score((KindScore("mirror", 2, 1), KindScore("exact copy", 1, 0)), (("b2", "a"),)),
            id="found-and-false-at-once",
        ),
        pytest.param(
            [("d2", "d")],
            Score((KindScore("mirror", 2, 0), KindScore("exact copy", 1, 0)), ()),
            id="kin-of-the-story-is-neither-counted-nor-false",
        ),
    ],
)
def test_score_counts_pages_found_by_kind_and_false_pairs(
    matches: list[tuple[str, str]], expected: Score
) -> None:
    assert score(SMALL_TRUTH, matches) == expected


def test_clusters_are_every_original_with_its_variants_and_the_storys() -> None:
    assert SMALL_TRUTH.clusters() == {
        frozenset({"a", "a2", "a3"}),
        frozenset({"b", "b2"}),
        frozenset({"d", "d2"}),
    }


def test_a_perfect_finder_scores_everything_and_nothing_false() -> None:
    judged = score(CRAWL, ((page_id, relation.base_id) for page_id, relation in CRAWL.relations.items()))

    assert judged.found == judged.pages == CRAWL.expected_outcomes["duplicate"] - STORY_OUTCOMES["duplicate"]
    assert judged.false_pairs == ()
    assert {kind.kind for kind in judged.kinds} == {variant.kind for variant in VARIANTS}


def test_plain_texts_have_the_size_asked_for() -> None:
    pages = list(generate_texts(50, words=560))

    assert len(pages) == 50
    assert all(len(page.text.split()) == 560 for page in pages)
    assert 3_400 < sum(len(page.text) for page in pages) / 50 < 3_700


def test_plain_near_duplicates_are_an_earlier_page_with_at_most_two_words_changed() -> None:
    pages = {page.id: page for page in generate_texts(300, words=100)}
    copies = [page for page in pages.values() if page.near_duplicate_of]

    assert 30 <= len(copies) <= 90
    for page in copies:
        original = pages[page.near_duplicate_of or ""]
        differing = sum(
            one != other for one, other in zip(page.text.split(), original.text.split(), strict=True)
        )
        assert differing <= 2
        assert original.id < page.id
        assert original.near_duplicate_of is None


def test_plain_texts_with_no_share_have_no_near_duplicates() -> None:
    assert all(
        page.near_duplicate_of is None for page in generate_texts(200, words=20, near_duplicate_share=0)
    )


def test_plain_texts_go_on_past_one_block_with_new_ids() -> None:
    pages = list(generate_texts(4_100, words=5))

    assert len({page.id for page in pages}) == len({page.url for page in pages}) == 4_100


def test_plain_texts_are_the_same_for_the_same_seed_and_others_for_another() -> None:
    first, again, other = (list(islice(generate_texts(40, words=30, seed=seed), 40)) for seed in (1, 1, 2))

    assert first == again
    assert first != other
