import io

import pytest
from neardup_daemon.demo.facts import DemoRun
from neardup_daemon.demo.frames import FrameReport, build_frame_report, print_frame_report
from neardup_daemon.demo.sample_crawl.crawl import generate_crawl
from neardup_daemon.demo.sample_crawl.framed_site import FRAMED_KINDS
from neardup_daemon.demo.sample_crawl.truth import SampleCrawl, Story
from rich.console import Console

from neardup_stream.event_parts import EventMatch, EventPage
from neardup_stream.events import DuplicateFound
from neardup_stream.match import View
from tests.events import delivered

CRAWL = generate_crawl(80, seed=5)
ONE, OTHER, *_ = ARTICLES = CRAWL.framed.articles
COPIES = CRAWL.framed.near_duplicates
OF_THE_SITE = [page_id for page_id in (*ARTICLES, *COPIES) if page_id.split("/")[2] == CRAWL.framed.host]


def duplicate(page_id: str, earlier_id: str, view: View = "content") -> DuplicateFound:
    return DuplicateFound(
        page=EventPage(id=page_id, url=page_id, version=1, fetched_at="", fingerprint="1"),
        kind="near",
        matches=(
            EventMatch(
                id=earlier_id, url=earlier_id, version=1, distance_bits=2, resemblance=0.91, view=view
            ),
        ),
        matches_total=1,
    )


PERFECT = [duplicate(page_id, CRAWL.relations[page_id].base_id) for page_id in COPIES]


def report_of(*duplicates: DuplicateFound, frame_shares: dict[str, float] | None = None) -> FrameReport:
    shares = dict.fromkeys(OF_THE_SITE, 0.8) if frame_shares is None else frame_shares
    run = DemoRun(tuple(map(delivered, duplicates)), {}, (), seconds=1, frame_shares=shares)
    report = build_frame_report(CRAWL, run)
    assert report is not None
    return report


def printed(report: FrameReport) -> str:
    """Return the report, its lines joined where they only wrap."""
    output = io.StringIO()
    print_frame_report(report, Console(file=output, width=80))
    assert max(map(len, output.getvalue().splitlines())) <= 80
    return " ".join(output.getvalue().split())


def test_a_crawl_without_such_a_site_has_no_frame_report() -> None:
    crawl = SampleCrawl(records=(), relations={}, expected_outcomes={}, story=Story())

    assert build_frame_report(crawl, DemoRun((), {}, (), seconds=1)) is None


def test_the_true_share_of_frame_is_of_the_words_of_the_sites_own_pages() -> None:
    report = report_of()
    words = sum(len(CRAWL.text_of(page_id).split()) for page_id in OF_THE_SITE)

    assert report.page_count == len(OF_THE_SITE) == 14
    assert report.true_share == pytest.approx(14 * CRAWL.framed.frame_word_count / words)


def test_the_share_that_was_taken_out_is_of_the_pages_whose_frame_was_known() -> None:
    first, second, *_ = OF_THE_SITE
    report = report_of(frame_shares={first: 0.9, second: 0.7} | dict.fromkeys(OF_THE_SITE[2:], 0.0))

    assert report.framed_count == 2
    assert report.found_share == pytest.approx(0.8)
    assert "80% of the text, from 2 of 14 pages; 12 came before the frame" in printed(report)


def test_a_frame_of_every_page_is_printed_without_exceptions() -> None:
    assert "taken out 80% of the text, from every page different" in printed(report_of())


def test_a_run_that_knows_no_frame_is_printed_as_such() -> None:
    assert "taken out nothing" in printed(report_of(frame_shares={}))


def test_a_run_that_finds_all_near_duplicates_has_a_match_for_each_and_no_false_pair() -> None:
    report = report_of(*PERFECT)

    assert {copy.kind for copy in report.copies if copy.match} == set(FRAMED_KINDS)
    assert (report.false_pair_count, report.pair_count) == (0, 66)
    assert printed(report).count("found, alike: 0.91 (without frames)") == 3


def test_the_near_duplicate_on_another_site_is_printed_as_such() -> None:
    assert len(set(COPIES).difference(OF_THE_SITE)) == 1
    assert printed(report_of(*PERFECT)).count("found, alike: 0.91 (without frames), on another site") == 1


def test_a_match_by_the_whole_pages_is_printed_as_such() -> None:
    page_id = next(page_id for page_id in COPIES if page_id in OF_THE_SITE)
    found = duplicate(page_id, CRAWL.relations[page_id].base_id, view="whole")

    assert printed(report_of(found)).count("found, alike: 0.91 (whole pages)") == 1


def test_near_duplicates_that_were_not_reported_are_missed() -> None:
    report = report_of(PERFECT[0])

    assert [copy.match is None for copy in report.copies] == [False, True, True]
    assert printed(report).count("MISSED") == 2


def test_a_match_of_two_different_articles_is_a_false_pair_and_finds_nothing() -> None:
    report = report_of(duplicate(ONE, OTHER))

    assert report.false_pair_count == 1
    assert all(copy.match is None for copy in report.copies)
    assert "false pairs 1 of 66 pairs" in printed(report)


def test_near_duplicates_of_two_articles_count_as_one_false_pair_of_these() -> None:
    copy, other_copy, _ = COPIES
    base = CRAWL.relations[copy].base_id

    report = report_of(duplicate(copy, other_copy), duplicate(base, other_copy))

    assert report.false_pair_count == 1


def test_a_match_outside_the_site_is_no_false_pair_of_its_articles() -> None:
    elsewhere = next(relation.base_id for relation in CRAWL.relations.values())
    assert elsewhere not in ARTICLES

    assert report_of(duplicate(ONE, elsewhere)).false_pair_count == 0
