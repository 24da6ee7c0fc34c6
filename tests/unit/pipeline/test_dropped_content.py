"""What a batch keeps of its records behind each step."""

import gc
import tracemalloc

import msgspec
import pytest

from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.frames.lines import FrameConfig
from neardup_stream.frames.table import FrameTable
from neardup_stream.message import Record
from neardup_stream.pipeline.arrival import Prepared
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.frame_views import FrameViewer
from neardup_stream.streams.memory.streams import numbered
from tests.framed_pages import outside_landmarks
from tests.pipelines import Pipeline, essay, page_json

META = {"seed": "a"}
LARGE_BYTES = 200_000


def markup(number: int, comment_bytes: int = 0) -> bytes:
    html = f"<html><body><!--{'x' * comment_bytes}--><p>{essay(number)}</p></body></html>"
    return msgspec.json.encode({"url": f"https://example.com/{number}", "html": html, "meta": META})


def prepared(records: list[Record], site: str | None) -> Prepared:
    return Pipeline(site=site).preparation().prepare(records)


def contents(of: Prepared) -> list[object]:
    return [each for page in of.arrivals for each in (page.page.html, page.page.text, page.page.body)]


@pytest.mark.parametrize("site", [None, "host"])
def test_plain_text_is_dropped_once_it_is_fingerprinted(site: str | None) -> None:
    of = prepared(numbered([page_json("a", essay(1))]), site)

    assert contents(of) == [None] * 3


def test_markup_is_dropped_once_it_is_fingerprinted_where_no_frame_is_to_be_taken_out() -> None:
    assert contents(prepared(numbered([markup(1)]), None)) == [None] * 3


def test_markup_is_kept_until_its_frame_is_taken_out() -> None:
    of = prepared(numbered([markup(number) for number in range(3)]), "host")
    assert None not in [page.page.html for page in of.arrivals]

    viewer = FrameViewer(FrameConfig(), outside_landmarks, VerdictConfig(SketchConfig()))
    viewed = viewer.view(of.arrivals, 1, {"example.com": FrameTable.empty()})

    assert contents(of._replace(items=list(viewed.arrivals))) == [None] * 9
    assert [page.page.meta for page in viewed.arrivals] == [msgspec.Raw(b'{"seed":"a"}')] * 3


def test_a_record_that_is_no_page_is_kept_whole_for_its_dead_letter() -> None:
    records = numbered([b"{"])

    (rejected,) = prepared(records, None).rejected

    assert rejected.record is records[0]


def test_a_prepared_batch_does_not_hold_the_bytes_of_its_pages() -> None:
    pipeline = Pipeline()
    preparation = pipeline.preparation()
    preparation.prepare(numbered([markup(0)]))
    tracemalloc.start()
    try:
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        of = preparation.prepare(numbered([markup(number, LARGE_BYTES) for number in range(8)]))
        gc.collect()
        held_bytes = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()

    assert len(of.arrivals) == 8
    assert held_bytes < LARGE_BYTES
