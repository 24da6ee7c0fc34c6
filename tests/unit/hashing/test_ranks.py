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
    second_round = ranks(np.array([key], np.uint64), key)[0].item()  # of word ^ key = 0: the constant, mixed

    recovered = [
        undo_mix(undo_mix(rank) - undo_mix(second_round) & MASK64) ^ key
        for rank in ranks(WORDS, key).tolist()
    ]

    assert recovered == WORDS.tolist()


def test_another_key_gives_another_order() -> None:
    words = np.arange(1000, dtype=np.uint64)

    orders = {tuple(np.argsort(ranks(words, key)).tolist()) for key in range(20)}

    assert len(orders) == 20


def test_consecutive_words_fall_on_every_residue_alike() -> None:
    residues = ranks(np.arange(64_000, dtype=np.uint64), 0) % np.uint64(64)

    counts = np.bincount(residues.astype(np.int64), minlength=64)
    assert counts.min() > 1000 - 5 * 32
    assert counts.max() < 1000 + 5 * 32
