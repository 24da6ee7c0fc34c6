"""Follows the events topic with confluent-kafka: `python confluent_subscriber.py SERVERS TOPIC STATE_FILE`.

Prints each page whose status changes, with the page that it is a duplicate of, or `-`. SIGINT and SIGTERM
end it after the records that it has read.
"""

import signal
import sys
from contextlib import closing
from threading import Event

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition
from neardup_events import Subscription, decode


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
        described = consumer.list_topics(topic, timeout=30).topics[topic]
        if described.error is not None:
            raise KafkaException(described.error)
        offsets = {number: subscription.offset(topic, number) for number in described.partitions}
        consumer.assign(
            [
                TopicPartition(topic, number, OFFSET_BEGINNING if offset is None else offset)
                for number, offset in offsets.items()
            ]
        )
        while not stopping.is_set():
            for message in consumer.consume(1000, timeout=1):
                if message.error():
                    raise KafkaException(message.error())
                event = decode(message.value(), message.headers())
                subscription.feed(event, topic, message.partition(), message.offset())
            subscription.save()
            for change in subscription.due():
                print(change.page_id, change.after.duplicate_of or "-", flush=True)
                subscription.done(change)
        subscription.save()  # what `done` noted


if __name__ == "__main__":
    follow(*sys.argv[1:])
