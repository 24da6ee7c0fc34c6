"""Pages cross in columns between processes, and are the same pages as objects that cross one by one."""

import pickle
from collections.abc import Sequence

import msgspec
import pytest

from neardup_stream.message import Headers, Partition, Position, Record
from neardup_stream.page import Page
from neardup_stream.pipeline.arrival import Arrival, Prepared
from neardup_stream.pipeline.column_items import ColumnItems, joined
from neardup_stream.pipeline.prepared_answer import pack_prepared, unpack_prepared
from neardup_stream.pipeline.worker_request import pack_request, unpack_request
from tests.pipelines import Pipeline, essay, page_json

ONE, OTHER = Partition("file:1", 0), Partition("file:2", 0)
VALUES = [
    page_json("plain", essay(1)),
    page_json("named", essay(2), id="other name", meta={"b": [1, 2]}, fetched_at=12.5),
    b"no page",
    page_json("short", "too short"),
    msgspec.json.encode({"url": "https://elsewhere.example/html", "html": f"<p>{essay(3)}"}),
    b'{"format": "json-pages-1.0"}',
]
LINES = page_json("lines", f"a header\n{essay(4)}")


def records(values: Sequence[bytes | None], partition: Partition = ONE) -> list[Record]:
    return [
        Record(
            position=Position(partition, 7 + 3 * row),
            key=None if value else b"a key",
            value=value,
            timestamp_ms=1_000_000 + row,
        )
        for row, value in enumerate(values)
    ]


def returned(of: Sequence[Record], *, in_columns: bool, site: str | None = None) -> Prepared:
    """Return what a worker process returns for records."""
    preparation = Pipeline(scope="host", site=site).preparation(in_columns=in_columns)
    request = unpack_request(pack_request(of))
    assert isinstance(request, list)
    packed = pickle.dumps(pack_prepared(preparation.prepare(request)))
    return unpack_prepared(pickle.loads(packed), of)  # noqa: S301 - packed above


def arrivals(prepared: Prepared) -> list[tuple[Arrival, bytes]]:
    """Return the pages without their content and lines, and with the bytes of their JSON."""
    return [
        (msgspec.structs.replace(item, page=_bare(item.page), lines=None), bytes(item.page.meta or b""))
        for item in prepared.arrivals
    ]


def _bare(page: Page) -> Page:
    return msgspec.structs.replace(page.without_content(), meta=None)


def others(prepared: Prepared) -> list[object]:
    """Return what is no page, with errors by their texts."""
    rejected = [(each.record, str(each.error)) for each in prepared.rejected]
    return [rejected, prepared.skipped, prepared.charset_fallbacks]


@pytest.mark.parametrize("site", [None, "host"])
def test_pages_in_columns_are_those_that_come_as_objects(site: str | None) -> None:
    of = records(VALUES)

    columns, objects = (returned(of, in_columns=each, site=site) for each in (True, False))

    assert isinstance(columns.items, ColumnItems)
    assert len(columns.items) == len(objects.items)
    assert arrivals(columns) == arrivals(objects)
    assert others(columns) == others(objects)
    assert [item.page.id for item in columns.items[1:3]] == [item.page.id for item in columns.arrivals[1:3]]


def test_pages_with_lines_that_may_be_frame_come_as_objects_and_they_alone_with_lines() -> None:
    of = records([*VALUES, LINES])

    assert isinstance(returned(of, in_columns=True).items, ColumnItems)
    prepared = returned(of, in_columns=True, site="host")
    assert not isinstance(prepared.items, ColumnItems)
    assert [len(item.lines.hashes) for item in prepared.arrivals if item.lines] == [2]


@pytest.mark.parametrize("headers", [(), (("traceparent", b"00-1"),)], ids=["plain", "with headers"])
def test_the_worker_process_gets_records_as_they_were_read(headers: Headers) -> None:
    of = [
        Record(position=Position(ONE, 9), key=key, value=value, timestamp_ms=5, headers=headers)
        for key, value in [(b"a", b"1"), (None, b"2"), (b"c", None)]
    ]

    got = unpack_request(pack_request(of))

    expected = [
        msgspec.structs.replace(record, position=Position(Partition("request", 0), place))
        for place, record in enumerate(of)
    ]
    assert got == expected


def test_forgets_and_records_of_several_inputs_come_as_objects() -> None:
    several = [*records(VALUES[:2]), *records(VALUES[:2], OTHER)]

    for of in (records([*VALUES[:2], None]), several):
        items = returned(of, in_columns=True).items
        assert not isinstance(items, ColumnItems)
        assert [item.record.position for item in items] == [record.position for record in of]


def test_parts_are_joined_in_columns_if_all_are_of_one_input() -> None:
    first, second = (returned(records(VALUES), in_columns=True) for _ in range(2))
    other = returned(records(VALUES[:2], OTHER), in_columns=True)

    both, mixed = joined([first, second]), joined([first, other])

    assert isinstance(both.items, ColumnItems)
    assert arrivals(both) == [*arrivals(first), *arrivals(second)]
    assert others(both)[0] == [*others(first)[0], *others(second)[0]]  # type: ignore[misc] # they are lists
    assert not isinstance(mixed.items, ColumnItems)
    assert arrivals(mixed) == [*arrivals(first), *arrivals(other)]
    assert list(joined([]).items) == []
