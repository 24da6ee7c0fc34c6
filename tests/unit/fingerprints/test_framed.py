"""Sketches of whole texts that mark which samples are content, and what two of them estimate."""

from collections import Counter
from math import sqrt
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from neardup_stream.fingerprints.framed import SHORT_SHINGLES, pack_wholes, whole_overlaps
from neardup_stream.fingerprints.sketch import SketchConfig, containments, estimate_resemblances
from neardup_stream.stores.page_record import PageRecord
from tests.framed_pages import SKETCH, framed_record, prose

KEPT_BINS = 64
PAIRS = 400


def variant(line: str, random: Random, share: float) -> str:
    """Roughly so many of the shingles of a line, and others in the place of the rest."""
    words = line.split()
    for place in random.sample(range(2, len(words) - 2, 3), round((1 - share) * len(words) / 3)):
        words[place] = prose(random, 1)
    return " ".join(words)


def shingles(*lines: str) -> Counter[tuple[str, ...]]:
    words = " ".join(lines).split()
    return Counter(zip(words, words[1:], words[2:], strict=False))


def share_inside(part: Counter[tuple[str, ...]], whole: Counter[tuple[str, ...]]) -> float:
    return (part & whole).total() / part.total()


def first_codes(pages: list[PageRecord], bins: int) -> NDArray[np.uint8]:
    rows = [np.frombuffer(page.sketch, np.uint8)[: bins // 2] for page in pages]
    return np.stack(rows)


def some_pages(frame_known: bool, seed: int = 1) -> list[PageRecord]:  # noqa: FBT001 - a test's case
    """Short ones and long ones of one site, of which some share content."""
    random = Random(seed)
    frame = [prose(random, 6) for _ in range(8)]
    article = prose(random, 150)
    contents = [prose(random, 30), prose(random, 300), article, variant(article, random, 0.7)]
    if frame_known:
        return [framed_record([content], frame) for content in contents]
    return [framed_record([*frame, content]) for content in contents]


def test_whole_overlaps_are_the_same_from_both_sides() -> None:
    pages = some_pages(frame_known=True) + some_pages(frame_known=False)
    lefts, rights = [one for one in pages for _ in pages], [other for _ in pages for other in pages]

    there, back = whole_overlaps(lefts, rights, SKETCH), whole_overlaps(rights, lefts, SKETCH)

    assert there.resemblances.tolist() == back.resemblances.tolist()
    assert there.own.tolist() == back.other.tolist()
    assert there.own_content.tolist() == back.other_content.tolist()


def test_a_pair_is_estimated_the_same_whatever_pairs_stand_beside_it() -> None:
    pages = some_pages(frame_known=True) + some_pages(frame_known=False)
    together = whole_overlaps(pages, pages[::-1], SKETCH)

    for row, (one, other) in enumerate(zip(pages, pages[::-1], strict=True)):
        alone = whole_overlaps([one], [other], SKETCH)
        assert [column[row] for column in together] == [column[0] for column in alone]


@pytest.mark.parametrize("words", [SHORT_SHINGLES + 2, SHORT_SHINGLES + 3], ids=["short", "long"])
def test_pages_without_a_frame_are_compared_by_all_bins(words: int) -> None:
    random = Random(words)
    lines = [prose(random, words) for _ in range(20)]
    lefts = [framed_record([line]) for line in lines]
    rights = [framed_record([variant(line, random, 0.8)]) for line in lines]

    whole = whole_overlaps(lefts, rights, SKETCH)

    expected = estimate_resemblances(
        first_codes(lefts, SKETCH.bins), first_codes(rights, SKETCH.bins), SKETCH
    )
    counts = np.full(20, words - 2)
    assert whole.resemblances.tolist() == expected.tolist()
    for column, share in zip(whole[1:3], containments(expected, counts, counts), strict=True):
        assert column.tolist() == share.tolist()
    for column, share in zip(whole[3:5], whole[1:3], strict=True):
        assert column.tolist() == pytest.approx(share.tolist(), abs=1e-12)  # all of it is content


def test_a_page_resembles_its_text_from_before_its_frame_was_known_as_itself() -> None:
    known, unknown = some_pages(frame_known=True), some_pages(frame_known=False)

    whole = whole_overlaps(known, unknown, SKETCH)

    assert whole.resemblances.tolist() == whole.own.tolist() == whole.other.tolist() == [1.0] * 4


@pytest.mark.parametrize("content_words", [200, 500])
@pytest.mark.parametrize("share", [0.25, 0.5, 0.7])
def test_the_share_of_content_is_estimated_without_bias_and_errs_as_stated(
    share: float, content_words: int
) -> None:
    random = Random(content_words)
    lefts, rights, shares = [], [], []
    for _ in range(PAIRS):
        frame, article = [prose(random, 300)], prose(random, content_words)
        other = variant(article, random, share)
        lefts.append(framed_record([article], frame))
        rights.append(framed_record([*frame, other]))
        shares.append(share_inside(shingles(article), shingles(*frame, other)))

    estimates = whole_overlaps(lefts, rights, SKETCH).own_content

    stated = 0.1 / sqrt(content_words / (300 + content_words))
    errors = estimates - np.array(shares)
    assert abs(errors.mean()) < 3 * stated / sqrt(PAIRS)
    assert errors.std() < stated


def test_of_siblings_that_share_their_frame_no_content_is_inside_the_other() -> None:
    random = Random(5)
    frame = [prose(random, 10) for _ in range(40)]
    pages = [framed_record([prose(random, 150)], frame) for _ in range(100)]

    whole = whole_overlaps(pages[:50], pages[50:], SKETCH)

    assert whole.own.min() > 0.5
    assert whole.own_content.max() < 0.5
    assert whole.own_content.mean() < 0.1


def test_of_a_page_without_content_all_of_it_is_inside_any_other() -> None:
    random = Random(6)
    frame = [prose(random, 50) for _ in range(4)]
    empty, other = framed_record([], frame), framed_record([prose(random, 200)])
    assert empty.shingle_count == 0

    whole = whole_overlaps([empty, other], [other, empty], SKETCH)

    assert (whole.own_content[0], whole.other_content[1]) == (1, 1)


@pytest.mark.parametrize(
    ("keeps_all", "config", "size"),
    [
        (True, SketchConfig(), 80 + 20),
        (False, SketchConfig(), 32 + 8),
        (False, SketchConfig(code_bits=8), 64 + 8),
        (False, SketchConfig(bins=18), 9 + 3),
        (True, SketchConfig(bins=18, code_bits=8), 18 + 3),
    ],
)
def test_of_a_whole_text_64_bins_are_kept_or_all(
    keeps_all: bool,  # noqa: FBT001 - a parameter of the table
    config: SketchConfig,
    size: int,
) -> None:
    sketch = np.arange(config.sketch_bytes, dtype=np.uint8)
    is_content = np.ones(config.bins, np.uint8)

    (packed,) = pack_wholes([sketch.tobytes()], is_content[None], [keeps_all], config)

    assert len(packed) == size
    bins = config.bins if keeps_all else min(config.bins, KEPT_BINS)
    assert packed.startswith(sketch[: bins * config.code_bits // 8].tobytes())
    bits = np.frombuffer(packed[bins * config.code_bits // 8 :], np.uint8)
    assert np.unpackbits(bits, bitorder="little").sum() == bins


def test_no_pairs_have_no_overlaps() -> None:
    assert [column.size for column in whole_overlaps([], [], SKETCH)] == [0] * 7
