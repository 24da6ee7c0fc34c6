from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import msgspec
import pytest

from neardup_stream.errors import InvariantBroken, LimitName
from neardup_stream.message import Partition, Position, Record
from neardup_stream.meters import NoMeters, PipelineMeters, Step, WorkerEnd
from neardup_stream.page import Page, PageId
from neardup_stream.pipeline.arrival import Prepared
from neardup_stream.pipeline.guarded_preparation import GuardedPreparation
from neardup_stream.pipeline.preparation import OnRecord, Preparation
from neardup_stream.pipeline.worker_limits import WorkerLimits
from neardup_stream.text.limits import MarkupLimits, TextLimits
from tests.bad_work import BadPreparation
from tests.framed_pages import outside_landmarks
from tests.pipelines import Pipeline, essay, page_json

LIMITS = WorkerLimits(cpu_seconds=0.5, memory_bytes=128 << 20)


def build(meters: PipelineMeters, *, on_record: OnRecord) -> BadPreparation:
    return BadPreparation(Pipeline().preparation(meters), on_record)


def build_broken(meters: PipelineMeters, *, on_record: OnRecord) -> BadPreparation:
    return BadPreparation(Pipeline().preparation(meters), on_record, is_broken=True)


def build_uncounted(meters: PipelineMeters, *, on_record: OnRecord) -> Preparation:
    most = 1 << 30
    limits = TextLimits(MarkupLimits(*[most] * len(fields(MarkupLimits))), most)
    return Pipeline().preparation(meters, limits=limits, on_record=on_record)


class Counted(NoMeters):
    """Counts what a preparation reports."""

    def __init__(self) -> None:
        self.ends: Counter[WorkerEnd] = Counter()
        self.limits: Counter[LimitName] = Counter()
        self.steps: Counter[Step] = Counter()

    def worker_ended(self, end: WorkerEnd) -> None:
        self.ends[end] += 1

    def over_limit(self, limit: LimitName, count: int) -> None:
        self.limits[limit] += count

    def step_seconds(self, step: Step, seconds: float) -> None:
        self.steps[step] += 1


@pytest.fixture
def counted() -> Counted:
    return Counted()


@pytest.fixture(scope="module")
def started() -> Iterator[GuardedPreparation]:
    guarded = GuardedPreparation(build, LIMITS, NoMeters())
    guarded.start()
    yield guarded
    guarded.close()


@pytest.fixture
def preparation(started: GuardedPreparation, counted: Counted) -> GuardedPreparation:
    """One process for all tests, as for all batches of a daemon; what it counts is this test's."""
    started._meters = counted
    return started


PARTITION = Partition("pages", 0)


def _records(*values: bytes) -> list[Record]:
    return [
        Record(position=Position(PARTITION, offset), key=None, value=value)
        for offset, value in enumerate(values)
    ]


def _page(number: int, deed: str = "") -> bytes:
    return page_json(str(number), f"{essay(number)} {deed}")


def _offsets(prepared: Prepared) -> tuple[list[int], list[tuple[int, str]]]:
    """Of the pages, and of the rejected with their reasons."""
    return (
        [item.record.position.offset for item in prepared.items],
        [(rejected.record.position.offset, rejected.error.reason) for rejected in prepared.rejected],
    )


def test_pages_are_the_same_as_when_prepared_in_this_process(
    preparation: GuardedPreparation, counted: Counted
) -> None:
    records = [
        *_records(*[_page(number) for number in range(200)], b"no page", page_json("a", "Stra\u00dfe")),
        Record(position=Position(PARTITION, 202), key=b"a", value=None),
    ]

    prepared = preparation.prepare(records)
    at_home = Pipeline().preparation().prepare(records)

    assert prepared.items == at_home.items
    assert _offsets(prepared) == _offsets(at_home)
    assert all(
        item.record.position is records[item.record.position.offset].position for item in prepared.items
    )
    assert set(counted.steps) == {"decode", "extract", "fingerprint"}
    assert set(counted.steps.values()) == {1}


DEEDS = {
    "-spin-": ("over_limit", "page_seconds", 1),
    "-grow-": ("over_limit", "page_memory_bytes", 1),
    "-fail-": ("extraction_failed", "failed", 1),
    "-crash-": ("extraction_failed", "failed", 2),  # the process may have been killed for another reason
    "-vanish-": ("extraction_failed", "failed", 2),
}
"""What a page does, with the reason of its dead letter, why its process ends, and how many it ends."""


@pytest.mark.parametrize(("deed", "reason", "end", "count"), [(deed, *ends) for deed, ends in DEEDS.items()])
def test_a_page_that_ends_its_process_is_refused_and_the_others_are_unharmed(
    preparation: GuardedPreparation, counted: Counted, deed: str, reason: str, end: str, count: int
) -> None:
    records = _records(_page(0), _page(1), _page(2, deed), _page(3))

    assert _offsets(preparation.prepare(records)) == ([0, 1, 3], [(2, reason)])
    assert counted.ends == {end: count}
    assert sum(counted.limits.values()) == (reason == "over_limit")
    assert _offsets(preparation.prepare(records[:2])) == ([0, 1], [])


@pytest.mark.parametrize(("deed", "reason", "end"), [(deed, *ends[:2]) for deed, ends in DEEDS.items()])
def test_a_page_that_ends_its_process_while_all_are_at_work_is_found_by_preparing_each_alone(
    preparation: GuardedPreparation, counted: Counted, deed: str, reason: str, end: str
) -> None:
    records = _records(_page(0), _page(1), _page(2, f"all:{deed}"), _page(3))

    assert _offsets(preparation.prepare(records)) == ([0, 1, 3], [(2, reason)])
    assert counted.ends == {end: 2}


def test_pages_that_take_more_time_together_than_one_may_are_all_read(
    preparation: GuardedPreparation, counted: Counted
) -> None:
    pages = [_page(number, "-busy-") for number in range(8)]  # each for a fifth of the limit

    assert _offsets(preparation.prepare(_records(*pages))) == (list(range(8)), [])
    assert counted.ends == {}


def test_a_page_for_which_a_grown_process_has_no_memory_is_tried_in_another_one(
    preparation: GuardedPreparation, counted: Counted
) -> None:
    assert _offsets(preparation.prepare(_records(_page(0, "-keep-")))) == ([0], [])

    assert _offsets(preparation.prepare(_records(_page(0), _page(1, "-grow-")))) == ([0], [(1, "over_limit")])
    assert counted.ends == {"page_memory_bytes": 2}


SLOW_MARKUP = "<select>" + "<option>x" * 40_000
LARGE_MARKUP = "".join(f"<p><font size={number}>x</p>" for number in range(2_000))


@pytest.mark.parametrize(
    ("limits", "html", "limit"),
    [
        (WorkerLimits(cpu_seconds=0.3, memory_bytes=1 << 30), SLOW_MARKUP, "page_seconds"),
        (WorkerLimits(cpu_seconds=60, memory_bytes=64 << 20), LARGE_MARKUP, "page_memory_bytes"),
    ],
)
def test_markup_that_no_count_refuses_is_refused_at_once_when_its_process_ends(
    counted: Counted, limits: WorkerLimits, html: str, limit: LimitName
) -> None:
    hostile = msgspec.json.encode({"url": "https://hostile.example/", "html": html})
    records = _records(_page(0), hostile, _page(2))
    guarded = GuardedPreparation(build_uncounted, limits, counted)
    try:
        prepared = guarded.prepare(records)
    finally:
        guarded.close()

    assert _offsets(prepared) == ([0, 2], [(1, "over_limit")])
    assert prepared.rejected[0].error.limit == limit
    assert counted.ends == {limit: 1}


def test_several_bad_pages_of_a_batch_are_refused_each_for_its_own_reason(
    preparation: GuardedPreparation,
) -> None:
    records = _records(_page(0, "-grow-"), _page(1), _page(2, "-fail-"), _page(3, "-crash-"), b"no page")

    ids, rejected = _offsets(preparation.prepare(records))

    assert ids == [1]
    assert rejected == [
        (0, "over_limit"),
        (2, "extraction_failed"),
        (3, "extraction_failed"),
        (4, "not_json"),
    ]


def test_a_page_alone_that_takes_too_long_is_tried_once(
    preparation: GuardedPreparation, counted: Counted
) -> None:
    assert _offsets(preparation.prepare(_records(_page(0, "-spin-")))) == ([], [(0, "over_limit")])
    assert counted.ends == {"page_seconds": 1}


def test_of_pages_that_are_refused_the_first_has_a_line_and_the_others_wait_for_the_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    guarded = GuardedPreparation(build, LIMITS, NoMeters())
    try:
        guarded.prepare(_records(_page(0), *[_page(number, "-crash-") for number in range(1, 4)]))
        for _ in range(2):
            guarded.lines_outside_landmarks(_markup("-crash-"))
    finally:
        guarded.close()

    assert caplog.messages == ["page_refused", "landmarks_not_read"]
    refused = vars(caplog.records[0])["fields"]
    place = {"topic": "pages", "partition": 0, "offset": 1}
    assert {**refused, **place, "pages": 1} == refused


def test_limits_that_are_counted_there_are_reported_here(
    preparation: GuardedPreparation, counted: Counted
) -> None:
    deep = page_json("deep", "").replace(b'"text":""', b'"html":"' + b"<div>" * 2_000 + b'"')

    assert _offsets(preparation.prepare(_records(deep))) == ([], [(0, "over_limit")])
    assert counted.limits == {"max_depth": 1}
    assert counted.ends == {}


def _markup(words: str) -> Page:
    html = f"<nav><p>menu of the site</nav><p>{words}"
    return Page(id=PageId("a"), url="https://a.example", fetched_at_seconds=0, html=html)


def test_landmarks_are_read_there_as_they_are_at_home(preparation: GuardedPreparation) -> None:
    page = _markup("some words")

    lines = preparation.lines_outside_landmarks(page)

    assert lines is not None
    assert lines.tolist() == outside_landmarks(page).tolist()


@pytest.mark.parametrize("deed", DEEDS)
def test_landmarks_that_take_too_much_cannot_be_detected_and_harm_nothing(
    preparation: GuardedPreparation, counted: Counted, deed: str
) -> None:
    assert preparation.lines_outside_landmarks(_markup(deed)) is None
    assert counted.ends.total() == 1
    assert _offsets(preparation.prepare(_records(_page(0)))) == ([0], [])


def test_both_threads_that_use_the_process_end_at_a_close_and_none_starts_another(counted: Counted) -> None:
    guarded = GuardedPreparation(build, WorkerLimits(cpu_seconds=60, memory_bytes=128 << 20), counted)
    guarded.start()

    with ThreadPoolExecutor(2) as pool:
        batch = pool.submit(guarded.prepare, _records(_page(0, "-spin-"), _page(1)))
        landmarks = pool.submit(
            lambda: [guarded.lines_outside_landmarks(_markup("-spin-")) for _ in range(99)]
        )
        guarded.close()
        for call in (batch, landmarks):
            with pytest.raises(InvariantBroken, match="is closed"):
                call.result()

    assert counted.ends == {}


def test_pages_are_not_refused_for_an_error_of_ours(counted: Counted) -> None:
    guarded = GuardedPreparation(build_broken, LIMITS, counted)
    try:
        with pytest.raises(InvariantBroken, match="nothing works"):
            guarded.prepare(_records(_page(0)))
    finally:
        guarded.close()
