import pytest

from neardup_stream.match import Match
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.listed_matches import MAX_LISTED_BYTES, listed_matches


def matches(count: int, id_bytes: int, character: str = "x") -> list[Match]:
    """Return matches of pages whose URL is as long as their id."""
    name = character * (id_bytes // len(character.encode()))
    return [Match(Handle(number), PageId(name), name, 1, 0, "near") for number in range(count)]


@pytest.mark.parametrize("character", ["x", "\u00e4"])
def test_matches_with_long_names_are_listed_as_far_as_their_bytes_fit(character: str) -> None:
    found = matches(64, MAX_LISTED_BYTES // 16, character)

    assert listed_matches(found, 64) == found[:8]


def test_one_match_is_listed_however_long_its_name_is() -> None:
    found = matches(2, MAX_LISTED_BYTES)

    assert listed_matches(found, 64) == found[:1]


def test_matches_with_short_names_are_listed_up_to_the_limit() -> None:
    found = matches(100, 40)

    assert listed_matches(found, 64) == found[:64]
    assert listed_matches([], 64) == []
