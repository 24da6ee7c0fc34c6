"""The check of wording: what it reports, and what it leaves alone."""

from pathlib import Path

import pytest

from tests.words import findings


def _words(tmp_path: Path, text: str) -> list[tuple[int, str]]:
    path = tmp_path / "page.md"
    path.write_text(text, encoding="utf-8")
    return [(finding.line, finding.word) for finding in findings(path)]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        pytest.param("The cluster TELLS its pages.", "tells", id="capitals"),
        pytest.param("def is_told(page): ...", "told", id="identifier"),
        pytest.param("class Turnstile: ...", "turnstile", id="class"),
        pytest.param("def under_way(): ...", "way", id="phrase-in-an-identifier"),
        pytest.param("while Redis is away", "away", id="one-word"),
        pytest.param("rows are kept at hand", "hand", id="phrase"),
        pytest.param("lets_old_pages_go = True", "go", id="phrase-with-words-between"),
        pytest.param(
            "# rows are kept at\n    # hand for a while", "hand", id="phrase-across-lines-of-a-comment"
        ),
    ],
)
def test_an_avoided_word_is_reported(tmp_path: Path, text: str, word: str) -> None:
    assert [found for _, found in _words(tmp_path, text)] == [word]


@pytest.mark.parametrize(
    "text",
    [
        "stories and retellings",
        "The event is sent right away.",
        "the left hand side",
        "let all other work go on",
        "a row of an array, the rest of the batch, a record that was found",
    ],
)
def test_a_word_that_is_right_where_it_stands_is_not_reported(tmp_path: Path, text: str) -> None:
    assert _words(tmp_path, text) == []


def test_a_finding_names_the_line_and_what_to_write(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("One.\nTwo is told.\n", encoding="utf-8")
    (finding,) = findings(path)
    assert (finding.line, finding.instead) == (2, "publish, report, return; distinguish")


def test_the_path_of_a_file_is_checked_too(tmp_path: Path) -> None:
    path = tmp_path / "test_turnstile.py"
    path.write_text("", encoding="utf-8")

    assert [(finding.line, finding.word) for finding in findings(path)] == [(0, "turnstile")]
