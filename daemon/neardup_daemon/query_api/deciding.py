"""Has pages decided: each is published to the pages topic, and answered with its decision record.

The record is processed like every other one, so it is decided once, and its events are those that subscribers
get; this module only reads what was decided.
"""

import asyncio
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import Annotated, Final, Protocol

import msgspec
from msgspec import UNSET, Meta, UnsetType

from neardup_daemon.inspect.page_facts import cluster_of
from neardup_daemon.inspect.page_lookup import NotStored, find_stored, given_record
from neardup_daemon.kafka_wiring import kafka_sink
from neardup_daemon.pages_topic import pages_input
from neardup_daemon.producing import key_of
from neardup_daemon.query_api.awaited_decisions import AwaitedDecisions
from neardup_daemon.query_api.endpoints import Call, Reply
from neardup_daemon.query_api.partition_ends import PartitionEnds
from neardup_daemon.query_api.problems import RETRY_SOON, Refused, refused_field, refused_page, refused_skip
from neardup_daemon.settings.settings import Settings
from neardup_daemon.wiring import Stores
from neardup_stream.clusters.placements import Decided
from neardup_stream.errors import BadPage, ConfigError
from neardup_stream.event_parts import EventCluster
from neardup_stream.message import Message, Partition, Position, Skipped
from neardup_stream.meters import Outcome
from neardup_stream.page import PageId
from neardup_stream.pipeline.decision_record import DecisionRecord
from neardup_stream.streams.kafka.sink import KafkaSink
from neardup_stream.streams.kafka.topic_ends import topic_ends
from neardup_stream.wire.events import TRACE_NAMES, CloudEvent, from_message
from neardup_stream.wire.pages import AWAITED, OWN_FIELDS, PageDecoder

__all__ = ["Deciding", "DecisionAnswer", "DecisionParams", "PendingAnswer", "Place"]

_QUIET: Final = frozenset({"unchanged", "superseded"})
_MAY_BE_PUBLISHED: Final = "the page may be published or not, and can be sent again"

Offset = Annotated[int, Meta(ge=0, le=(1 << 63) - 1, description="Offset of the page's record.")]
Number = Annotated[int, Meta(ge=0, lt=1 << 31, description="Partition of the pages topic.")]


class DecisionParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which record of the pages topic."""

    partition: Number
    offset: Offset


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The position of the record of a page.

    Attributes:
        topic: the pages topic.
        partition: of it.
        offset: in it.
    """

    topic: str
    partition: Number
    offset: Offset


class DecisionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided of a page, once and for all.

    Attributes:
        position: of the page's record.
        id: identity of the page, as events name it; absent where only the position was given.
        outcome: of the record, as the metric `neardup_outcomes_total` counts it.
        version: of the page that was decided; absent where none was.
        events: as subscribers get them; none for a page that stands alone, unless `events.unique` is set.
        cluster: where the page is now, for the outcomes unchanged and superseded, which have no events; null
            where it is in no cluster.
    """

    position: Place
    id: str | UnsetType = UNSET
    outcome: Outcome
    version: int | UnsetType = UNSET
    events: list[CloudEvent[msgspec.Raw]]
    cluster: EventCluster | UnsetType | None = UNSET


class PendingAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The page is on the pages topic and will be decided; its decision is not known here.

    Attributes:
        position: of the page's record.
        state: pending: not decided within `api.decision_timeout_seconds`. kept_no_longer: decided, and the
            decision record is gone; `GET /v1/pages` says where the page is now.
    """

    position: Place
    state: Annotated[str, Meta(pattern="^(pending|kept_no_longer)$")]


class DecidingMeters(Protocol):
    """What waiting for decisions reports."""

    def waiting_pages(self, count: int) -> None:
        """Set how many requests wait for the decision of a page."""


class Deciding:
    """Answers the deciding endpoints; each method raises Refused with a problem.

    Args:
        settings: those of the daemons.
        stores: of the index.
        meters: show how many requests wait.
    """

    def __init__(self, settings: Settings, stores: Stores, meters: DecidingMeters) -> None:
        self._settings, self._stores, self._meters = settings, stores, meters
        kafka = settings.kafka
        self._topic = kafka.pages_topic
        self._input_id = pages_input(settings)
        self._decoder = PageDecoder(settings.limits.config(), None, frozenset(settings.pages.status))
        self._decisions = AwaitedDecisions(stores.pages.clusters)
        self._waiting = 0
        self._kafka = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._sink: KafkaSink | None = None
        self._ends = PartitionEnds(lambda: topic_ends(kafka.connection(), kafka.pages_topic))

    async def close(self) -> None:
        """Close the connections to Kafka."""
        await self._decisions.close()
        await self._kafka.aclose()

    async def decide(self, call: Call) -> Reply:
        """Publish a page to the pages topic, and answer with its decision."""
        page_id = self._page_id(call.body)
        limit = self._settings.api.max_waiting_pages
        if self._waiting >= limit:
            raise Refused(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"{limit} requests wait for decisions (api.max_waiting_pages); try again later",
                headers=RETRY_SOON,
            )
        self._wait(1)
        try:
            position = await self._append(call)
            call.release()
            timeout_seconds = self._settings.api.decision_timeout_seconds
            decided = await self._decisions.wait(position, timeout_seconds)
        finally:
            self._wait(-1)
        if isinstance(decided, Decided):
            return await self._answer(position, decided, page_id)
        if decided == "trimmed" and not await self._was_applied(page_id, position):
            raise refused_field(
                "",
                f"the page at {self._place_name(position)} was refused; its reason is on the topic"
                f" {self._settings.kafka.dead_letters_topic}",
            )
        return self._pending(position, "pending" if decided == "pending" else "kept_no_longer")

    async def decision(self, call: Call) -> Reply:
        """Answer the decision of a record of the pages topic."""
        params: DecisionParams = call.params
        position = Position(Partition(self._input_id, params.partition), params.offset)
        decided = await self._decisions.look_up(position)
        if isinstance(decided, Decided):
            return await self._answer(position, decided, None)
        if decided == "trimmed":
            raise Refused(
                HTTPStatus.GONE,
                f"there is no decision record of {self._place_name(position)} any more"
                " (api.decision_kept_seconds), or there never was: the reason of a refused page is on"
                f" the topic {self._settings.kafka.dead_letters_topic};"
                " GET /v1/pages says where a page is now",
            )
        call.release()  # of brokers one waits without keeping others waiting
        if not await self._ends.may_have(params.partition, params.offset):
            raise Refused(HTTPStatus.NOT_FOUND, f"there is no record at {self._place_name(position)}")
        return self._pending(position, "pending")

    def _wait(self, change: int) -> None:
        self._waiting += change
        self._meters.waiting_pages(self._waiting)

    def _page_id(self, body: bytes) -> PageId:
        """Return the id of the page, which a daemon will decode too."""
        try:
            page = self._decoder.decode(given_record(body, (OWN_FIELDS,)))
        except BadPage as error:
            raise refused_page(error) from error
        if isinstance(page, Skipped):
            raise refused_skip(page)
        return page.id

    async def _append(self, call: Call) -> Position:
        trace = tuple(
            (name, call.headers[name].encode(errors="surrogateescape"))
            for name in TRACE_NAMES
            if call.headers.get(name)
        )
        headers = (OWN_FIELDS, AWAITED, *trace)
        message = Message(key=key_of(call.body), value=call.body, headers=headers)
        try:
            sink = await self._pages()
            if message.size_bytes > sink.max_message_bytes:
                raise Refused(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    f"the topic {self._topic} takes messages of at most {sink.max_message_bytes} bytes",
                )
            call.begun(_MAY_BE_PUBLISHED)
            number, offset = await sink.append(message)
        except ConfigError as error:  # nothing was published
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
        return Position(Partition(self._input_id, number), offset)

    async def _pages(self) -> KafkaSink:
        """Return the writer of the pages topic, opened at its first use."""
        async with self._opening:
            if self._sink is None:
                self._sink = await self._kafka.enter_async_context(kafka_sink(self._settings, self._topic))
            return self._sink

    async def _answer(self, position: Position, decided: Decided, page_id: PageId | None) -> Reply:
        record = DecisionRecord.unpack(decided.record)
        is_quiet = record.outcome in _QUIET and page_id is not None
        return Reply(
            DecisionAnswer(
                position=self._place(position),
                id=UNSET if page_id is None else page_id,
                outcome=record.outcome,
                version=record.version or UNSET,
                events=[from_message(message) for message in record.events],
                cluster=await self._cluster(page_id) if is_quiet and page_id is not None else UNSET,
            )
        )

    async def _cluster(self, page_id: PageId) -> EventCluster | None:
        try:
            page = await find_stored(page_id, self._stores.pages)
        except NotStored:
            return None
        return await cluster_of(page, self._stores)

    async def _was_applied(self, page_id: PageId, position: Position) -> bool:
        """Return whether the page's record has applied the position, so that it was no dead letter."""
        try:
            page = await find_stored(page_id, self._stores.pages)
        except NotStored:
            return False
        last = page.record.last_applied(position.partition)
        return last is not None and last >= position.offset

    def _pending(self, position: Position, state: str) -> Reply:
        place = self._place(position)
        location = f"/v1/decisions/{place.partition}/{place.offset}"
        value = PendingAnswer(position=place, state=state)
        return Reply(value, HTTPStatus.ACCEPTED, {"Location": location, **RETRY_SOON})

    def _place(self, position: Position) -> Place:
        return Place(topic=self._topic, partition=position.partition.number, offset=position.offset)

    def _place_name(self, position: Position) -> str:
        return f"{self._topic}, partition {position.partition.number}, offset {position.offset}"
