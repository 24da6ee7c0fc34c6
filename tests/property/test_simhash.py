"""Laws of fingerprints: the kernel, the reference and the incremental simhash are one function."""

from itertools import pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from neardup_stream.fingerprints.incremental import Simhash
from neardup_stream.fingerprints.simhash import MAX_WINDOW_TOKENS, SimhashConfig, fingerprint_texts
from neardup_stream.text.canonical import canonicalize
from tests.reference import fingerprint_page

configs = st.builds(SimhashConfig, st.sampled_from([1, 2, 3, 5, MAX_WINDOW_TOKENS]), st.just(1))
few_letters = st.text(st.sampled_from("aB \u00e9\u00c9\u2019\u6771\u0e01\u0e34\u0416"), max_size=400)
needing_neighbors = st.text(
    st.sampled_from(
        "aB \u00ad\u200d\u0301\u0327\u00df\u0130\u0390\u03a3\u1112\u1161\u11ab\uff76\uff9e\u0e33\u6771\u00bd"
    )
)
pointed = st.text(
    st.sampled_from(
        "aB \u0627\u0647\u0648\u06c0\u06c2\u06d5\u0623\u0654\u064e\u0640\u200c\u200d"
        "\ufe71\ufcf2\u05d0\u05b7\ufb2e\u0d28\u0d4d\u0d7b\uac00\u11ab"
    )
)
repetitive = st.builds(
    lambda phrase, count, rest: " ".join(phrase * count + rest),
    st.lists(st.sampled_from("abcdefgh"), max_size=50),
    st.integers(0, 40),
    st.lists(st.sampled_from("abcdefgh"), max_size=50),
)
long_runs = st.builds(
    lambda letter, count, rest: letter * count + rest,
    st.sampled_from("x\u00e9\u6771"),
    st.integers(100, 150),
    st.text(),
)
words = st.builds(
    "".join,
    st.lists(
        st.builds(
            lambda length, behind: "letterswithoutend"[:length] + behind,
            st.integers(1, 17),
            st.sampled_from([" ", " ", ", ", "\n", "\u00e9 ", "\u2019s ", "\u6771"]),
        )
    ),
)
texts = (
    st.text(st.characters(exclude_categories=()))
    | few_letters
    | needing_neighbors
    | pointed
    | repetitive
    | long_runs
    | words
)


@settings(max_examples=500)
@given(st.lists(texts, max_size=8), configs)
def test_kernel_equals_the_reference(pages: list[str], config: SimhashConfig) -> None:
    computed = fingerprint_texts(pages, config)

    rows = zip(*(values.tolist() for values in computed[:3]), strict=True)
    assert list(rows) == [fingerprint_page(page, config) for page in pages]


@settings(max_examples=500)
@given(texts, configs)
def test_raw_text_gives_what_canonical_text_gives(text: str, config: SimhashConfig) -> None:
    computed = fingerprint_texts([text, canonicalize(text)], config)

    assert [values[0] for values in computed[:3]] == [values[1] for values in computed[:3]]


@given(texts.map(canonicalize), configs, st.lists(st.integers(0, 400)), st.randoms(use_true_random=False))
def test_any_cut_and_any_order_of_merging_gives_the_whole(
    text: str, config: SimhashConfig, cuts: list[int], random: Random
) -> None:
    parts = [
        fed_in_two(text[start:end], random.randrange(400), config)
        for start, end in pairwise([0, *sorted(cuts), len(text)])
    ]

    while len(parts) > 1:
        left = random.randrange(len(parts) - 1)
        parts[left].merge(parts.pop(left + 1))

    (whole,) = parts
    assert values(whole) == fingerprint_page(text, config)


@given(texts, configs)
def test_merging_a_text_with_itself_gives_it_twice(text: str, config: SimhashConfig) -> None:
    merged, updated = fed_in_two(text, 0, config), fed_in_two(text, 0, config)

    merged.merge(merged)
    updated.update(text)

    assert values(merged) == values(updated)


def values(simhash: Simhash) -> tuple[int, int, int]:
    return simhash.digest(), simhash.token_count, simhash.text_fingerprint


def fed_in_two(text: str, cut: int, config: SimhashConfig) -> Simhash:
    simhash = Simhash(text[:cut], window_tokens=config.window_tokens)
    simhash.update(text[cut:])
    return simhash


@given(st.permutations([f"word{number}" for number in range(40)]))
def test_windows_of_one_token_ignore_order(words: list[str]) -> None:
    config = SimhashConfig(window_tokens=1)

    shuffled, ordered = fingerprint_texts([" ".join(words), " ".join(sorted(words))], config).fingerprints

    assert shuffled == ordered
