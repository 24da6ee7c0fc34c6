"""Prepare pages in a process that can be ended: no page takes more than its limits, whatever is in it.

Records go there in groups. If the process ends, or fails, it has noted which record it was reading: that
page is a dead letter, and the others are prepared in the next process. If it was fingerprinting, which it
does with all pages of a group at once, each is prepared alone.
"""

import logging
import pickle
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, cast

from neardup_stream.errors import BadPage, InvariantBroken, LimitName
from neardup_stream.frames.table import LineHashes
from neardup_stream.message import Partition, Position, Record, topic_of
from neardup_stream.meters import NoMeters, PipelineMeters, Step, WorkerEnd
from neardup_stream.page import Page, PageId
from neardup_stream.pipeline.arrival import Prepared, Rejected
from neardup_stream.pipeline.column_items import joined
from neardup_stream.pipeline.forked_parent import ForkedParent, fork_parent
from neardup_stream.pipeline.preparation import OnRecord, Prepares
from neardup_stream.pipeline.prepared_answer import pack_prepared, unpack_prepared
from neardup_stream.pipeline.worker_limits import WorkerLimits
from neardup_stream.pipeline.worker_main import OUT_OF_MEMORY, SHORT_OF_MEMORY, Job, OnItem, Work
from neardup_stream.pipeline.worker_process import WorkEnded, WorkerProcess, WorkFailed
from neardup_stream.pipeline.worker_request import pack_request, unpack_request
from neardup_stream.sparse_lines import SparseLines

__all__ = ["BuildPreparation", "GuardedPreparation", "fork_preparation"]

_logger = logging.getLogger(__name__)


class BuildPreparation(Protocol):
    """Makes the preparation of the other process; it crosses in a pickle."""

    def __call__(self, meters: PipelineMeters, *, on_record: OnRecord) -> Prepares:
        """Return a preparation that calls the function as `Preparation` does."""


_GROUP_RECORDS = 64
_GROUP_BYTES = 1 << 20
_WARM_UP = Record(
    position=Position(Partition("warm-up", 0), 0),
    key=None,
    value=b"",
    decoded=Page(
        id=PageId("a"), url="https://example.com", fetched_at_seconds=0, html="<p>a" + "\u0308\u0301" * 20
    ),
)
"""A page for which all is loaded and computed that pages need: marks on a letter are canonicalized."""


class _Answer(NamedTuple):
    """What is returned for a group."""

    prepared: Prepared
    seconds: dict[Step, float]
    over_limit: Counter[LimitName]


def fork_preparation(build: BuildPreparation, limits: WorkerLimits) -> ForkedParent:
    """Fork the process of a `GuardedPreparation` with these arguments; see `fork_parent`."""
    return fork_parent(Job(_Load(build), limits))


class GuardedPreparation:
    """Prepares records in a `WorkerProcess`; threads may call at once, see there.

    Args:
        build: makes what prepares them there.
        limits: of one page.
        meters: where a preparation reports, and where ended processes are counted.
        forked: see `fork_preparation`.
    """

    batches_at_once: Final = 1

    def __init__(
        self,
        build: BuildPreparation,
        limits: WorkerLimits,
        meters: PipelineMeters,
        forked: ForkedParent | None = None,
    ) -> None:
        self._process = WorkerProcess(Job(_Load(build), limits), forked)
        self._limits = limits
        self._meters = meters
        self._refused = SparseLines()
        self._without_landmarks = SparseLines()

    def start(self) -> None:
        """Start the process; see `WorkerProcess.start`."""
        self._process.start()

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def prepare(self, records: Sequence[Record]) -> Prepared:
        """See `Prepares`.

        Cost: that of the preparation there, and some 30 µs a page of 13 KB to bring it there and back.
        """
        answers = [answer for group in _groups(records) for answer in self._answers(group)]
        seconds: dict[Step, float] = {}
        for answer in answers:
            for step, spent in answer.seconds.items():
                seconds[step] = seconds.get(step, 0) + spent
            for limit, count in answer.over_limit.items():
                self._meters.over_limit(limit, count)
        for step, spent in seconds.items():
            self._meters.step_seconds(step, spent)
        return joined([answer.prepared for answer in answers])

    def lines_outside_landmarks(self, page: Page) -> LineHashes | None:
        """See `Prepares`; None for a page that takes more than the limits of one page."""
        try:
            return cast("LineHashes", pickle.loads(self._call(page)))  # noqa: S301 - our own process wrote it
        except (WorkEnded, WorkFailed) as end:
            self._count(end)
            if pages := self._without_landmarks.count():
                fields = {"page": page.id, "cause": str(end).strip().splitlines()[-1], "pages": pages}
                _logger.warning("landmarks_not_read", extra={"fields": fields})
            return None

    def _call(self, request: Sequence[Record] | Page) -> bytes:
        return self._process.call(pack_request(request))

    def _answers(self, group: Sequence[Record]) -> Iterator[_Answer]:
        """Yield the answers for a group in its order, without the pages that end the process."""
        try:
            answer = self._answer(group)
        except (WorkEnded, WorkFailed) as end:
            self._count(end)
            yield from self._answers_after(end, group)
        else:
            yield answer

    def _answers_after(self, end: WorkEnded | WorkFailed, group: Sequence[Record]) -> Iterator[_Answer]:
        place = 0 if len(group) == 1 else end.item
        if place is None:
            for record in group:
                yield self._answer_alone(record)
            return
        if place > 0:
            yield from self._answers(group[:place])
        record = group[place]
        yield self._refusal(record, end) if _is_certain(end) else self._answer_alone(record)
        if rest := group[place + 1 :]:
            yield from self._answers(rest)

    def _answer_alone(self, record: Record) -> _Answer:
        try:
            return self._answer([record])
        except (WorkEnded, WorkFailed) as end:
            self._count(end)
            return self._refusal(record, end)

    def _answer(self, records: Sequence[Record]) -> _Answer:
        packed, seconds, over_limit = pickle.loads(self._call(records))  # noqa: S301 - our own process wrote it
        return _Answer(unpack_prepared(packed, records), seconds, over_limit)

    def _count(self, end: WorkEnded | WorkFailed) -> None:
        self._meters.worker_ended(_end_of(end))

    def _require_health(self, end: WorkEnded | WorkFailed) -> None:
        """Find out whether the failure is the page's, before pages are refused for an error of ours.

        Raises:
            InvariantBroken: a harmless page fails too.
        """
        try:
            self._answer([_WARM_UP])
        except (WorkEnded, WorkFailed):
            raise InvariantBroken(f"no page can be prepared any more: {end}") from end

    def _refusal(self, record: Record, end: WorkEnded | WorkFailed) -> _Answer:
        """Return the answer for a page that ended its process."""
        if _end_of(end) == "failed":
            self._require_health(end)
        error = self._error(end)
        if pages := self._refused.count():
            fields = {**_place(record.position), "error": str(error), "cause": str(end), "pages": pages}
            _logger.warning("page_refused", extra={"fields": fields})
        prepared = Prepared([], [Rejected(record, error)], [], charset_fallbacks=0)
        return _Answer(prepared, {}, Counter([error.limit] if error.limit else []))

    def _error(self, end: WorkEnded | WorkFailed) -> BadPage:
        match _end_of(end):
            case "page_seconds":
                limit = f"limits.page_seconds = {self._limits.cpu_seconds:g}"
                return BadPage("over_limit", f"the page takes more CPU time than {limit}", "page_seconds")
            case "page_memory_bytes":
                limit = f"limits.page_memory_bytes = {self._limits.memory_bytes}"
                return BadPage("over_limit", f"the page takes more memory than {limit}", "page_memory_bytes")
            case "failed":
                return BadPage("extraction_failed", str(end).strip().splitlines()[-1])


def _place(position: Position) -> dict[str, str | int]:
    partition = position.partition
    return {
        "topic": topic_of(partition.input_id),
        "partition": partition.number,
        "offset": position.offset,
    }


class _CollectedMeters(NoMeters):
    """What the other process reports with its answer."""

    def __init__(self) -> None:
        self.seconds: dict[Step, float] = {}
        self.limits: Counter[LimitName] = Counter()

    def step_seconds(self, step: Step, seconds: float) -> None:
        """Add up."""
        self.seconds[step] = self.seconds.get(step, 0) + seconds

    def over_limit(self, limit: LimitName, count: int) -> None:
        """Add up."""
        self.limits[limit] += count


@dataclass(frozen=True)
class _Load:
    """Makes the work, in the other process."""

    build: BuildPreparation

    def __call__(self) -> Work:
        meters = _CollectedMeters()
        places = _Places()
        preparation = self.build(meters, on_record=places.begin)
        preparation.prepare([_WARM_UP])

        def work(request: bytes, on_item: OnItem) -> bytes:
            records = unpack_request(request)
            if isinstance(records, Page):
                return pickle.dumps(preparation.lines_outside_landmarks(records), pickle.HIGHEST_PROTOCOL)
            meters.seconds, meters.limits = {}, Counter()
            places.start(len(records), on_item)
            prepared = pack_prepared(preparation.prepare(records))
            return pickle.dumps((prepared, meters.seconds, meters.limits), pickle.HIGHEST_PROTOCOL)

        return work


class _Places:
    """Reports to the worker process which record of a group is read."""

    def __init__(self) -> None:
        self._count = 0
        self._on_item: OnItem = lambda _item: None

    def start(self, count: int, on_item: OnItem) -> None:
        """Use this function from now on, for so many records."""
        self._count, self._on_item = count, on_item

    def begin(self, record: Record | None) -> None:
        """See `OnRecord`. All that is done for a page that is alone in its group counts as its own."""
        if record is not None:
            self._on_item(record.position.offset)
        elif self._count > 1:
            self._on_item(None)


def _groups(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """Yield the records in order, so few at a time that the CPU time of one page is ample for all of them."""
    group: list[Record] = []
    size_bytes = 0
    for record in records:
        if group and (len(group) == _GROUP_RECORDS or size_bytes + record.size_bytes > _GROUP_BYTES):
            yield group
            group, size_bytes = [], 0
        group.append(record)
        size_bytes += record.size_bytes
    if group:
        yield group


def _end_of(end: WorkEnded | WorkFailed) -> WorkerEnd:
    if isinstance(end, WorkEnded):
        if end.exit_code == -signal.SIGPROF:
            return "page_seconds"
        if end.exit_code in (OUT_OF_MEMORY, SHORT_OF_MEMORY):
            return "page_memory_bytes"
    return "failed"


def _is_certain(end: WorkEnded | WorkFailed) -> bool:
    """Return whether the page would end another process too.

    This one may have been killed, or have crashed or run out of memory because of what came before the page.
    """
    return isinstance(end, WorkFailed) or end.exit_code in (-signal.SIGPROF, OUT_OF_MEMORY)
