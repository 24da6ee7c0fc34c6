"""What an archive keeps of pages is what it would keep of their records, under the same keys."""

import msgspec
import numpy as np
import pytest

from neardup_stream.archive.keys import KeyedPage, page_keys
from neardup_stream.message import Partition, Position, Record
from neardup_stream.pipeline.arrival import Arrival
from neardup_stream.pipeline.first_record import arrival_record
from neardup_stream.pipeline.freezing import (
    TimedRecord,
    freeze_arrivals,
    freeze_pages,
    keyed_arrival,
    keyed_record,
)
from tests.pipelines import Pipeline, essay, page_json

BAND = 4


def arrivals(*texts: str) -> list[Arrival]:
    records = [
        Record(position=Position(Partition("pages", 0), n), key=None, value=page_json(str(n), text))
        for n, text in enumerate(texts)
    ]
    return Pipeline().preparation().prepare(records).arrivals


PLAIN, FRAMED, SHORT = arrivals(essay(1), essay(2), "few words")
CASES = {
    "plain": PLAIN,
    "short": SHORT,
    "of a scope": msgspec.structs.replace(PLAIN, scope="example.com"),
    "short and of a scope": msgspec.structs.replace(SHORT, scope="example.com"),
    "framed": msgspec.structs.replace(PLAIN, whole=b"bits", whole_count=900, whole_bands=FRAMED.bands),
    "framed and indexed whole": msgspec.structs.replace(
        PLAIN, whole=b"bits", whole_count=90, whole_bands=FRAMED.bands
    ),
    "framed, no whole looked for": msgspec.structs.replace(PLAIN, whole=b"bits", whole_count=900),
    "framed, some bands in both views": msgspec.structs.replace(
        PLAIN, whole=b"bits", whole_count=90, whole_bands=PLAIN.bands[: 5 * BAND] + FRAMED.bands[5 * BAND :]
    ),
    "nothing left": msgspec.structs.replace(
        PLAIN, bands=FRAMED.bands, whole_count=90, whole_bands=FRAMED.bands
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_page_has_the_keys_of_its_record(case: str) -> None:
    arrival = CASES[case]

    (mine, _), (of_record, _) = (
        page_keys([keyed])
        for keyed in (keyed_arrival(arrival), keyed_record(arrival_record(arrival), arrival.whole_bands))
    )

    assert set(mine.tolist()) == set(of_record.tolist())
    assert np.unique(mine).size == mine.size
    assert bool(mine.size) == arrival.has_enough_tokens


@pytest.mark.parametrize("case", [name for name in CASES if not name.startswith("framed")])
def test_a_page_is_frozen_as_its_record_is(case: str) -> None:
    arrival = CASES[case]
    (frozen,) = freeze_arrivals([arrival])

    assert freeze_pages([TimedRecord(arrival_record(arrival), frozen.logged.fetched_ms)]) == [frozen]


def test_pages_of_a_batch_have_the_keys_that_each_has_alone() -> None:
    batch = [None, *map(keyed_arrival, CASES.values()), None, KeyedPage(7, [])]

    keys, places = page_keys(batch)

    assert (np.diff(places) >= 0).all()
    for place, page in enumerate(batch):
        assert keys[places == place].tolist() == page_keys([page]).keys.tolist()


def test_no_pages_have_no_keys() -> None:
    for nothing in ([], [None]):
        keys, places = page_keys(nothing)
        assert (keys.size, places.size) == (0, 0)
