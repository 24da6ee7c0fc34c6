import io
import sys
from dataclasses import replace

import pytest
from neardup_daemon.demo.facts import DemoRun
from neardup_daemon.demo.report import EXAMPLE_KINDS, NEXT_COMMANDS, DemoReport, build_report, print_report
from neardup_daemon.demo.sample_crawl.crawl import generate_crawl
from neardup_daemon.demo.sample_crawl.score import KindScore, Score
from rich.console import Console

from neardup_stream.event_parts import EventMatch, EventPage
from neardup_stream.events import DuplicateFound
from tests.events import delivered

CRAWL = generate_crawl(100, seed=5)


def duplicate(page_id: str, earlier_id: str, distance_bits: int = 2) -> DuplicateFound:
    return DuplicateFound(
        page=EventPage(id=page_id, url=page_id, version=1, fetched_at="", fingerprint="1"),
        kind="near",
        matches=(EventMatch(id=earlier_id, url=earlier_id, version=1, distance_bits=distance_bits),),
        matches_total=1,
    )


def run_of(*duplicates: DuplicateFound) -> DemoRun:
    return DemoRun(tuple(map(delivered, duplicates)), CRAWL.expected_outcomes, clusters=(), seconds=2)


PERFECT_RUN = run_of(*(duplicate(page_id, relation.base_id) for page_id, relation in CRAWL.relations.items()))


def printed(report: DemoReport, *, is_terminal: bool = False) -> str:
    output = io.StringIO()
    console = Console(
        file=output,
        width=80,
        force_terminal=is_terminal,
        color_system="truecolor" if is_terminal else None,
        no_color=False,
    )
    print_report(report, console)
    return output.getvalue()


def test_a_report_of_a_perfect_run_finds_everything() -> None:
    report = build_report(CRAWL, PERFECT_RUN)

    assert report.score.found == report.score.pages
    assert report.score.false_pairs == ()


def test_one_example_is_taken_of_each_kind_to_show() -> None:
    report = build_report(CRAWL, PERFECT_RUN)

    assert sorted(example.kind for example in report.examples) == sorted(EXAMPLE_KINDS)
    for example in report.examples:
        assert CRAWL.relations[example.url].base_id == example.match.id
        assert any(piece.change == "added" for piece in example.changes)


def test_a_run_that_finds_nothing_has_no_examples() -> None:
    report = build_report(CRAWL, run_of())

    assert report.examples == ()
    assert report.score.found == 0


def test_a_match_of_two_originals_is_a_false_pair() -> None:
    one, other = sorted({relation.base_id for relation in CRAWL.relations.values()})[:2]

    report = build_report(CRAWL, run_of(duplicate(one, other)))

    assert report.score.false_pairs == ((one, other),)


def report_of(score: Score, outcomes: dict[str, int]) -> DemoReport:
    return replace(
        build_report(CRAWL, run_of()),
        score=score,
        expected_outcomes={"unique": 8, "duplicate": 2},
        outcomes=outcomes,
        seconds=4,
    )


SOME_FOUND = Score((KindScore("mirror", 3, 2),), ())


def rows(text: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.strip("│┃ ").split("│")] for line in text.splitlines() if "│" in line
    ]


def test_recall_is_printed_by_kind_and_in_all() -> None:
    text = printed(report_of(SOME_FOUND, {"unique": 10}))

    assert ["mirror", "3", "2", "66 %"] in rows(text)
    assert ["all", "3", "2", "66 %"] in rows(text)
    assert "A page is missed when" in text


def test_outcomes_stand_beside_what_they_should_be_and_those_that_are_nil_are_left_out() -> None:
    text = printed(report_of(SOME_FOUND, {"unique": 9, "skipped": 1, "superseded": 0}))

    assert ["unique", "8", "9"] in rows(text)
    assert ["duplicate", "2", "0"] in rows(text)
    assert ["skipped", "0", "1"] in rows(text)
    assert ["all", "10", "10"] in rows(text)
    assert "superseded" not in text


def test_pages_a_second_are_printed() -> None:
    assert "10 records in 4.0 s, start-up not counted" in printed(report_of(SOME_FOUND, {"unique": 10}))


@pytest.mark.parametrize(
    ("false_pairs", "shown"),
    [
        pytest.param(0, 0, id="none"),
        pytest.param(3, 3, id="as-many-as-are-shown"),
        pytest.param(4, 3, id="one-more-than-is-shown"),
    ],
)
def test_false_pairs_are_counted_and_the_first_three_shown(false_pairs: int, shown: int) -> None:
    pairs = tuple((f"left{number}", f"right{number}") for number in range(false_pairs))

    text = printed(report_of(SOME_FOUND._replace(false_pairs=pairs), {"unique": 10}))

    assert f"False pairs: {false_pairs}" in text
    assert text.count("left") == shown


def test_without_a_terminal_the_report_is_plain_text_within_80_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Commands are printed whole, so that they can be copied: the path of the program counts too.
    monkeypatch.setattr(sys, "argv", ["neardup-stream"])
    report = build_report(CRAWL, PERFECT_RUN)

    text = printed(report)

    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_changes_are_marked_without_color_too() -> None:
    text = printed(build_report(CRAWL, PERFECT_RUN))

    assert "[-" in text
    assert "{+" in text


def test_on_a_terminal_the_report_is_in_color() -> None:
    assert "\x1b[" in printed(build_report(CRAWL, PERFECT_RUN), is_terminal=True)


def test_what_to_type_next_is_printed_whole() -> None:
    text = printed(report_of(SOME_FOUND, {"unique": 10}))

    for command, purpose in NEXT_COMMANDS:
        assert command in text
        assert purpose in text
    assert "README.md, quick start, step 2 has neardup.toml" in text
