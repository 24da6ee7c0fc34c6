"""Laws of sketches: the kernel and the reference are one function, of the bag of shingles alone."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_texts
from neardup_stream.fingerprints.sketch import SketchConfig, containments, estimate_resemblances
from neardup_stream.text.canonical import canonicalize
from tests.reference import sketch_page

SIMHASH = SimhashConfig()

configs = st.builds(
    SketchConfig,
    shingle_tokens=st.sampled_from([1, 2, 3, 32]),
    bins=st.sampled_from([16, 18, 128]),
    code_bits=st.sampled_from([4, 8]),
    bands=st.sampled_from([0, 1, 10, 32]),
    band_bins=st.integers(1, 8),
)
few_letters = st.text(st.sampled_from("aB \u00e9\u00c9\u2019\u6771\u0e01\u0e34\u0416\u0301"), max_size=300)
few_words = st.lists(st.sampled_from("abcdefgh"), max_size=120).map(" ".join)
repetitive = st.builds(lambda phrase, count: phrase * count, few_words, st.integers(0, 20))
texts = st.text() | few_letters | few_words | repetitive


@settings(max_examples=300)
@given(st.lists(texts, max_size=6), configs)
def test_kernel_equals_the_reference(pages: list[str], config: SketchConfig) -> None:
    computed = fingerprint_texts(pages, SIMHASH, config)

    rows = zip(computed.sketches, computed.shingle_counts.tolist(), computed.bands.tolist(), strict=True)
    assert [(codes.tobytes(), count, bands) for codes, count, bands in rows] == [
        tuple(sketch_page(page, config)) for page in pages
    ]


@given(texts, configs)
def test_raw_text_gives_what_canonical_text_gives(text: str, config: SketchConfig) -> None:
    computed = fingerprint_texts([text, canonicalize(text)], SIMHASH, config)

    for values in computed[3:]:
        assert values[0].tolist() == values[1].tolist()


@given(st.lists(few_words, max_size=6), configs)
def test_the_order_of_parts_is_lost_where_shingles_do_not_cross_them(
    parts: list[str], config: SketchConfig
) -> None:
    words = SketchConfig(1, config.bins, config.code_bits, config.bands, config.band_bins)

    computed = fingerprint_texts([" ".join(parts), " ".join(reversed(parts))], SIMHASH, words)

    for values in computed[3:]:
        assert values[0].tolist() == values[1].tolist()


@given(texts, texts, configs)
def test_a_resemblance_is_a_share_and_the_same_from_both_sides(
    left: str, right: str, config: SketchConfig
) -> None:
    sketches = fingerprint_texts([left, right], SIMHASH, config).sketches

    there, back, own, other = estimate_resemblances(
        sketches[[0, 1, 0, 1]], sketches[[1, 0, 0, 1]], config
    ).tolist()

    assert there == back
    assert 0 <= there <= 1
    assert own == float(sketches[0].any())
    assert other == float(sketches[1].any())


@given(st.sets(st.integers(0, 50)), st.sets(st.integers(0, 50)))
def test_containments_of_an_exact_resemblance_are_exact(left: set[int], right: set[int]) -> None:
    common, either = len(left & right), len(left | right)

    own, other = containments(
        np.array([common / max(either, 1)]), np.array([len(left)]), np.array([len(right)])
    )

    assert np.isclose(own[0], common / max(len(left), 1))
    assert np.isclose(other[0], common / max(len(right), 1))
