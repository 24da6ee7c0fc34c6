import pytest

from neardup_stream.hashing.stable import MASK64, mix, rotate, token_hash


@pytest.mark.parametrize(
    ("token", "expected"),
    [("", 0), ("a", 0x85555565F6597889), ("東", 0x37F2A0F8E3692A8A), ("a" * 40, 0x32A6CEAD6B7128DB)],
    ids=["empty", "one-byte", "three-bytes", "three-blocks"],
)
def test_token_hash_never_changes(token: str, expected: int) -> None:
    assert token_hash(token) == expected


@pytest.mark.parametrize(
    ("word", "bits", "expected"),
    [(1, 0, 1), (1, 1, 2), (1 << 63, 1, 1), (MASK64, 17, MASK64), (0xF0, 60, 0xF), (3, 64, 3)],
)
def test_rotate(word: int, bits: int, expected: int) -> None:
    assert rotate(word, bits) == expected


def test_mix_is_one_to_one_and_keeps_zero() -> None:
    assert len({mix(word) for word in range(10_000)}) == 10_000
    assert mix(0) == 0
