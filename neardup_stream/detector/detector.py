"""Detect near-duplicates in a process of one's own: the pipeline's stages over stores in memory.

Pages pass the stages of the stream, from extract to decide, in the order in which they are given. There are
no events and no offsets; whole texts are compared, with the frames of their sites; what is stored ends with
the process.
"""

import asyncio
import secrets
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from time import time
from typing import Final

from neardup_stream.clusters.clusters import Clusters
from neardup_stream.clusters.placements import lone_cluster_id
from neardup_stream.detector.config import DetectorConfig
from neardup_stream.detector.given_pages import checked_ids, checked_pages, pages_of_texts
from neardup_stream.detector.page_verdict import Home, PageVerdict, verdict_of
from neardup_stream.detector.turns import Turns
from neardup_stream.errors import NeardupError
from neardup_stream.events import Event
from neardup_stream.hashing.handles import KEY_BYTES
from neardup_stream.indexes.permuted import PermutedIndex
from neardup_stream.message import Message, Partition, Position, Record, RecordMetadata
from neardup_stream.meters import NoMeters
from neardup_stream.page import Handle, Page
from neardup_stream.pipeline.arrival import Arrival, Forget, Prepared
from neardup_stream.pipeline.batch import InFlightBatch, Run
from neardup_stream.pipeline.candidate_comparison import NOTHING, Compared, compare_candidates
from neardup_stream.pipeline.decode import DecodedPage
from neardup_stream.pipeline.descriptions import Descriptions
from neardup_stream.pipeline.event_config import EventConfig
from neardup_stream.pipeline.extract import Extract, ExtractedPage
from neardup_stream.pipeline.fingerprint import Fingerprint
from neardup_stream.pipeline.first_record import arrival_record
from neardup_stream.pipeline.former_versions import FormerVersions
from neardup_stream.pipeline.probe import ProbingPage, probe
from neardup_stream.pipeline.retries import Retries, RetryPolicy
from neardup_stream.pipeline.scopes import EVERYTHING, scope_by
from neardup_stream.pipeline.stages import StoreWork, build_long_path
from neardup_stream.pipeline.stores import PageStores
from neardup_stream.pipeline.verify import fetch_candidates
from neardup_stream.stores.arrays.tables import ArrayTables
from neardup_stream.stores.memory.clusters import MemoryClusters
from neardup_stream.stores.memory.records import MemoryRecords
from neardup_stream.stores.page_record import PageRecord
from neardup_stream.traces import NoTracer

__all__ = ["Detector"]

_INPUT: Final = Partition("detector", 0)


class Detector:
    """Says of each page which earlier ones it matches, and which page of its cluster to keep.

    Calls wait for each other, also those of several threads, each in an event loop of its own.

    A call that is cut off while it decides, as by a cancellation or `KeyboardInterrupt`, leaves pages stored
    without a verdict. From then on every method raises NeardupError.

    Args:
        config: how pages are compared; None for the defaults.
    """

    def __init__(self, config: DetectorConfig | None = None) -> None:
        config = config or DetectorConfig()
        self._verdict, layout = config.thresholds(), config.layout()
        records = MemoryRecords(layout.shard_bits + layout.slot_bits)
        former = FormerVersions()
        self._clusters = Clusters(MemoryClusters(time), Descriptions(records, former), config.rule)
        index, key = PermutedIndex(ArrayTables(), layout), secrets.token_bytes(KEY_BYTES)
        self._stores = PageStores(index, records, self._clusters, key, former, outlives_run=False)
        self._extract = Extract("all_text")
        self._fingerprint = Fingerprint(config.simhash, self._verdict.sketch, scope_by(EVERYTHING))
        retries = Retries(RetryPolicy(), NoMeters(), lambda _error: None)
        work = StoreWork(self._stores, self._verdict, EventConfig(), time)
        self._stages = build_long_path(work, _no_message, retries, NoMeters())
        self._offsets = count()
        self._turns = Turns()
        self._is_deciding = False

    async def add(self, texts: Mapping[str, str]) -> list[PageVerdict]:
        """Compare texts with all earlier ones, each also with those before it in this call, and keep them.

        Args:
            texts: visible texts by page id. An id that was added before with another text is a changed page:
                its former text counts no more.

        Returns:
            The verdict on each, in order.

        Raises:
            BadPage: a text is too long, or half of a character is in an id; nothing is kept of the call.
            TypeError: texts are no mapping, an id or a text is no string, or an id is empty; likewise.
            NeardupError: an earlier call was interrupted.

        Cost: see docs/library.md. The first call of a process loads the compiled kernels, the first one of a
            machine compiles them.
        """
        return await self.add_pages(pages_of_texts(texts))

    async def add_pages(self, pages: Iterable[Page]) -> list[PageVerdict]:
        """Do the same for pages, whose text is extracted where they have markup; an id may come repeatedly.

        Args:
            pages: any.

        Returns:
            The verdict on each, in order.

        Raises:
            BadPage: a page has none, or more than one, of `html`, `text` and `body`, its text cannot be
                extracted within the limits, half of a character is in its id, its URL or the label of a
                charset, or its time is outside the years 1970 to 9999; nothing is kept of the call.
            TypeError: one of them is no Page, a field is of another type, or an id is empty; likewise.
            NeardupError: an earlier call was interrupted.
        """
        given = checked_pages(pages)
        async with self._turns.next():
            self._check_decided()
            arrivals = await asyncio.to_thread(self._arrivals, given)
            batch = await self._decided(arrivals)
            return await self._verdicts(batch.runs)

    async def query(self, texts: Mapping[str, str]) -> list[PageVerdict]:
        """Compare texts with all pages that were added, and keep nothing.

        Args:
            texts: visible texts by any names.

        Returns:
            The verdict on each, in order; cluster and representative are those of its best match, None
            without a match.

        Raises:
            BadPage: a text is too long.
            TypeError: texts are no mapping, a name or a text is no string, or a name is empty.
            NeardupError: an earlier call was interrupted.
        """
        pages = pages_of_texts(texts)
        async with self._turns.next():
            self._check_decided()
            arrivals = await asyncio.to_thread(self._arrivals, pages)
            return await self._look_up(arrivals)

    async def forget(self, page_ids: Iterable[str]) -> None:
        """Remove pages; where one was a representative, another member of its cluster takes its place.

        Args:
            page_ids: of pages; those that were never added are ignored.

        Raises:
            BadPage: half of a character is in one; none is removed.
            TypeError: it is one id, not several, one is no string, or one is empty; likewise.
            NeardupError: an earlier call was interrupted.
        """
        forgotten = checked_ids(page_ids)
        async with self._turns.next():
            self._check_decided()
            await self._decided(
                [Forget(RecordMetadata(position=self._next_position()), (page_id,)) for page_id in forgotten]
            )

    def _arrivals(self, pages: Sequence[Page]) -> list[Arrival]:
        extracted = []
        for page in pages:
            record = Record(position=self._next_position(), key=None, value=None)
            found = self._extract.extract(DecodedPage(record, page))
            if not isinstance(found, ExtractedPage):
                raise found.error
            extracted.append(found)
        return list(self._fingerprint.fingerprint(extracted))

    def _check_decided(self) -> None:
        """Refuse to go on after a call that ended amid its decisions: it is not known which were made.

        Raises:
            NeardupError: there was one.
        """
        if self._is_deciding:
            raise NeardupError(
                "a call was interrupted, so what is stored may lack verdicts: make a new Detector"
            )

    def _next_position(self) -> Position:
        return Position(_INPUT, next(self._offsets))

    async def _decided(self, items: Sequence[Arrival | Forget]) -> InFlightBatch:
        """Take pages and forgets through the stages, and finish them as deliver and commit do.

        An error or an interruption leaves `_is_deciding` set.
        """
        self._is_deciding = True
        batch = InFlightBatch(
            records=(),
            record_count=len(items),
            size_bytes=0,
            next_offsets={},
            membership=0,
            trace=NoTracer().begin(()),
            prepared=Prepared(list(items), [], [], 0),
        )
        conclusion = await self._stages.take(batch)
        await conclusion.follow_up.apply(self._stores)
        if items:
            await self._clusters.trim({_INPUT: items[-1].record.position.offset + 1})
            await self._clusters.tidy(self._stores.records)
        self._is_deciding = False
        return batch

    async def _verdicts(self, runs: Sequence[Run]) -> list[PageVerdict]:
        last = {page.handle: page.record for run in runs for page in run.registration.pages}
        homes = await self._homes(list(last.items()))
        return [
            verdict_of(
                page.record,
                judged.get(page.handle, NOTHING),
                homes[page.handle] if page.record.version == last[page.handle].version else Home(),
                is_unchanged=page.change == "unchanged",
            )
            for run in runs
            for judged in [_compared(run)]
            for page in run.registration.pages
        ]

    async def _homes(self, pages: Sequence[tuple[Handle, PageRecord]]) -> dict[Handle, Home]:
        standing = await self._clusters.standing([handle for handle, _ in pages])
        homes = {
            handle: Home(lone_cluster_id(handle, record.version), record.id) if record.is_indexed else Home()
            for handle, record in pages
        }
        return homes | {handle: Home(state.id, state.representative.id) for handle, state in standing.items()}

    async def _look_up(self, arrivals: Sequence[Arrival]) -> list[PageVerdict]:
        records = list(map(arrival_record, arrivals))
        indexed = [record for record in records if record.is_indexed]
        probing = [ProbingPage(Handle(number), record) for number, record in enumerate(indexed)]
        probed = await probe(probing, self._stores.index)
        stored = await fetch_candidates(probed.candidates, self._stores.records)
        answers = iter(compare_candidates(indexed, probed.candidates, stored, self._verdict).compared)
        found = [next(answers) if record.is_indexed else NOTHING for record in records]
        best = [compared.matches[0].handle for compared in found if compared.matches]
        homes = await self._homes([(handle, stored[handle]) for handle in best])
        return [
            verdict_of(record, compared, homes[compared.matches[0].handle] if compared.matches else Home())
            for record, compared in zip(records, found, strict=True)
        ]


def _compared(run: Run) -> dict[Handle, Compared]:
    return {each.registered.handle: Compared(each.matches, each.containers) for each in run.judged}


def _no_message(_event: Event) -> Message:
    """Take the place of the message of an event, as nothing is published."""
    return Message(key=None, value=None)
