"""The summary of a run over files says how many records had which outcome, and why."""

from collections import Counter

import pytest
from neardup_daemon.prepared_tally import PreparedTally
from neardup_daemon.tally import Tally, by_outcome, missing_texts

from neardup_stream.errors import BadPage
from neardup_stream.message import Partition, Position, Record
from neardup_stream.pipeline.arrival import Prepared, Rejected, SkippedRecord, metadata_of
from neardup_stream.streams.files.source import record_number


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


def test_ranges_and_pages_whose_matches_may_be_missing_are_named() -> None:
    tally = Tally()
    assert not tally.missing_matches()

    tally.truncated_probes(1)
    assert tally.missing_matches().startswith("1 page met more entries than a probe reads (index.bucket_cap)")

    tally.bucket_cap_hits(2_000)
    assert tally.missing_matches().startswith("2,000 ranges held and 1 page met more entries")


def test_five_dead_letters_of_all_batches_are_shown_and_the_others_counted() -> None:
    records = [Record(position=Position(Partition("files", 0), n), key=None, value=b"") for n in range(8)]
    rejected = [Rejected(each, BadPage("not_json", "cut off")) for each in records]
    first, last = Prepared([], rejected[:4], [], 0), Prepared([], rejected[4:], [], 0)
    skipped = Prepared([], [], [SkippedRecord(metadata_of(records[0]), "header")], 0)
    tally = PreparedTally()

    shown = [tally.add(batch, {"compared": 2}, record_number) for batch in (first, skipped, last)]

    assert [len(each) for each in shown] == [4, 0, 1]
    assert shown[2] == ["record 5: not_json: cut off"]
    assert str(tally) == "15 records: 6 compared, 8 dead letters, 1 skipped (1 header)"


@pytest.mark.parametrize(("with_text", "is_warning"), [(1, True), (2, False)])
def test_lines_of_which_nearly_all_have_no_text_are_warned_about(with_text: int, *, is_warning: bool) -> None:
    skipped = Counter({"header": 30, "no_text": 20})

    warning = missing_texts(skipped, skipped.total() + with_text)

    assert ("20 of 21 records have no text" in warning) == is_warning
    assert bool(warning) == is_warning


def test_one_dead_letter_is_in_the_singular_and_no_record_is_none() -> None:
    tally = PreparedTally()
    assert str(tally) == "0 records: none"

    tally.outcomes["dead_letter"] += 1

    assert str(tally) == "1 record: 1 dead letter"
