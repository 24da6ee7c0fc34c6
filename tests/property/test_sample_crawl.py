from hypothesis import given, settings
from hypothesis import strategies as st
from neardup_daemon.demo.sample_crawl.articles import edit_article, write_article
from neardup_daemon.demo.sample_crawl.crawl import MIN_PAGES, generate_crawl
from neardup_daemon.demo.sample_crawl.dice import Dice
from neardup_daemon.demo.sample_crawl.grammars import GRAMMARS
from neardup_daemon.demo.sample_crawl.lexicon import Lexicon, build_lexicon
from neardup_daemon.demo.sample_crawl.score import score
from neardup_daemon.demo.sample_crawl.story import STORY_OUTCOMES
from neardup_daemon.demo.sample_crawl.variants import VARIANTS

SEEDS = st.integers(-(2**70), 2**70)
PLACES = st.integers(0, MIN_PAGES - 1)
LEXICONS = [build_lexicon(grammar, Dice(1)) for grammar in GRAMMARS]


@settings(max_examples=25, deadline=None)
@given(page_count=st.integers(MIN_PAGES, 150), seed=SEEDS)
def test_every_crawl_has_the_pages_asked_for_and_every_kind_of_relation(page_count: int, seed: int) -> None:
    crawl = generate_crawl(page_count, seed)

    assert len(crawl.records) == page_count == sum(crawl.expected_outcomes.values())
    assert all(count >= 1 for count in crawl.expected_outcomes.values())
    assert {relation.kind for relation in crawl.relations.values()} == {variant.kind for variant in VARIANTS}
    assert len(crawl.relations) + STORY_OUTCOMES["duplicate"] == crawl.expected_outcomes["duplicate"]


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS)
def test_every_original_comes_before_its_variants(seed: int) -> None:
    crawl = generate_crawl(MIN_PAGES, seed)
    first_place: dict[str, int] = {}
    for place, record in enumerate(crawl.records):
        first_place.setdefault(record.key.decode(), place)

    for page_id, relation in crawl.relations.items():
        assert first_place[relation.base_id] < first_place[page_id]
        assert crawl.base_of(relation.base_id) == relation.base_id


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS)
def test_three_quarters_of_every_page_of_the_framed_site_are_frame(seed: int) -> None:
    crawl = generate_crawl(MIN_PAGES, seed)

    for page_id in (*crawl.framed.articles, *crawl.framed.near_duplicates):
        if page_id.split("/")[2] == crawl.framed.host:
            assert crawl.framed.frame_word_count >= 0.75 * len(crawl.text_of(page_id).split())


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, picks=st.lists(st.tuples(PLACES, PLACES), max_size=40))
def test_a_match_is_either_of_one_origin_or_a_false_pair(seed: int, picks: list[tuple[int, int]]) -> None:
    crawl = generate_crawl(MIN_PAGES, seed)
    ids = [record.key.decode() for record in crawl.records]
    matches = {(ids[one], ids[other]) for one, other in picks}

    judged = score(crawl, matches)

    true_matches = matches.difference(judged.false_pairs)
    assert all(crawl.are_kin(one, other) for one, other in true_matches)
    assert not any(crawl.are_kin(one, other) for one, other in judged.false_pairs)
    assert judged.found == len({one for one, _ in true_matches}.intersection(crawl.relations))


@settings(max_examples=50, deadline=None)
@given(seed=SEEDS, lexicon=st.sampled_from(LEXICONS), word_count=st.integers(0, 400))
def test_an_edit_changes_exactly_so_many_words_in_every_language(
    seed: int, lexicon: Lexicon, word_count: int
) -> None:
    dice = Dice(seed)
    article = write_article(lexicon, dice)

    edited = edit_article(article, word_count, dice)

    assert sum(one != other for one, other in zip(article.words, edited.words, strict=True)) == word_count
    assert edited.layout == article.layout
    assert sum(map(sum, article.layout)) == len(article.words)
