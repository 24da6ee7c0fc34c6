from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from neardup_stream.errors import ConfigError
from neardup_stream.frames.lines import MIN_CONTENT_TOKENS, FrameConfig, content_lines

CONFIG = FrameConfig(markup_pages=5, landmark_pages=2, text_pages=10)
LONG = MIN_CONTENT_TOKENS
"""Tokens of a line that alone is content enough."""


class Landmarks:
    """Says which lines are in landmarks, and whether it was asked."""

    def __init__(self, are_in: Sequence[bool]) -> None:
        self.are_in = np.array(are_in, np.bool_)
        self.was_asked = False

    def __call__(self) -> NDArray[np.bool_]:
        self.was_asked = True
        return self.are_in


def content(
    counts: list[int],
    page_count: int,
    landmarks: Landmarks | None,
    token_counts: list[int] | None = None,
    config: FrameConfig = CONFIG,
) -> list[bool]:
    sizes = np.array(token_counts or [LONG] * len(counts), np.int64)
    answer: list[bool] = content_lines(
        np.array(counts, np.int64), sizes, page_count, landmarks, config
    ).tolist()
    return answer


def nowhere(lines: int) -> Landmarks:
    return Landmarks([False] * lines)


def test_a_line_of_text_is_frame_from_text_pages_on() -> None:
    assert content([0, 9, 10, 255], 255, None) == [True, True, False, False]


def test_a_line_of_text_is_judged_by_the_same_bound_while_few_pages_are_known() -> None:
    assert content([9, 9], 9, None) == [True, True]


def test_a_line_of_markup_is_frame_from_markup_pages_on() -> None:
    assert content([0, 4, 5, 255], 255, nowhere(4)) == [True, True, False, False]


@pytest.mark.parametrize(
    ("page_count", "bound"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3), (7, 4), (8, 4), (9, 5), (11, 5)]
)
def test_while_few_pages_are_known_half_of_them_are_enough(page_count: int, bound: int) -> None:
    counts = [0, bound - 1, bound]

    assert content(counts, page_count, nowhere(3)) == [True, True, False]


def test_on_the_first_page_of_a_site_all_lines_are_content() -> None:
    landmarks = Landmarks([True, True])

    assert content([0, 0], 0, landmarks) == [True, True]
    assert not landmarks.was_asked


def test_a_line_in_a_landmark_is_frame_from_landmark_pages_on() -> None:
    assert content([1, 2, 4, 4], 100, Landmarks([True, True, True, False])) == [True, False, False, True]


def test_while_few_pages_are_known_a_line_in_a_landmark_needs_no_more_than_others() -> None:
    assert content([0, 1], 2, Landmarks([True, True])) == [True, False]


@pytest.mark.parametrize(
    ("counts", "page_count", "is_asked"),
    [
        pytest.param([0, 1, 1], 100, False, id="below-both-bounds"),
        pytest.param([0, 5, 9], 100, False, id="frame-in-any-case"),
        pytest.param([0, 2], 100, True, id="at-the-lower-bound"),
        pytest.param([0, 4], 100, True, id="below-the-higher-bound"),
        pytest.param([0, 2], 3, False, id="few-pages"),
    ],
)
def test_landmarks_are_asked_for_only_where_they_decide(
    *, counts: list[int], page_count: int, is_asked: bool
) -> None:
    landmarks = nowhere(len(counts))

    content(counts, page_count, landmarks)

    assert landmarks.was_asked == is_asked


@pytest.mark.parametrize(
    ("in_question", "others", "is_asked"),
    [(19, 0, False), (20, 0, True), (49, 951, False), (50, 950, True)],
    ids=["19-tokens", "20-tokens", "below-5-percent", "5-percent"],
)
def test_landmarks_are_asked_for_only_where_much_depends_on_them(
    *, in_question: int, others: int, is_asked: bool
) -> None:
    landmarks = nowhere(2)

    content([2, 0], 100, landmarks, [in_question, others])

    assert landmarks.was_asked == is_asked


@pytest.mark.parametrize(("left", "is_lenient"), [(19, False), (20, True)])
def test_if_fewer_than_20_tokens_were_left_only_markup_pages_counts(*, left: int, is_lenient: bool) -> None:
    counts, sizes, landmarks = [0, 3, 5], [left, LONG, LONG], Landmarks([False, True, False])

    assert content(counts, 100, landmarks, sizes) == [True, not is_lenient, False]


@pytest.mark.parametrize(("left", "is_lenient"), [(19, False), (20, True)])
def test_if_half_of_few_pages_left_too_little_only_markup_pages_counts(
    *, left: int, is_lenient: bool
) -> None:
    assert content([0, 1], 2, nowhere(2), [left, LONG]) == [True, not is_lenient]


@pytest.mark.parametrize(
    ("page_count", "left", "is_content"),
    [
        pytest.param(2, 99, [True, True], id="more-than-nine-tenths-with-one-other"),
        pytest.param(2, 100, [True, True], id="nine-tenths-with-one-other"),
        pytest.param(2, 101, [True, False], id="less-with-one-other"),
        pytest.param(100, 99, [True, False], id="more-than-nine-tenths-with-many-others"),
    ],
)
def test_a_page_that_shares_nearly_all_with_one_other_is_taken_for_its_copy(
    page_count: int, left: int, is_content: list[bool]
) -> None:
    """Such a page keeps what the copies share."""
    landmarks = Landmarks([False, True])

    assert content([0, 2], page_count, landmarks, [left, 1000 - left]) == is_content


def test_a_page_of_frame_alone_keeps_no_line() -> None:
    assert content([5, 200], 255, Landmarks([True, True])) == [False, False]
    assert content([10, 200], 255, None) == [False, False]


def test_a_page_without_lines_has_no_content() -> None:
    assert content([], 100, Landmarks([]), []) == []
    assert content([], 100, None, []) == []


@given(
    lines=st.lists(st.tuples(st.integers(0, 12), st.integers(1, 30), st.booleans()), max_size=12),
    page_count=st.integers(12, 255),
    is_markup=st.booleans(),
)
def test_a_line_that_more_pages_have_is_never_more_content(
    *, lines: list[tuple[int, int, bool]], page_count: int, is_markup: bool
) -> None:
    counts, sizes, are_in = ([line[i] for line in lines] for i in range(3))
    landmarks = Landmarks([bool(each) for each in are_in]) if is_markup else None

    kept = content([int(count) for count in counts], page_count, landmarks, [int(size) for size in sizes])

    for (count, _, is_in), is_content in zip(lines, kept, strict=True):
        for (other, _, other_is_in), other_is_content in zip(lines, kept, strict=True):
            if is_content and is_in == other_is_in and other <= count:
                assert other_is_content


@pytest.mark.parametrize("name", ["markup_pages", "landmark_pages", "text_pages"])
def test_a_bound_below_1_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"frames.{name} is 0, must be at least 1"):
        FrameConfig(**{name: 0})
    assert FrameConfig(**{name: 1})


def test_a_table_of_fewer_than_16_lines_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"frames\.max_lines is 15, must be at least 16"):
        FrameConfig(max_lines=15)
    assert FrameConfig(max_lines=16)
