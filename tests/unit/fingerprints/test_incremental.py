import copy
import hashlib
from collections.abc import Callable

import pytest

from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.incremental import Simhash
from neardup_stream.fingerprints.simhash import RECENT_WINDOWS, SimhashConfig
from neardup_stream.text.tokens import MAX_TOKEN_CHARACTERS
from tests.reference import fingerprint_page

CONFIG = SimhashConfig(window_tokens=3, min_tokens=1)


def _fed(*pieces: str, window_tokens: int = 3) -> Simhash:
    simhash = Simhash(window_tokens=window_tokens)
    for piece in pieces:
        simhash.update(piece)
    return simhash


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
    whole = _values(_fed(text))

    for split in range(len(text) + 1):
        left, right = text[:split], text[split:]
        merged = _fed(left)
        merged.merge(_fed(right))
        assert _values(_fed(left, right)) == whole
        assert _values(merged) == whole


def test_pieces_cut_at_white_space_need_not_be_canonical() -> None:
    pieces = ["ÉTÉ\u00a0", "Cafe\u0301 \ufb01ne", "\u00adly ", "STRASSE\0straße"]

    assert _values(_fed(*pieces)) == fingerprint_page("".join(pieces), CONFIG)


def test_a_text_without_tokens_has_the_simhash_zero() -> None:
    assert _values(Simhash(" . "))[:2] == (0, 0)


def test_a_digest_does_not_end_the_text() -> None:
    simhash = _fed("a b c de")
    simhash.digest()

    simhash.update("f g")

    assert _values(simhash) == fingerprint_page("a b c def g", CONFIG)


@pytest.mark.parametrize("copied", [Simhash.copy, copy.copy, copy.deepcopy])
def test_a_copy_is_independent(copied: Callable[[Simhash], Simhash]) -> None:
    simhash = _fed("a b c")
    twin = copied(simhash)

    twin.update("d e")

    assert _values(simhash) == fingerprint_page("a b c", CONFIG)
    assert _values(twin) == fingerprint_page("a b cd e", CONFIG)


def test_merging_leaves_the_other_as_it_was() -> None:
    left, right = _fed("a b"), _fed("c d")

    left.merge(right)
    left.update(" e")

    assert _values(right) == fingerprint_page("c d", CONFIG)


def test_simhashes_of_different_windows_do_not_merge() -> None:
    with pytest.raises(ConfigError, match="simhashes of 3 and 2 tokens to a window cannot be merged"):
        _fed("a b").merge(Simhash(window_tokens=2))


@pytest.mark.parametrize("window_tokens", [0, 33])
def test_a_window_out_of_its_range_is_refused(window_tokens: int) -> None:
    with pytest.raises(ConfigError, match=f"window_tokens is {window_tokens}, must be 1 to 32"):
        Simhash(window_tokens=window_tokens)


def test_memory_does_not_grow_with_the_text() -> None:
    simhash = Simhash(window_tokens=3)
    for number in range(2000):
        simhash.update(hashlib.blake2b(str(number).encode()).hexdigest()[:7] + " ")

    sequence = simhash._finished
    kept = {name: getattr(sequence, name) for name in type(sequence).__slots__}

    lengths = {name: len(value) for name, value in kept.items() if isinstance(value, list)}
    assert max(lengths.values()) == RECENT_WINDOWS


def _values(simhash: Simhash) -> tuple[int, int, int]:
    return simhash.digest(), simhash.token_count, simhash.text_fingerprint
