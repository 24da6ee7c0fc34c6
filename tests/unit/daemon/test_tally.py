"""The summary of a run over files says how many records had which outcome, and why."""

from collections import Counter

from neardup_daemon.tally import Tally, by_outcome


def test_records_are_reported_while_they_are_counted() -> None:
    reported: list[int] = []
    tally = Tally(reported.append)

    tally.pages(2, 100)
    tally.pages(3, 100)

    assert reported == [2, 5]


def test_a_summary_says_why_records_are_skipped() -> None:
    tally = Tally()
    tally.outcome("skipped", 1, "content_type")
    tally.outcome("unique", 2)
    tally.outcome("skipped", 1_200, "warc_type")

    summary = by_outcome(tally.outcomes.most_common(), tally.skipped)

    assert summary == "1,201 skipped (1,200 warc_type, 1 content_type), 2 unique"


def test_a_summary_uses_the_singular_and_leaves_out_outcomes_of_no_record() -> None:
    assert by_outcome([("unique", 0), ("dead_letter", 1)], Counter()) == "1 dead letter"
    assert by_outcome([("dead_letter", 2), ("undecided", 1)], Counter()) == "2 dead letters, 1 undecided"
