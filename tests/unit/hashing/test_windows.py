import numpy as np
import pytest

from neardup_stream.fingerprints.token_sequence import windows
from neardup_stream.hashing.rabin import rabin_shift
from neardup_stream.hashing.windows import Shift, cyclic_shift, window_hashes
from tests.reference import rabin_fingerprint

SHIFTS = pytest.mark.parametrize("shift", [cyclic_shift, rabin_shift], ids=["cyclic", "rabin"])
TOKENS = np.random.default_rng(1).integers(0, 1 << 64, 70, np.uint64)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 7, 8, 31, 32])
def test_rabin_windows_equal_fingerprints_from_scratch(width: int) -> None:
    computed = window_hashes(TOKENS, width, rabin_shift)

    expected = [rabin_fingerprint(TOKENS.tolist()[start : start + width]) for start in range(71 - width)]
    assert computed.tolist() == expected


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 7, 8, 31, 32])
def test_cyclic_windows_are_those_of_the_simhash(width: int) -> None:
    assert window_hashes(TOKENS, width, cyclic_shift).tolist() == windows(TOKENS.tolist(), width)


@SHIFTS
@pytest.mark.parametrize("count", [0, 1, 2])
def test_tokens_that_do_not_fill_a_window_are_one_together(shift: Shift, count: int) -> None:
    computed = window_hashes(TOKENS[:count], 3, shift)

    assert computed.tolist() == window_hashes(TOKENS[:count], max(count, 1), shift).tolist()
    assert computed.size == min(count, 1)


@SHIFTS
@pytest.mark.parametrize(("count", "window_count"), [(3, 1), (4, 2)], ids=["just-full", "one-more"])
def test_windows_begin_at_every_token_but_the_last_few(shift: Shift, count: int, window_count: int) -> None:
    assert window_hashes(TOKENS[:count], 3, shift).size == window_count
