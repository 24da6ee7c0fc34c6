"""The Java example, against a real broker."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from neardup_stream.events import EventData
from neardup_stream.wire.events import to_message
from tests.events import At, duplicate, merge, representative_changed
from tests.servers.jars import fetch_jars
from tests.servers.kafka import KafkaBroker
from tests.subscriber_programs import expect_end_at_another_partition, follow, follow_both_halves
from tests.subscriptions import written_event

SOURCE = Path(__file__).parents[2] / "deploy" / "subscribers" / "Subscriber.java"


def test_the_java_example_prints_the_same(kafka_broker: KafkaBroker, topic_prefix: str) -> None:
    follow_both_halves(java(), [], kafka_broker, f"{topic_prefix}-events")


def test_the_java_example_keeps_the_later_of_two_clusters_that_absorbed_the_same_one(
    kafka_broker: KafkaBroker, topic_prefix: str
) -> None:
    absorbed = At("a", 1, "https://a.example/")
    events: list[EventData] = [
        merge(At("b", 2, "https://b.example/"), absorbed),
        representative_changed(At("b", 5, "https://later.example/"), ("https://b.example/", 1)),
        merge(At("c", 2, "https://c.example/"), absorbed),
    ]

    follow(java(), kafka_broker, topic_prefix, [to_message(written_event(each)) for each in events])


@pytest.mark.parametrize("meta", ["1" * 60_000, f'{{"{"n" * 60_000}": 1}}'], ids=["number", "name"])
def test_the_java_example_reads_whatever_a_page_may_hold_in_meta(
    kafka_broker: KafkaBroker, topic_prefix: str, meta: str
) -> None:
    message = to_message(written_event(duplicate("https://a.example/b", At("c", 1, "https://a.example/"))))
    assert message.value is not None
    value = message.value.replace(b'"fingerprint":', b'"meta":%b,"fingerprint":' % meta.encode())

    follow(java(), kafka_broker, topic_prefix, [replace(message, value=value)])


def test_the_java_example_begins_no_index_with_an_event_of_a_type_of_others(
    kafka_broker: KafkaBroker, topic_prefix: str
) -> None:
    data = duplicate("https://a.example/b", At("c", 1, "https://a.example/"))
    later = to_message(written_event(data, index="2"))
    headers = {**dict(later.headers), "ce_type": b"com.example.other"}

    foreign = replace(later, headers=tuple(headers.items()))
    follow(java(), kafka_broker, topic_prefix, [foreign, to_message(written_event(data, index="1"))])


def test_the_java_example_ends_once_the_topic_has_another_partition(
    kafka_broker: KafkaBroker, topic_prefix: str
) -> None:
    expect_end_at_another_partition(java(), [], kafka_broker, topic_prefix)


def java() -> Sequence[str]:
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{fetch_jars()}/*", str(SOURCE)]
