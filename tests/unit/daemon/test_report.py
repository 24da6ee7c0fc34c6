"""The report of a run over files: what is counted, what is shown, and that nothing in it runs."""

import os
import re
from collections.abc import Sequence
from typing import Literal

import msgspec
import pytest
from neardup_daemon.cluster_files import ClusterRow
from neardup_daemon.reports.findings import LARGEST_CLUSTERS, Example, Findings, NotedFindings, PageRecords
from neardup_daemon.reports.rendering import Run, marked, render_report

from neardup_stream.events import DuplicateFound, Undecided
from neardup_stream.hashing.handles import handle_of
from neardup_stream.message import Message, Partition, Position
from neardup_stream.page import PageId
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordChange
from neardup_stream.streams.memory.streams import MemorySink
from neardup_stream.wire.events import to_structured
from tests.events import At, duplicate, undecided
from tests.subscriptions import written_event

HOSTILE = "<script>alert(1)</script>"
RUN = Run(["crawl.jsonl"], {"unique": 7, "duplicate": 3}, 1.25, is_complete=True)


OTHER = "https://a.example/1"


def position(offset: int) -> Position:
    return Position(Partition("file:crawl", 0), offset)


async def noted(
    events: Sequence[DuplicateFound | Undecided], max_hosts: int = 100, changed: Sequence[str] = ()
) -> Findings:
    """Return what is noted of events; each page has the version compared now, except `changed` ones."""
    store, findings = MemoryRecords(), Findings()
    ids = [event.page.id for event in events] + [
        match.id for event in events if isinstance(event, DuplicateFound) for match in event.matches
    ]
    for offset, page_id in enumerate(dict.fromkeys(ids)):
        version = 4 if page_id in changed else 1
        made_by = ("file:crawl", 0, offset)
        record = PageRecord(
            url=page_id,
            fingerprint=0,
            text_fingerprint=0,
            version=version,
            made_by=made_by,
            seen_seconds=0,
        )
        handle = handle_of(PageId(page_id), bytes(16))
        await store.replace([RecordChange(handle, None, record.pack())])
    async with NotedFindings(MemorySink(), PageRecords(store, bytes(16)), findings, max_hosts) as sink:
        await sink.send([Message(key=None, value=to_structured(written_event(event))) for event in events])
    return findings


def alike(page_id: str, resemblance: float, kind: Literal["exact", "near"] = "near") -> DuplicateFound:
    found = duplicate(page_id, At("x", 1, OTHER))
    match = msgspec.structs.replace(found.matches[0], id=OTHER, version=1, resemblance=resemblance)
    return msgspec.structs.replace(found, kind=kind, matches=(match,))


async def test_duplicates_are_counted_by_host_and_kind() -> None:
    findings = await noted(
        [
            alike("https://a.example/2", 0.9),
            alike("https://a.example/3", 1.0, "exact"),
            alike("https://b.example/1", 0.9),
            undecided("https://b.example/2"),
        ]
    )

    assert findings.by_host == {("a.example", "near"): 1, ("a.example", "exact"): 1, ("b.example", "near"): 1}


async def test_hosts_beyond_the_limit_count_together() -> None:
    findings = await noted([alike(f"https://{n}.example/", 0.9) for n in range(5)], max_hosts=2)

    counts = {host: count for (host, _), count in findings.by_host.items()}
    assert counts == {"0.example": 1, "1.example": 1, "(other hosts)": 3}


async def test_each_degree_of_resemblance_has_one_example() -> None:
    findings = await noted([alike(f"https://a.example/{n}", n / 100) for n in range(55, 101)])

    assert sorted(findings.examples) == [6, 7, 8, 9, 10]
    for degree, each in findings.examples.items():
        assert each.resemblance is not None
        assert abs(each.resemblance * 10 - degree) <= 0.5


async def test_an_example_has_the_positions_of_the_versions_that_were_compared() -> None:
    findings = await noted([alike("https://a.example/2", 0.9)])

    (example,) = findings.examples.values()
    assert (example.positions, example.other_positions) == ((position(0),), (position(1),))


@pytest.mark.parametrize("changed", [OTHER, "https://a.example/2"])
async def test_a_page_that_has_changed_since_it_was_compared_is_in_no_example(changed: str) -> None:
    findings = await noted([alike("https://a.example/2", 1.0, "exact")], changed=[changed])

    assert findings.by_host.total() == 1
    assert not findings.examples


def test_the_largest_clusters_are_kept() -> None:
    findings = Findings()
    for size in range(2, 50):
        findings.add_clusters([ClusterRow(f"c{size}", "0", [str(n) for n in range(size)])])

    assert [len(row.members) for row in findings.largest] == list(range(49, 49 - LARGEST_CLUSTERS, -1))
    assert findings.cluster_sizes.total() == 48


def test_words_that_only_one_text_has_are_marked_and_escaped() -> None:
    left, right = marked("a b <i> d", "a c <i> d e")

    assert left == "a <del>b </del>&lt;i&gt; <del>d</del>"
    assert right == "a <ins>c </ins>&lt;i&gt; <ins>d e</ins>"


def test_a_hostile_crawl_puts_no_markup_into_the_page() -> None:
    findings = Findings()
    findings.by_host[HOSTILE, "near"] = 1
    findings.examples[9] = Example(HOSTILE, f"{HOSTILE}2", "near", 0.9, 3, (position(0),), (position(1),))
    findings.add_clusters([ClusterRow("c", HOSTILE, [HOSTILE, f"{HOSTILE}2"])])
    run = RUN._replace(files=[HOSTILE], is_complete=False)

    page = render_report(run, findings, {position(0): f"one {HOSTILE}", position(1): "two"})

    assert "<script" not in page
    assert not re.search(r"<[^>]*\son\w+=|javascript:|https?://", page)
    assert "default-src 'none'" in page
    assert "ended before every file was read" in page


def test_a_file_name_that_is_not_utf8_is_shown_with_its_bytes_escaped() -> None:
    page = render_report(RUN._replace(files=[os.fsdecode(b"crawl-\xff.jsonl")]), Findings(), {}).encode()

    assert page.count(rb"crawl-\udcff.jsonl") == 2


def test_a_run_without_duplicates_says_so() -> None:
    page = render_report(RUN, Findings(), {})

    assert "No page is a near-duplicate" in page
    assert "10 records" in page


HIDDEN = "a\x00b\u202ec\x1b[2J\u2066d"
SHOWN = "a\\x00b\\u202ec\\x1b[2J\\u2066d"


def test_what_a_browser_would_hide_or_obey_is_spelled_out_in_the_report() -> None:
    findings = Findings()
    findings.add_clusters([ClusterRow("c", HIDDEN, [HIDDEN, "other"])])
    findings.by_host[HIDDEN, "near"] = 1

    page = render_report(RUN, findings, {})
    left, right = marked(f"{HIDDEN} is\nhere", "is\there")

    assert page.count(SHOWN) == 2
    assert SHOWN in left
    assert not set(HIDDEN) & set("\x00\u202e\x1b\u2066") & set(page + left + right)
