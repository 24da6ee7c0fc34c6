"""A page is written so that its shingles want one slot of the table in which repeats are counted."""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neardup_stream.hashing.stable import token_hash
from tests.system.conftest import call

DISTINCT_TOKENS = 20_000
SLOTS = 1 << 21
"""Of the table for a million tokens."""

FIRST_SLOTS = DISTINCT_TOKENS // 20
VOCABULARY = [a + b + c for a in "abcdefghijklmnopqrstuvwxyz" for b in "aeiouy" for c in "bcdfghklmnprst"]


def mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        words = (words ^ (words >> np.uint64(33))) * np.uint64(factor)
    return words ^ (words >> np.uint64(33))


def turned(word: np.uint64, bits: int) -> np.uint64:
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


def flooding_text() -> str:
    """Write words whose shingles of three, by their leading bits alone, want the first slots of the table."""
    hashes = np.array([token_hash(word) for word in VOCABULARY], np.uint64)
    chosen = [0, 1]
    rng = np.random.default_rng(1)
    while len(chosen) < DISTINCT_TOKENS:
        before = turned(hashes[chosen[-2]], 2) ^ turned(hashes[chosen[-1]], 1)
        slots = (mixed(hashes ^ before) >> np.uint64(32)) & np.uint64(SLOTS - 1)
        fitting = np.flatnonzero(slots < FIRST_SLOTS)
        if fitting.size:
            chosen.append(int(rng.choice(fitting)))
        else:
            chosen = [*chosen[:-1], int(rng.integers(len(VOCABULARY)))]
    text = " ".join(VOCABULARY[word] for word in chosen)
    return " ".join([text] * (4_150_000 // len(text)))


def test_a_page_that_floods_a_table_is_a_page_like_others(tmp_path: Path) -> None:
    path = tmp_path / "flood.jsonl"
    path.write_text(json.dumps({"url": "https://hostile.example/", "text": flooding_text()}))

    ended = call("dedup", str(path), "--events", str(tmp_path / "events"))

    assert ended.returncode == 0, ended.stderr
    assert b"1 unique" in ended.stderr
