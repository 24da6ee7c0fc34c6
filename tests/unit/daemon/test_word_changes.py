import pytest
from neardup_daemon.inspect.word_changes import Piece, word_changes


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param("a b c", "a b c", (), id="equal-texts-have-no-changes"),
        pytest.param("", "", (), id="both-empty"),
        pytest.param("", "a", (Piece("a", "added"),), id="from-nothing"),
        pytest.param(
            "a b c",
            "a x c",
            (Piece("a ", "same"), Piece("b ", "removed"), Piece("x ", "added"), Piece("c", "same")),
            id="a-word-exchanged",
        ),
        pytest.param(
            "1 2 3 4 5 6 gone 7 8 9 10 11 12",
            "1 2 3 4 5 6 7 8 9 10 11 12",
            (Piece("3 4 5 6 ", "same"), Piece("gone ", "removed"), Piece("7 8 9 10 ", "same")),
            id="four-words-of-context",
        ),
        pytest.param(
            "山水火",
            "山木火",
            (Piece("山", "same"), Piece("水", "removed"), Piece("木", "added"), Piece("火", "same")),
            id="scripts-without-spaces-by-character",
        ),
        pytest.param(
            "Tiếng Việt don\u2019t",
            "Tiếng Việt can\u2019t",
            (Piece("Tiếng Việt ", "same"), Piece("don\u2019t", "removed"), Piece("can\u2019t", "added")),
            id="letters-with-marks-and-quotes-are-within-words",
        ),
    ],
)
def test_changes_are_shown_with_what_stands_around_them(
    before: str, after: str, expected: tuple[Piece, ...]
) -> None:
    assert word_changes(before, after, most_places=3) == expected


def numbered(count: int, changed: set[int]) -> str:
    return " ".join(f"new{number}" if number in changed else f"old{number}" for number in range(count))


@pytest.mark.parametrize("places", [2, 3, 4])
def test_no_more_places_are_shown_than_asked_for(places: int) -> None:
    pieces = word_changes(numbered(100, set()), numbered(100, {10, 40, 70}), most_places=places)

    assert sum(piece.change == "added" for piece in pieces) == min(places, 3)
    assert sum(piece.text == "… " for piece in pieces) == min(places, 3) - 1


@pytest.mark.parametrize(("added", "is_cut"), [(11, False), (12, False), (13, True)])
def test_a_long_insertion_is_cut_after_twelve_words(added: int, is_cut: bool) -> None:  # noqa: FBT001 - a table's column
    (piece,) = word_changes("", numbered(added, set()), most_places=1)

    assert piece.text.endswith("… ") == is_cut
    assert len(piece.text.replace("…", "").split()) == min(added, 12)
