"""Answer what Kafka has of late: the newest merges of clusters, and dead letters by reason."""

from collections import Counter
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from neardup_daemon.query_api.answers import Count
from neardup_daemon.query_api.endpoints import Call, Reply
from neardup_daemon.query_api.index_reading import LimitParams
from neardup_daemon.query_api.latest_records import LatestRecords
from neardup_daemon.settings.settings import Settings
from neardup_stream.errors import CorruptData
from neardup_stream.event_parts import EventCluster
from neardup_stream.events import ClusterMerge, event_type
from neardup_stream.message import Record
from neardup_stream.wire.dead_letters import ERROR_PREFIX
from neardup_stream.wire.events import event_name, event_source, from_message
from neardup_stream.wire.times import rfc3339

__all__ = [
    "DeadLetterFacts",
    "DeadLettersAnswer",
    "MergeFacts",
    "MergesAnswer",
    "ReasonCount",
    "TopicReading",
]

_SHOWN_BYTES: Final = 1024
"""Of a key, and of each header of a dead letter."""

_UNKNOWN: Final = "unknown"


class MergeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A merge of two clusters, as its event has it.

    Attributes:
        id: of the event.
        time: of the record that caused it; RFC 3339, UTC.
        survivor: the remaining cluster, after the merge.
        absorbed: the other cluster, before the merge; its representative is a duplicate since.
        page: URL of the page that connected them.
    """

    id: str
    time: str
    survivor: EventCluster
    absorbed: EventCluster
    page: str


class MergesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The newest merges among the latest events.

    Attributes:
        topic: the events topic.
        records: how many of its records were read.
        is_complete: whether they are all that it retains.
        merges: of this namespace, by their time, newest first.
    """

    topic: str
    records: Count
    is_complete: bool
    merges: list[MergeFacts]


class ReasonCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many dead letters have a reason."""

    reason: str
    count: Count


class DeadLetterFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A record that can never become a page.

    Attributes:
        reason: why, one of a closed set.
        detail: why, in words.
        topic: that the record came from.
        partition: of that topic.
        offset: of the record in it.
        time: of the record; RFC 3339, UTC.
        key: of the record, its beginning as text; absent where it has none.
    """

    reason: str
    detail: str
    topic: str
    partition: int
    offset: int
    time: str
    key: str | UnsetType = UNSET


class DeadLettersAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Dead letters among the latest records of their topic.

    Attributes:
        topic: the dead letters topic.
        records: how many of its records were read.
        is_complete: whether they are all that it retains.
        reasons: counts of those records, most first.
        latest: by their time, newest first.
    """

    topic: str
    records: Count
    is_complete: bool
    reasons: list[ReasonCount]
    latest: list[DeadLetterFacts]


class TopicReading:
    """Answers from topics.

    Each method raises StreamUnavailable where Kafka is unavailable, and ConfigError where
    a topic does not exist or may not be read.

    Args:
        settings: those of the daemons.
    """

    def __init__(self, settings: Settings) -> None:
        self._source = event_source(settings.redis.namespace)
        kafka = settings.kafka
        self._merges = LatestRecords(settings, kafka.events_topic, self._merge)
        self._letters = LatestRecords(settings, kafka.dead_letters_topic, _letter)

    async def close(self) -> None:
        """Cancel the readings, if any."""
        await self._merges.close()
        await self._letters.close()

    async def merges(self, call: Call) -> Reply:
        """Answer the newest merges."""
        params: LimitParams = call.params
        read = await self._merges.read()
        once = {merge.id: merge for merge in read.kept}  # an event may be on the topic twice
        return Reply(
            MergesAnswer(
                topic=self._merges.topic,
                records=read.records,
                is_complete=read.is_complete,
                merges=list(once.values())[: params.limit],
            )
        )

    async def dead_letters(self, call: Call) -> Reply:
        """Answer the dead letters by reason, and the latest of them."""
        params: LimitParams = call.params
        read = await self._letters.read()
        counts = Counter(letter.reason for letter in read.kept)
        return Reply(
            DeadLettersAnswer(
                topic=self._letters.topic,
                records=read.records,
                is_complete=read.is_complete,
                reasons=[ReasonCount(reason=reason, count=count) for reason, count in counts.most_common()],
                latest=read.kept[: params.limit],
            )
        )

    def _merge(self, record: Record) -> MergeFacts | None:
        """Return the merge that an event reports; None for other events and other namespaces."""
        message = record.message()
        if event_name(message) != "cluster-merge":
            return None
        try:
            event = from_message(message)
            data = _MERGE.decode(event.data)
        except (CorruptData, msgspec.DecodeError, UnicodeDecodeError):
            return None  # no event of ours, under the name of one
        if event.type != event_type("cluster-merge") or not event.source.startswith(self._source):
            return None
        return MergeFacts(
            id=event.id,
            time=event.time,
            survivor=data.survivor,
            absorbed=data.absorbed,
            page=data.cause.page.url,
        )


_MERGE: Final = msgspec.json.Decoder(ClusterMerge)


def _letter(record: Record) -> DeadLetterFacts:
    """Return what the headers of a dead letter say; its value is left alone."""
    said = {
        name.removeprefix(ERROR_PREFIX): _text(value or b"")
        for name, value in record.headers
        if name.startswith(ERROR_PREFIX)
    }
    position = record.position
    return DeadLetterFacts(
        reason=said.get("reason", _UNKNOWN),
        detail=said.get("detail", ""),
        topic=said.get("topic", ""),
        partition=_number(said.get("partition"), position.partition.number),
        offset=_number(said.get("offset"), position.offset),
        time=rfc3339(record.timestamp_ms),
        key=UNSET if record.key is None else _text(record.key),
    )


def _text(value: bytes) -> str:
    return value[:_SHOWN_BYTES].decode(errors="replace")


def _number(text: str | None, otherwise: int) -> int:
    """Return a number of a header; any producer may write what it likes there."""
    is_number = text is not None and text.isascii() and text.isdecimal() and len(text) < 20
    return int(text) if text is not None and is_number else otherwise
