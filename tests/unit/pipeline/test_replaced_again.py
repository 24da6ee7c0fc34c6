"""Which version a record has replaced, for those before it, and when it is registered again."""

from collections.abc import Sequence

import msgspec
import pytest

from neardup_stream.match import Candidate
from neardup_stream.message import Position
from neardup_stream.page import Handle
from neardup_stream.pipeline.arrival import Arrival, PageChange, Registered
from neardup_stream.pipeline.batch import InFlightBatch, Run
from neardup_stream.pipeline.former_versions import FormerVersions
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.traces import NoTracer
from tests.unit.pipeline.arrivals import HERE, arrival

HANDLE = Handle(1)
CHANGE = arrival(text=2, offset=1)


def record_of(made: Arrival, version: int) -> PageRecord:
    record = PageRecord.first(
        page_id=made.page.id,
        url=made.page.url,
        text_fingerprint=made.text_fingerprint,
        position=made.record.position,
        seen_seconds=0,
    )
    return msgspec.structs.replace(record, version=version)


BEFORE, AFTER = record_of(arrival(text=1, offset=0), 1), record_of(CHANGE, 2)


def run_of(number: int, *items: Arrival) -> Run:
    """Return a run of these records, or of the change alone."""
    batch = InFlightBatch((), 1, 0, {}, 0, NoTracer().begin(()))
    return Run(batch, items or (CHANGE,), is_last=True, number=number)


def kept_by(*numbers: int) -> FormerVersions:
    """Return what is kept after runs with these numbers have begun to replace the version before."""
    former = FormerVersions()
    for number in numbers:
        former.add(run_of(number), CHANGE.record.position, HANDLE, BEFORE)
    return former


def known_again(
    former: FormerVersions,
    change: PageChange = "replayed",
    handle: Handle = HANDLE,
    record: PageRecord = AFTER,
) -> PageRecord | None:
    """Return what the change has replaced, when it is registered again with this result."""
    (page,) = former.pages_again([Registered(CHANGE, handle, record, change)])
    return page.former


@pytest.mark.parametrize(
    ("number", "offset", "is_found"),
    [(1, 3, True), (2, 4, True), (2, 5, True), (2, 6, False), (3, 7, False)],
    ids=["a run before", "a record before", "the record itself", "a record behind it", "a run behind it"],
)
def test_a_version_is_found_by_the_records_up_to_the_one_that_replaced_it(
    number: int, offset: int, *, is_found: bool
) -> None:
    offsets = {1: (1, 2, 3), 2: (4, 5, 6), 3: (7,)}
    runs = {each: run_of(each, *(arrival(text=2, offset=at) for at in offsets[each])) for each in offsets}
    former = FormerVersions()
    former.add(runs[2], Position(HERE, 5), HANDLE, BEFORE)

    found = former.find(runs[number], Position(HERE, offset), Candidate(HANDLE, BEFORE.version, "simhash"))

    assert found == (BEFORE if is_found else None)


@pytest.mark.parametrize("change", ["replayed", "unchanged", "superseded"])
def test_a_record_that_writes_nothing_replaced_what_it_did_before(change: PageChange) -> None:
    assert known_again(kept_by(1), change) == BEFORE


@pytest.mark.parametrize("change", ["new", "returned"])
def test_a_record_that_writes_a_version_replaced_what_it_does_now(change: PageChange) -> None:
    assert known_again(kept_by(1), change) is None


def test_a_record_that_was_not_written_has_replaced_nothing() -> None:
    """The version that it was to replace is the present one still: the store was unavailable before."""
    assert known_again(kept_by(1), "superseded", record=BEFORE) is None


def test_the_page_of_another_handle_was_not_replaced() -> None:
    """The page has a new record where the one that was replaced was lost, and its place taken."""
    assert known_again(kept_by(1), handle=Handle(2)) is None


def test_what_a_run_replaced_is_dropped_with_that_run_alone() -> None:
    """A record that is read again is in two runs, while the first one is still decided."""
    former = kept_by(1, 2)

    former.drop(run_of(1))
    assert known_again(former) == former.version(HANDLE, BEFORE.version) == BEFORE

    former.drop(run_of(2))
    assert known_again(former) is former.version(HANDLE, BEFORE.version) is None


@pytest.mark.parametrize(
    ("handles", "ranks", "decided"),
    [
        pytest.param((1, 1, 1), (5, 0, 0), 1, id="two versions were superseded"),
        pytest.param((1, 1, 1), (5, 6, 0), 2, id="one version was superseded"),
        pytest.param((1, 1, 1), (5, 6, 7), None, id="the version that it replaced was decided"),
        pytest.param((1, 1, 1), (0, 0, 0), None, id="none was decided"),
        pytest.param((1, 2, 2), (5, 0, 0), None, id="a page at another handle had the decided one"),
    ],
)
def test_the_version_before_those_that_were_not_decided_is_known(
    handles: Sequence[int], ranks: Sequence[int], decided: int | None
) -> None:
    """Versions 1 to 3 are replaced one after the other, by the records at offsets 1 to 3."""
    arrivals = [arrival(text=number, offset=number) for number in range(4)]
    versions = [record_of(each, number) for number, each in enumerate(arrivals, start=1)]
    former = FormerVersions()
    for made, record, handle, rank in zip(arrivals[1:], versions, handles, ranks, strict=False):
        replaced = msgspec.structs.replace(record, rank=rank)
        former.add(run_of(1, made), made.record.position, Handle(handle), replaced)

    (page,) = former.pages_again([Registered(arrivals[3], Handle(handles[2]), versions[3], "replayed")])

    assert (page.decided_before and page.decided_before.version) == decided
