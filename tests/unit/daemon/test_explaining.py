"""What is said of two given pages: one case for every verdict, each the same from both sides."""

from pathlib import Path

import pytest
from msgspec import UNSET
from neardup_daemon.inspect.explaining import explain
from neardup_daemon.inspect.explanation import Explanation, PairVerdict
from neardup_daemon.inspect.explanation_words import sentences
from neardup_daemon.inspect.page_lookup import AskedPage, read_given
from neardup_daemon.settings.settings import Settings

from tests.pipelines import essay, page_json

EDITED = [50, 100, 150]
LONG = " ".join(essay(topic) for topic in (1, 3, 4))
ALIKE_AND_FAR = range(0, 200, 25)
"""Eight edits: 22 of 198 shingles are others."""


def given(folder: Path, page: bytes, *overrides: str) -> AskedPage:
    file = folder / "page.json"
    file.write_bytes(page)
    return read_given(str(file), Settings.load(overrides=overrides))


def explained(folder: Path, first: bytes, second: bytes, *overrides: str) -> Explanation:
    pages = given(folder, first, *overrides), given(folder, second, *overrides)
    settings = Settings.load(overrides=overrides)
    turned = explain(pages[1], pages[0], settings)
    explanation = explain(*pages, settings)
    assert (turned.verdict, turned.is_match, turned.tables) == (
        explanation.verdict,
        explanation.is_match,
        explanation.tables,
    )
    return explanation


@pytest.mark.parametrize(
    ("second", "overrides", "verdict", "is_match", "words"),
    [
        pytest.param(page_json("b", essay(1)), [], "exact", True, "token for token", id="exact"),
        pytest.param(
            page_json("b", essay(1, EDITED)), [], "near", True, "near_resemblance (0.55)", id="near"
        ),
        pytest.param(page_json("b", LONG), [], "contained", False, "(0.9)", id="contained"),
        pytest.param(page_json("b", essay(2)), [], "unlike", False, "is below", id="unlike"),
        pytest.param(page_json("b", "short"), [], "undecided", False, "the second is too short", id="short"),
        pytest.param(page_json("a", essay(2)), [], "same_page", False, "one page", id="same-page"),
        pytest.param(
            page_json("b", essay(1), language="de"),
            ["verdict.scope=language"],
            "other_scope",
            False,
            "(language), and these are of '-' and 'de'",
            id="other-scope",
        ),
        pytest.param(
            page_json("b", essay(1, [50])),
            ["verdict.scheme=simhash", "index.distance_bits=6", "index.blocks=8"],
            "near",
            True,
            "at most index.distance_bits (6)",
            id="near-by-simhash",
        ),
        pytest.param(
            page_json("b", essay(2)),
            ["verdict.scheme=simhash"],
            "unlike",
            False,
            "more than index.distance_bits (3)",
            id="unlike-by-simhash",
        ),
        pytest.param(
            page_json("b", essay(1, ALIKE_AND_FAR)),
            ["index.bands=0", "index.distance_bits=0"],
            "near",
            False,
            "no table brings them together",
            id="alike-but-in-no-table",
        ),
    ],
)
def test_every_verdict_is_given_with_its_reason(
    tmp_path: Path,
    second: bytes,
    overrides: list[str],
    verdict: PairVerdict,
    is_match: bool,  # noqa: FBT001 - a column of the table above
    words: str,
) -> None:
    explanation = explained(tmp_path, page_json("a", essay(1)), second, *overrides)

    assert (explanation.verdict, explanation.is_match) == (verdict, is_match)
    assert words in sentences(explanation)[0]


def test_the_exact_overlap_is_within_the_error_of_the_estimate(tmp_path: Path) -> None:
    explanation = explained(tmp_path, page_json("a", essay(1)), page_json("b", essay(1, EDITED)))

    estimated, exact = explanation.estimated, explanation.exact
    assert estimated is not UNSET
    assert exact is not UNSET
    assert (exact.first_count, exact.second_count, exact.common_count) == (198, 198, 189)
    for name in ("resemblance", "first_in_second", "second_in_first"):
        error = getattr(estimated, f"{name}_error")
        assert 0 < error < 0.05
        assert abs(getattr(estimated, name) - getattr(exact, name)) < 4 * error


def test_the_same_text_is_certain(tmp_path: Path) -> None:
    explanation = explained(tmp_path, page_json("a", essay(1)), page_json("b", f"<p>{essay(1).upper()}</p>"))
    assert explanation.is_same_text is False

    explanation = explained(tmp_path, page_json("a", essay(1)), page_json("b", essay(1).upper()))

    assert explanation.estimated is not UNSET
    assert (
        explanation.is_same_text,
        explanation.estimated.resemblance,
        explanation.estimated.resemblance_error,
    ) == (True, 1, 0)


@pytest.mark.parametrize(
    ("overrides", "links", "words"),
    [
        (["clusters.rule=linked"], True, "it is firm"),
        (["clusters.rule=linked", "clusters.link_containment=1"], True, "is not firm"),
        (["clusters.rule=components"], True, "every match does"),
        (["clusters.rule=anchored"], True, "if the earlier page founded"),
        (["clusters.rule=off"], UNSET, ""),
    ],
    ids=["linked-firm", "linked-not-firm", "components", "anchored", "off"],
)
def test_whether_a_match_links_is_said_by_the_rule_in_force(
    tmp_path: Path, overrides: list[str], links: object, words: str
) -> None:
    explanation = explained(tmp_path, page_json("a", essay(1)), page_json("b", essay(1, EDITED)), *overrides)

    assert explanation.would_link is links
    assert words in sentences(explanation)[-1]


def test_a_page_without_a_token_has_no_shares(tmp_path: Path) -> None:
    assert explained(tmp_path, page_json("a", essay(1)), page_json("b", "")).exact is UNSET
