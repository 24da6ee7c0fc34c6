import hashlib

import pytest

from neardup_stream.errors import InvariantBroken
from neardup_stream.fingerprints.accumulator import SimhashAccumulator
from neardup_stream.fingerprints.reference import fingerprint_page
from neardup_stream.fingerprints.simhash import RECENT_WINDOWS, SimhashConfig
from neardup_stream.text.tokens import MAX_TOKEN_CHARACTERS

CONFIG = SimhashConfig(window_tokens=3, min_tokens=1)


def _accumulated(*pieces: str, config: SimhashConfig = CONFIG) -> SimhashAccumulator:
    accumulator = SimhashAccumulator(config)
    for piece in pieces:
        accumulator.update(piece)
    return accumulator


CASES = {
    "words": "the quick brown fox jumps",
    "one-run": "unbroken",
    "separators-at-the-edges": " , a b c d . ",
    "only-separators": " . ",
    "solo": "東京 都abc東",
    "fewer-than-a-window": "a b",
    "run-over-the-limit": "x" * (MAX_TOKEN_CHARACTERS + 2) + " y z",
    "repeated-phrase": "a b c d e " * 30,
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_every_split_merges_and_updates_to_the_whole(text: str) -> None:
    whole = _accumulated(text).digest()

    for split in range(len(text) + 1):
        left, right = text[:split], text[split:]
        merged = _accumulated(left)
        merged.merge(_accumulated(right))
        assert _accumulated(left, right).digest() == whole
        assert merged.digest() == whole


@pytest.mark.parametrize("tokens", [4, 5, 6])
def test_too_few_tokens_have_no_digest(tokens: int) -> None:
    config = SimhashConfig(window_tokens=2, min_tokens=5)
    text = " ".join(map(str, range(tokens)))

    digest = _accumulated(text, config=config).digest()

    assert digest == (fingerprint_page(text, config) if tokens >= 5 else None)


def test_a_digest_does_not_end_the_text() -> None:
    accumulator = _accumulated("a b c de")
    accumulator.digest()

    accumulator.update("f g")

    assert accumulator.digest() == fingerprint_page("a b c def g", CONFIG)


def test_a_copy_goes_its_own_way() -> None:
    accumulator = _accumulated("a b c")
    twin = accumulator.copy()

    twin.update("d e")

    assert accumulator.digest() == fingerprint_page("a b c", CONFIG)
    assert twin.digest() == fingerprint_page("a b cd e", CONFIG)


def test_merging_leaves_the_other_as_it_was() -> None:
    left, right = _accumulated("a b"), _accumulated("c d")

    left.merge(right)
    left.update(" e")

    assert right.digest() == fingerprint_page("c d", CONFIG)


def test_accumulators_of_different_windows_do_not_merge() -> None:
    other = SimhashAccumulator(SimhashConfig(window_tokens=2, min_tokens=1))

    with pytest.raises(InvariantBroken, match="cannot be merged"):
        _accumulated("a b").merge(other)


def test_memory_does_not_grow_with_the_text() -> None:
    accumulator = SimhashAccumulator(CONFIG)
    for number in range(2000):
        accumulator.update(hashlib.blake2b(str(number).encode()).hexdigest()[:7] + " ")

    sequence = accumulator._finished
    kept = {name: getattr(sequence, name) for name in type(sequence).__slots__}

    lengths = {name: len(value) for name, value in kept.items() if isinstance(value, list)}
    assert max(lengths.values()) == RECENT_WINDOWS
