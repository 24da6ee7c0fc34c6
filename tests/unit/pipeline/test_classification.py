"""Which class two stored pages have whose frames are known, or were not, and what the thresholds are for."""

from collections.abc import Callable, Sequence
from random import Random

import msgspec
import numpy as np
import pytest

from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.framed import SHORT_SHINGLES, pack_wholes
from neardup_stream.pipeline.classification import (
    MIN_CONTENT_SHINGLES,
    Classified,
    VerdictConfig,
    classify,
)
from neardup_stream.pipeline.pair_figures import text_figures
from neardup_stream.stores.page_record import PageRecord
from tests.framed_pages import SKETCH, framed_record, prose

CONFIG = VerdictConfig(SKETCH)
KEPT_BINS = 64


def verdict(one: PageRecord, other: PageRecord, config: VerdictConfig = CONFIG) -> tuple[bool, bool]:
    """Return whether two pages are near, and whether their whole texts decided."""
    (pair,) = classified([one], [other], config).pairs()
    return pair.name == "near", pair.view == "whole"


def classified(
    lefts: Sequence[PageRecord], rights: Sequence[PageRecord], config: VerdictConfig = CONFIG
) -> Classified:
    return classify(text_figures(lefts, rights, SKETCH), config)


def codes(agreeing: int, other_code: int, bins: int = SKETCH.bins) -> bytes:
    """Return a sketch whose first bins hold 1, and the others another code."""
    each = [1] * agreeing + [other_code] * (bins - agreeing)
    return bytes(low | high << 4 for low, high in zip(each[::2], each[1::2], strict=True))


def page(sketch: bytes, shingle_count: int = 1000) -> PageRecord:
    return PageRecord(
        url="page",
        fingerprint=0,
        text_fingerprint=0,
        version=1,
        made_by=("pages", 0, 0),
        seen_seconds=0,
        sketch=sketch,
        shingle_count=shingle_count,
    )


def with_frame(content: PageRecord, whole: bytes, content_bins: int = 0, count: int = 2000) -> PageRecord:
    """The page of which a whole text is kept too; the first bins of that hold samples of the content."""
    is_content = np.arange(SKETCH.bins) < content_bins
    (kept,) = pack_wholes([whole], is_content.astype(np.uint8)[None], [count <= SHORT_SHINGLES], SKETCH)
    return msgspec.structs.replace(content, whole=kept, whole_count=count)


ALL, SOME, NONE = SKETCH.bins, 60, 0
# Of 160 codes so many agree: containments of .711 and .717, .749 and .754, .799 and .804.
BELOW_NEAR, NEAR, BELOW_CONTENT, CONTENT, BELOW_SHORT, SHORT = 93, 94, 96, 97, 110, 111


@pytest.mark.parametrize(("agreeing", "is_near"), [(BELOW_NEAR, False), (NEAR, True)])
def test_whole_pages_are_near_from_near_containment_on(*, agreeing: int, is_near: bool) -> None:
    assert verdict(page(codes(agreeing, 2)), page(codes(agreeing, 3))) == (is_near, True)


@pytest.mark.parametrize(("agreeing", "is_near"), [(BELOW_NEAR, False), (NEAR, True)])
def test_a_content_is_near_a_whole_page_from_near_containment_on(*, agreeing: int, is_near: bool) -> None:
    framed = with_frame(page(codes(agreeing, 2)), whole=codes(NONE, 4))

    assert verdict(framed, page(codes(agreeing, 3))) == (is_near, False)


@pytest.mark.parametrize(
    ("agreeing", "whole_count", "is_near"),
    [
        pytest.param(BELOW_CONTENT, 2001, False, id="below-content-containment"),
        pytest.param(CONTENT, 2001, True, id="content-containment"),
        pytest.param(BELOW_NEAR, 2000, False, id="frame-of-half-below-near-containment"),
        pytest.param(NEAR, 2000, True, id="frame-of-half-near-containment"),
    ],
)
def test_two_contents_are_near_from_content_containment_on_beside_large_frames(
    *, agreeing: int, whole_count: int, is_near: bool
) -> None:
    one = with_frame(page(codes(agreeing, 2)), whole=codes(NONE, 4), count=whole_count)
    other = with_frame(page(codes(agreeing, 3)), whole=codes(NONE, 5))

    assert verdict(one, other) == (is_near, False)


@pytest.mark.parametrize(("count", "is_near"), [(7, False), (8, True)])
def test_a_content_of_fewer_than_8_shingles_is_not_compared(*, count: int, is_near: bool) -> None:
    one = with_frame(page(codes(ALL, 1), count), whole=codes(NONE, 4))
    other = with_frame(page(codes(ALL, 1), MIN_CONTENT_SHINGLES), whole=codes(NONE, 5))

    assert verdict(one, other) == (is_near, False)
    assert verdict(other, one) == (is_near, False)


def test_a_page_without_a_known_frame_may_be_as_short_as_it_likes() -> None:
    assert verdict(page(codes(ALL, 1), 1), page(codes(ALL, 1), 1)) == (True, True)


@pytest.mark.parametrize(("content_bins", "is_near"), [(8, False), (9, True), (10, True)])
def test_whole_texts_are_near_if_nine_tenths_of_what_is_known_as_content_is_in_both(
    *, content_bins: int, is_near: bool
) -> None:
    """Each kept bin stands for a 64th of 6400 shingles; the content has 1000, less a hair."""
    one, other = (
        with_frame(page(codes(NONE, code), 999), codes(ALL, 1), content_bins, 6400) for code in (2, 3)
    )

    assert verdict(one, other) == (is_near, is_near)


@pytest.mark.parametrize(
    ("content_bins", "content_count", "is_near"),
    [
        pytest.param(33, 5075, True, id="small-frame-above-13-twentieths"),
        pytest.param(33, 5079, False, id="small-frame-below-13-twentieths"),
        pytest.param(28, 3199, False, id="frame-of-more-than-half"),
        pytest.param(28, 3200, True, id="frame-of-half"),
    ],
)
def test_whole_texts_with_small_frames_are_near_if_most_of_what_is_content_is_in_both(
    *, content_bins: int, content_count: int, is_near: bool
) -> None:
    """Each kept bin stands for a 64th of 6400 shingles, so 33 are 3300, 13 twentieths of 5077."""
    one, other = (
        with_frame(page(codes(NONE, code), content_count), codes(ALL, 1), content_bins, 6400)
        for code in (2, 3)
    )

    assert verdict(one, other) == (is_near, is_near)


@pytest.mark.parametrize(
    ("content_bins", "content_count", "is_near"),
    [
        pytest.param(9, 1529, False, id="9-samples-below-11-twentieths"),
        pytest.param(9, 1528, True, id="9-samples-11-twentieths"),
        pytest.param(36, 5631, False, id="36-samples-below-17-fortieths"),
        pytest.param(36, 5630, True, id="36-samples-17-fortieths"),
    ],
)
def test_the_fewer_samples_a_content_has_the_more_of_it_must_be_in_a_page_of_unknown_frame(
    *, content_bins: int, content_count: int, is_near: bool
) -> None:
    """In the mean of both sketches: three tenths, and three quarters of one by the root of the samples."""
    framed = with_frame(page(codes(27, 2), content_count), codes(ALL, 1), content_bins, 6400)
    unknown = page(codes(ALL, 1), 6400)

    assert verdict(framed, unknown) == (is_near, is_near)
    assert verdict(unknown, framed) == (is_near, is_near)


@pytest.mark.parametrize(("agreeing", "is_near"), [(BELOW_SHORT, False), (SHORT, True)])
def test_short_whole_texts_are_near_from_four_fifths_on(*, agreeing: int, is_near: bool) -> None:
    one, other = (
        with_frame(page(codes(SOME, code), 50), codes(agreeing, code), 0, SHORT_SHINGLES) for code in (2, 3)
    )

    assert verdict(one, other) == (is_near, is_near)


@pytest.mark.parametrize(("count", "is_near"), [(SHORT_SHINGLES, True), (SHORT_SHINGLES + 1, False)])
def test_what_short_pages_share_may_be_frame(*, count: int, is_near: bool) -> None:
    one, other = (
        with_frame(page(codes(SOME, code), 50), codes(ALL, 1), SKETCH.bins // 8, count) for code in (2, 3)
    )
    one = with_frame(page(codes(SOME, 2), 50), codes(ALL, 1), 1, count)

    assert verdict(one, other) == (is_near, is_near)
    assert verdict(other, one) == (is_near, is_near)


def test_a_content_of_which_no_sample_is_kept_is_inside_nothing() -> None:
    one, other = (with_frame(page(codes(NONE, code), 50), codes(ALL, 1), 0, 2000) for code in (2, 3))
    unknown = page(codes(ALL, 1), 2000)

    assert verdict(one, other) == (False, False)
    assert verdict(one, unknown) == verdict(unknown, one) == (False, False)


def test_an_empty_content_is_inside_any_page_that_is_the_same_as_a_whole() -> None:
    empty = with_frame(page(bytes(SKETCH.sketch_bytes), 0), codes(ALL, 1), 0, 2000)

    assert verdict(empty, page(codes(ALL, 1), 2000)) == (True, True)


@pytest.mark.parametrize(("agreeing", "left", "is_near"), [(64, 7, True), (57, 7, False), (64, 8, False)])
def test_pages_without_content_of_their_own_are_near_if_their_whole_texts_nearly_equal(
    *, agreeing: int, left: int, is_near: bool
) -> None:
    one, other = (
        with_frame(page(codes(NONE, code), left), codes(agreeing, code, bins=64), 0, 2000) for code in (2, 3)
    )

    assert verdict(one, other) == (is_near, is_near)


@pytest.mark.parametrize("content_words", [12, 40, 150, 400])
@pytest.mark.parametrize("frame_lines", [10, 40, 100])
@pytest.mark.parametrize("known", [(True, True), (True, False)], ids=["both-known", "one-known"])
def test_siblings_that_share_only_their_frame_are_not_near(
    known: tuple[bool, bool], frame_lines: int, content_words: int
) -> None:
    random = Random(content_words)
    frame = [prose(random, 12) for _ in range(frame_lines)]
    contents = [prose(random, content_words) for _ in range(200)]
    lefts, rights = (
        [framed_record([each], frame) if is_known else framed_record([*frame, each]) for each in contents]
        for is_known in known
    )

    near = classified(lefts, rights[1:] + rights[:1]).is_match

    assert near.sum() <= 3  # few samples estimate badly


@pytest.mark.parametrize("content_words", [200, 400])
@pytest.mark.parametrize("edits", [0, 4])
def test_a_page_that_came_before_its_frame_was_known_meets_its_later_copy(
    edits: int, content_words: int
) -> None:
    random = Random(content_words)
    early, late = [], []
    for _ in range(100):
        frame, article = [prose(random, 12) for _ in range(20)], prose(random, content_words).split()
        copy = list(article)
        for place in random.sample(range(content_words), edits):
            copy[place] = prose(random, 1)
        early.append(framed_record([*frame, " ".join(article)]))
        late.append(framed_record([" ".join(copy)], frame))

    assert classified(early, late).is_match.mean() >= 0.95


def test_a_noisy_copy_is_near_though_most_of_it_is_frame_that_noise_damaged() -> None:
    random = Random(3)
    clean, noisy = [], []
    for _ in range(200):
        frame, content = [prose(random, 8) for _ in range(30)], prose(random, 60).split()
        damaged = [" ".join([*line.split()[:-1], prose(random, 1)]) for line in frame[:4]]
        misread = [prose(random, 1) if place % 20 == 7 else word for place, word in enumerate(content)]
        clean.append(framed_record([" ".join(content)], frame))
        noisy.append(framed_record([*damaged, " ".join(misread)], frame[4:]))

    assert classified(clean, noisy).is_match.mean() >= 0.6


def test_of_copies_on_sites_with_other_frames_the_contents_decide() -> None:
    random = Random(7)
    article = prose(random, 100)
    one, other = (framed_record([article], [prose(random, 20) for _ in range(20)]) for _ in range(2))
    unframed = [framed_record([*(prose(random, 20) for _ in range(20)), article]) for _ in range(2)]

    assert verdict(one, other) == (True, False)
    assert verdict(unframed[0], unframed[1])[0] is False


@pytest.mark.parametrize(
    "config_of",
    [
        pytest.param(lambda least: VerdictConfig(SKETCH, near_resemblance=least), id="near_resemblance"),
        pytest.param(lambda least: VerdictConfig(SKETCH, near_containment=least), id="near_containment"),
        pytest.param(
            lambda least: VerdictConfig(SKETCH, content_containment=least), id="content_containment"
        ),
    ],
)
def test_a_bound_that_everything_or_nothing_meets_is_refused(
    config_of: Callable[[float], VerdictConfig],
) -> None:
    assert config_of(1)
    for value in (0, 1.01):
        with pytest.raises(ConfigError, match=rf"\({value}\) must be above 0 and at most 1"):
            config_of(value)
