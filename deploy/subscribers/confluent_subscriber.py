"""Follows the events topic with confluent-kafka: `python confluent_subscriber.py SERVERS TOPIC STATE_FILE`.

Prints each page whose status changes, with the page that it is a duplicate of, or `-`. SIGINT and SIGTERM
end it after the records that it has read.
"""

import signal
import sys
from contextlib import closing
from threading import Event

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from neardup_events import CloudEvent, NotAnEvent, Subscription, decode


def partitions_of(consumer: Consumer, topic: str) -> list[TopicPartition]:
    """Return the partitions that the topic has now."""
    described = consumer.list_topics(topic, timeout=30).topics[topic]
    if described.error is not None:
        raise KafkaException(described.error)
    return [TopicPartition(topic, number) for number in described.partitions]


def assign(consumer: Consumer, subscription: Subscription, topic: str) -> list[TopicPartition]:
    """Assign all partitions, each from where the state file left off or from its beginning; return them."""
    partitions = partitions_of(consumer, topic)
    for each in partitions:
        if subscription.offset(topic, each.partition) is None:
            beginning, _ = consumer.get_watermark_offsets(each, timeout=30)
            subscription.read_to(topic, each.partition, beginning)
        each.offset = subscription.offset(topic, each.partition)
    consumer.assign(partitions)
    return partitions


def has_grown(consumer: Consumer, topic: str, count: int) -> bool:
    """Return whether the topic has another number of partitions now; not while no broker says so."""
    try:
        return len(partitions_of(consumer, topic)) != count
    except KafkaException:
        return False


def event_of(message: Message) -> CloudEvent:
    """Return the event of a message; end with its position if it is none."""
    try:
        return decode(message.value(), message.headers())
    except NotAnEvent as error:
        sys.exit(f"partition {message.partition()}, offset {message.offset()}: {error}")


def take_in(consumer: Consumer, subscription: Subscription, partitions: list[TopicPartition]) -> None:
    """Feed the next events, and note how far all partitions are read."""
    for message in consumer.consume(1000, timeout=1):
        if message.error():
            raise KafkaException(message.error())
        subscription.feed(event_of(message), message.topic(), message.partition(), message.offset())
    for each in consumer.position(partitions):
        if each.offset >= 0:  # else nothing has come of it yet
            subscription.read_to(each.topic, each.partition, each.offset)


def follow(servers: str, topic: str, state_file: str) -> None:
    """Read events from where the state file left off, until a signal."""
    stopping = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "neardup-subscriber",  # the client asks for one; offsets are in the state file
            "enable.auto.commit": False,
            "auto.offset.reset": "error",  # events that retention deleted before they were read are missed
            "isolation.level": "read_committed",
        }
    )
    with closing(consumer), Subscription(state_file) as subscription:
        partitions = assign(consumer, subscription, topic)
        while not stopping.is_set():
            take_in(consumer, subscription, partitions)
            subscription.save()
            for change in subscription.due():
                print(change.page_id, change.after.duplicate_of or "-", flush=True)
                subscription.done(change)
            if has_grown(consumer, topic, len(partitions)):
                sys.exit("the topic has another number of partitions now: start again")
        subscription.save()  # what `done` noted


if __name__ == "__main__":
    follow(*sys.argv[1:])
