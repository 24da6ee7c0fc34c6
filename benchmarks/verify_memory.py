"""How much memory does `verify` take for a large index?

    python -m benchmarks.verify_memory [--pages 1000000] [--layout-pages 1000000] [--without-matches] [--json]

It makes the history of a crawl without servers: of ten pages four are a cluster, with three `duplicate`
events. Fingerprints, sketches and bands are random, and those of a cluster equal. Records, events and
inputs are put where `verify` puts them as it reads. Then the eight invariants are judged; they must hold.
The peak is that of the whole process, libraries included (`VmHWM`).
"""

import argparse
import json
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec
from rich.console import Console
from rich.table import Table

from neardup_stream.clusters.placements import lone_cluster_id
from neardup_stream.clusters.requests import PageVersion
from neardup_stream.event_parts import EventCluster, EventMatch, EventPage, Representative
from neardup_stream.events import DuplicateFound, Event, event_subject
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.indexes.layout import IndexConfig, IndexLayout
from neardup_stream.invariants.history import Expectations, History, Matching, StoredCluster
from neardup_stream.invariants.inputs import Content, Input
from neardup_stream.invariants.judging import judge
from neardup_stream.invariants.packed_records import PackedRecords
from neardup_stream.invariants.spilled import SpilledBytes, spilled_inputs, spilled_messages
from neardup_stream.message import Message, Partition, Position
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.wire.events import event_id, to_message

FAMILY, CLUSTER = 10, 4
PARTITION = Partition("pages", 0)
TOKEN_OF_INDEX = "0193a0b1"  # noqa: S105 - no secret
SKETCH = SketchConfig()


def main() -> None:
    """Make a history, judge it, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--layout-pages", type=int, default=1_000_000, help="as index.expected_pages")
    parser.add_argument("--without-matches", action="store_true", help="leave out the fifth invariant")
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    empty_mib = _peak_mib()
    history = _history(arguments.pages)
    read_mib = _peak_mib()
    layout = IndexLayout(IndexConfig(expected_pages=arguments.layout_pages, bands=SKETCH.bands))
    verdict = VerdictConfig(SKETCH, layout.config.permuted.distance_bits)
    started = time.perf_counter()
    matching = None if arguments.without_matches else Matching(verdict, layout, links=lambda _: True)
    found = judge(history, Expectations(matching=matching, verdict=verdict))
    seconds = time.perf_counter() - started
    assert found == [], found[:5]
    result = {
        "pages": len(history.records),
        "events": len(history.events),
        "clusters": len(history.clusters),
        "empty_mib": round(empty_mib),
        "read_mib": round(read_mib),
        "judged_mib": round(_peak_mib()),
        "seconds": round(seconds, 1),
    }
    if arguments.json:
        print(json.dumps(result))
        return
    table = Table(*result)
    table.add_row(*(f"{value:,}" for value in result.values()))
    Console().print(table)


def _history(count: int) -> History:
    """Return the history of a crawl of so many pages."""
    dice = Random(1)
    inputs, events = spilled_inputs(), spilled_messages()
    handles, packed = array("Q"), SpilledBytes()
    clusters: dict[str, StoredCluster] = {}
    for first in range(0, count, FAMILY):
        records = list(_family(first, min(FAMILY, count - first), dice))
        for number, record in enumerate(records, first):
            handles.append(_handle(number))
            packed.append(record.pack())
            content = Content(record.text_fingerprint, has_enough_tokens=True, scope="")
            inputs.extend([Input(Position(PARTITION, number), "page", (record.id,), content, 1)])
        members = records[:CLUSTER]
        if len(members) > 1:
            representative = PageVersion(
                _handle(first), 1, records[0].id, records[0].url, records[0].fingerprint
            )
            cluster_id = lone_cluster_id(representative.handle, 1)
            clusters[cluster_id] = StoredCluster(
                representative, tuple(_handle(first + place) for place in range(len(members)))
            )
            events.extend(_duplicate(records[0], each, cluster_id) for each in members[1:])
    return History(
        inputs=inputs,
        committed={PARTITION: count},
        events=events,
        dead_letters=(),
        records=PackedRecords(handles, packed),
        clusters=clusters,
        index_token=TOKEN_OF_INDEX,
    )


def _handle(number: int) -> Handle:
    return Handle((number + 1) * 0x9E3779B97F4A7C15 % (1 << 64))


def _family(first: int, count: int, dice: Random) -> Iterator[PageRecord]:
    for number in range(first, first + count):
        if number == first or number >= first + CLUSTER:
            computed = {
                "fingerprint": dice.getrandbits(64),
                "sketch": dice.randbytes(SKETCH.sketch_bytes),
                "shingle_count": 200,
                "bands": dice.randbytes(4 * SKETCH.bands),
            }
        url = f"https://www.example-{number % 1000}.com/a/path/of/usual/length/{number}.html"
        unranked = PageRecord.first(
            page_id=PageId(url),
            url=url,
            text_fingerprint=number,
            position=Position(PARTITION, number),
            seen_seconds=1,
            **computed,  # type: ignore[arg-type] # each by its name
        )
        yield msgspec.structs.replace(unranked, rank=number + 1)


def _duplicate(representative: PageRecord, record: PageRecord, cluster_id: str) -> Message:
    named = Representative(id=representative.id, url=representative.url, version=1)
    data = DuplicateFound(
        page=EventPage(
            id=record.id,
            url=record.url,
            version=1,
            fetched_at="1970-01-01T00:00:01Z",
            fingerprint=str(record.fingerprint),
        ),
        kind="near",
        cluster=EventCluster(id=cluster_id, epoch=1, size=2, representative=named),
        matches=(
            EventMatch(
                id=representative.id,
                url=representative.url,
                version=1,
                distance_bits=0,
                resemblance=1.0,
                containment=1.0,
            ),
        ),
        matches_total=1,
    )
    position = Position(PARTITION, record.rank - 1)
    return to_message(
        Event(
            id=event_id("duplicate", position, TOKEN_OF_INDEX),
            name="duplicate",
            source="/neardup/nd/pages",
            subject=event_subject(data),
            time_ms=1,
            data=data,
            index=TOKEN_OF_INDEX,
        )
    )


def _peak_mib() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    main()
