import math

import numpy as np
import pytest

from neardup_stream.hashing.ranks import mixed, ranks
from neardup_stream.hashing.stable import MASK64, mix

WORDS = np.array([0, 1, 2, 1 << 63, MASK64], np.uint64)


def undo_mix(word: int) -> int:
    word ^= word >> 33
    word = word * pow(0xC4CEB9FE1A85EC53, -1, 1 << 64) & MASK64
    word ^= word >> 33
    word = word * pow(0xFF51AFD7ED558CCD, -1, 1 << 64) & MASK64
    return word ^ word >> 33


def test_mixed_is_mix_of_each_word() -> None:
    assert mixed(WORDS).tolist() == [mix(word) for word in WORDS.tolist()]


@pytest.mark.parametrize("key", [0, 1, MASK64])
def test_a_word_can_be_computed_from_its_rank_so_no_two_share_one(key: int) -> None:
    turned_key = undo_mix(ranks(np.zeros(1, np.uint64), key).item())  # the word 0 stays 0 until the key comes

    recovered = [undo_mix(undo_mix(rank) ^ turned_key) for rank in ranks(WORDS, key).tolist()]

    assert recovered == WORDS.tolist()


def test_consecutive_keys_put_other_ones_of_consecutive_words_first() -> None:
    words = np.arange(1000, dtype=np.uint64)

    first = [np.argmin(ranks(words, key)).item() for key in range(1000)]

    assert len(set(first)) == pytest.approx(1000 * (1 - 1 / math.e), abs=50)  # as when drawn at random


def test_consecutive_words_fall_on_every_residue_alike() -> None:
    residues = ranks(np.arange(64_000, dtype=np.uint64), 0) % np.uint64(64)

    counts = np.bincount(residues.astype(np.int64), minlength=64)
    assert counts.min() > 1000 - 5 * 32
    assert counts.max() < 1000 + 5 * 32
