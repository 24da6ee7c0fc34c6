"""Laws of the verdict on two pages, with and without known frames: it is symmetric, and equal pages match."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.fingerprints.framed import SHORT_SHINGLES
from neardup_stream.match import Candidate
from neardup_stream.page import Handle
from neardup_stream.pipeline.candidate_comparison import compare_candidates
from neardup_stream.pipeline.classification import MIN_CONTENT_SHINGLES, VerdictConfig, classify
from neardup_stream.pipeline.pair_figures import text_figures
from neardup_stream.stores.page_record import PageRecord
from tests.framed_pages import SKETCH, framed_record

CONFIG = VerdictConfig(SKETCH)
POOL = [
    " ".join(f"{name}{number}" for number in range(length))
    for name, length in zip("abcdefghijkl", [1, 2, 3, 5, 9, 10, 11, 30, 60, 100, 110, 300], strict=True)
]

some_lines = st.lists(st.sampled_from(POOL), max_size=4)
pages = st.builds(
    lambda content, frame, edit: framed_record([f"{edit} {line}" for line in content], frame),
    some_lines,
    some_lines,
    st.sampled_from(["", "one", "two"]),
)


def rows(lefts: Sequence[PageRecord], rights: Sequence[PageRecord]) -> list[list[float]]:
    found = classify(text_figures(lefts, rights, SKETCH), CONFIG).pairs()
    return [
        [pair.name == "near", pair.view == "whole", pair.resemblance or 0, pair.own or 0, pair.other or 0]
        for pair in found
    ]


@settings(max_examples=300)
@given(st.lists(st.tuples(pages, pages), max_size=4))
def test_a_verdict_is_the_same_from_both_sides(pairs: list[tuple[PageRecord, PageRecord]]) -> None:
    lefts, rights = [one for one, _ in pairs], [other for _, other in pairs]

    back = [[near, whole, r, own, other] for near, whole, r, other, own in rows(rights, lefts)]

    assert rows(lefts, rights) == back


@given(st.lists(st.tuples(pages, pages), max_size=4))
def test_a_verdict_does_not_depend_on_the_pairs_beside_it(pairs: list[tuple[PageRecord, PageRecord]]) -> None:
    lefts, rights = [one for one, _ in pairs], [other for _, other in pairs]

    alone = [row for one, other in pairs for row in rows([one], [other])]

    assert rows(lefts, rights) == alone


@given(pages)
def test_equal_pages_with_enough_content_are_near(page: PageRecord) -> None:
    is_enough = page.shingle_count >= (MIN_CONTENT_SHINGLES if page.whole_count else 1)
    is_short = 0 < page.whole_count <= SHORT_SHINGLES

    ((is_near, _, resemblance, own, other),) = rows([page], [page])

    assert is_near or not (is_enough or is_short)
    assert not is_near or (resemblance, own, other) == (1, 1, 1)


@given(some_lines, st.lists(st.sampled_from(POOL), max_size=3), st.booleans(), st.booleans())
def test_pages_of_the_same_text_match_whatever_was_known_of_their_frames(
    content: list[str],
    frame: list[str],
    one_is_known: bool,  # noqa: FBT001 - a drawn value
    other_is_known: bool,  # noqa: FBT001 - the same
) -> None:
    one, other = (
        framed_record(content, frame) if is_known else framed_record([*frame, *content])
        for is_known in (one_is_known, other_is_known)
    )

    found = compare_candidates([one], [[Candidate(Handle(2), 1)]], {Handle(2): other}, CONFIG).compared[0]

    assert [match.kind for match in found.matches] == ["exact"]


@given(pages, pages)
def test_shares_are_shares(one: PageRecord, other: PageRecord) -> None:
    ((is_near, is_whole, *shares),) = rows([one], [other])

    assert all(0 <= share <= 1 for share in shares)
    assert {is_near, is_whole} <= {0, 1}
    if not one.whole_count and not other.whole_count:
        assert is_whole
