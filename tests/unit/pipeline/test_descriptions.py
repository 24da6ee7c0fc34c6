"""Representatives are described as they were when their page was decided."""

from collections.abc import Callable, Sequence

import msgspec

from neardup_stream.message import Partition, Position, RecordMetadata
from neardup_stream.page import Handle, PageId
from neardup_stream.pipeline.arrival import Forget
from neardup_stream.pipeline.batch import InFlightBatch, Run
from neardup_stream.pipeline.descriptions import Descriptions
from neardup_stream.pipeline.former_versions import FormerVersions
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.stores.protocol import RecordChange
from neardup_stream.traces import NoTracer

PAGE = Handle(7)
FIRST = PageRecord(
    url="https://example.com/old",
    fingerprint=1,
    text_fingerprint=1,
    version=1,
    made_by=("pages", 0, 0),
    seen_seconds=0,
)
SECOND = msgspec.structs.replace(FIRST, url="https://example.com/new", version=2)


class OvertakenFetches(MemoryRecords):
    """Answers a fetch after what came in between."""

    def __init__(self, in_between: Callable[[], None]) -> None:
        super().__init__()
        self._in_between = in_between

    async def fetch(self, handles: Sequence[Handle]) -> list[bytes | None]:
        self._in_between()
        await self.replace([RecordChange(PAGE, FIRST.pack(), SECOND.pack())])
        return await super().fetch(handles)


def later_run() -> tuple[Run, Position]:
    position = Position(Partition("pages", 0), 1)
    batch = InFlightBatch((), 1, 0, {}, 0, NoTracer().begin(()))
    forget = Forget(RecordMetadata(position=position), (PageId("page"),))
    return Run(batch, [forget], is_last=True, number=2), position


async def test_a_version_that_is_replaced_while_its_record_is_fetched_is_described_as_it_was() -> None:
    former = FormerVersions()
    run, position = later_run()
    records = OvertakenFetches(lambda: former.add(run, position, PAGE, FIRST))
    await records.replace([RecordChange(PAGE, None, FIRST.pack())])

    described = await Descriptions(records, former)([(PAGE, 1)])

    assert described[PAGE, 1].url == FIRST.url
