"""Define the settings of Kafka and Redis: addresses, credentials, timeouts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal

from msgspec import Meta

from neardup_daemon.settings.section import ClientSeconds, Seconds, Secret, Section
from neardup_stream.credentials import Login, TlsFiles
from neardup_stream.errors import ConfigError
from neardup_stream.stores.redis.config import Durability, RedisConfig
from neardup_stream.streams.kafka.config import (
    Compression,
    FirstStart,
    KafkaConnection,
    OutOfRange,
    Partitioner,
    SaslMechanism,
)

__all__ = ["Kafka", "Redis"]

_PORT = r"(:0{0,4}([1-9][0-9]{0,3}|[1-5][0-9]{4}|6([0-4][0-9]{3}|5([0-4][0-9]{2}|5([0-2][0-9]|3[0-5])))))?"
"""From 1 to 65535."""
_LABEL = r"[^\s,;/@:*\[\].]{1,63}"
"""A part of a name between dots: DNS has none that is empty or longer."""
_BROKER = (
    rf"({_LABEL}(\.{_LABEL})*\.?"
    + _PORT
    + r"|\[[^\s,;/@\[\]]+\]"
    + _PORT
    + r"|[0-9A-Fa-f:.]{0,39}::[0-9A-Fa-f:.]{0,39}"
    r"|([0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4})"
)
"""A name or an address; the client takes 9092 where there is no port, as behind IPv6 without brackets.

It reads a zone (`%eth0`) only inside brackets.
"""

Topic = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,249}$")]

_CHARACTERS = "of the characters A-Z, a-z, 0-9, `.`, `_` and `-`"
_TOPIC_NAME = f"1 to 249 {_CHARACTERS}"


class Kafka(Section, frozen=True):
    """The Kafka cluster, its topics and the consumer group."""

    bootstrap_servers: Annotated[
        str,
        Meta(
            pattern=rf"^[\s,]*{_BROKER}\s*(,\s*({_BROKER}\s*)?)*$",
            examples=["kafka-1:9092,kafka-2:9092"],
            description="Brokers to contact first, as `host:port,host:port`.",
        ),
    ] = "localhost:9092"
    pages_topic: Annotated[
        Topic,
        Meta(examples=["crawl.pages"], description=f"Topic the pages are read from, {_TOPIC_NAME}."),
    ] = "pages"
    events_topic: Annotated[
        Topic,
        Meta(examples=["crawl.events"], description=f"Topic the events are sent to, {_TOPIC_NAME}."),
    ] = "neardup-events"
    dead_letters_topic: Annotated[
        Topic,
        Meta(
            examples=["crawl.dead-letters"],
            description="Topic for records that can never be processed, each with its reason,"
            f" {_TOPIC_NAME}.",
        ),
    ] = "neardup-dead-letters"
    group_id: Annotated[
        str, Meta(min_length=1, description="Consumer group; daemons that share it share the partitions.")
    ] = "neardup-stream"
    group_instance_id: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9._-]{0,200}$",
            examples=["neardup-1"],
            description=f"Static member id of this daemon, unique in its group, at most 200 {_CHARACTERS}:"
            " it keeps its partitions through a restart within the session timeout. Empty releases them at"
            " every stop.",
        ),
    ] = ""
    input_epoch: Annotated[
        int,
        Meta(
            ge=0,
            lt=1 << 31,
            description="Increase it, in all daemons, after the pages topic was recreated, or to process"
            " it again: its records then count as those of another input.",
        ),
    ] = 0
    first_start: Annotated[
        FirstStart,
        Meta(
            description="Where a group without committed offsets starts to read. Partitions that are added"
            " while daemons run are read from their beginning."
        ),
    ] = "earliest"
    out_of_range: Annotated[
        OutOfRange,
        Meta(description="What to do if the committed offset is no longer in the topic."),
    ] = "fail"
    delivery: Annotated[
        Literal["at_least_once", "exactly_once"],
        Meta(
            description="Delivery guarantee of events: `at_least_once`, or `exactly_once` for subscribers"
            " with read_committed."
        ),
    ] = "at_least_once"
    partitioner: Annotated[
        Partitioner,
        Meta(
            description="How the producers of the pages topic hash keys: `murmur2`, as Java's client and"
            " aiokafka do, or `crc32`, the default of clients over librdkafka (confluent-kafka, Go, .NET)."
            " Forgets, and what `produce` and `serve` send, then go to the partition of the page's records."
        ),
    ] = "murmur2"
    compression: Annotated[Compression, Meta(description="Compression codec of the batches sent.")] = "zstd"
    request_timeout_seconds: Annotated[
        ClientSeconds,
        Meta(
            description="Timeout of one response of a broker, in seconds; a broker that exceeds it"
            " counts as unavailable."
        ),
    ] = 30.0
    metadata_max_age_seconds: Annotated[
        ClientSeconds,
        Meta(
            description="How long, in seconds, new partitions of a topic may stay undetected; a shorter"
            " time costs the brokers more requests."
        ),
    ] = 30.0
    session_timeout_seconds: Annotated[
        ClientSeconds,
        Meta(
            description="Time without a heartbeat, in seconds, after which the broker reassigns"
            " the daemon's partitions."
        ),
    ] = 30.0
    max_poll_interval_seconds: Annotated[
        ClientSeconds,
        Meta(
            description="Longest time between two reads, in seconds, before the broker"
            " reassigns the daemon's partitions."
        ),
    ] = 300.0
    tls: Annotated[bool, Meta(description="Encrypt connections, and verify the brokers' certificates.")] = (
        False
    )
    tls_ca_file: Annotated[
        str, Meta(description="PEM file of the authorities to trust; empty trusts those of the system.")
    ] = ""
    tls_certificate_file: Annotated[
        str, Meta(description="PEM file of our certificate and its chain, for brokers that ask for one.")
    ] = ""
    tls_key_file: Annotated[
        str, Meta(description="PEM file of its key; empty if the key is in the certificate's file.")
    ] = ""
    sasl_mechanism: Annotated[SaslMechanism, Meta(description="SASL mechanism of the brokers.")] = "none"
    sasl_username: Annotated[str, Meta(description="SASL user name.")] = ""
    sasl_password: Annotated[
        Secret, Meta(description="Password; rather use the file or the environment.")
    ] = ""
    sasl_password_file: Annotated[str, Meta(description="File that holds the password.")] = ""

    def __post_init__(self) -> None:
        """Refuse topics that feed on themselves, and half of what security needs.

        Raises:
            ConfigError: two of the three topics are one, or settings of TLS or SASL contradict each other.
        """
        self.connection()
        if len({self.pages_topic, self.events_topic, self.dead_letters_topic}) < 3:
            raise ConfigError(
                f"kafka.pages_topic ({self.pages_topic}), kafka.events_topic ({self.events_topic}) and "
                f"kafka.dead_letters_topic ({self.dead_letters_topic}) must be three different topics"
            )

    def connection(self) -> KafkaConnection:
        """Return the same, as Kafka's clients expect it."""
        files = _tls_files("kafka.", self.tls_ca_file, self.tls_certificate_file, self.tls_key_file)
        if files is not None and not self.tls:
            raise ConfigError("kafka.tls_… files are set, and kafka.tls is false")
        return KafkaConnection(
            bootstrap_servers=self.bootstrap_servers,
            request_timeout_seconds=self.request_timeout_seconds,
            metadata_max_age_seconds=self.metadata_max_age_seconds,
            tls=(files or TlsFiles()) if self.tls else None,
            sasl_mechanism=self.sasl_mechanism,
            login=_login("kafka.sasl_", self.sasl_username, self.sasl_password, self.sasl_password_file),
        )


class Redis(Section, frozen=True):
    """The Redis that stores the tables and page records."""

    url: Annotated[
        str,
        Meta(
            pattern=r"^(rediss?|unix|rediss?\+(cluster|sentinel))://",
            examples=["redis://localhost:6379/0"],
            description="`redis://host:port/db`, `unix:///path`, `redis+cluster://host:port,host:port` or"
            " `redis+sentinel://host:port,host:port/service/db`; `rediss` for TLS.",
        ),
    ] = "redis://localhost:6379/0"
    namespace: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9_-]{1,32}$",
            examples=["crawl2"],
            description="First part of every key, 1 to 32 of the characters A-Z, a-z, 0-9, _ and -: crawls"
            " with different ones can share a server and its database.",
        ),
    ] = "nd"
    socket_timeout_seconds: Annotated[Seconds, Meta(description="Timeout of one response, in seconds.")] = (
        10.0
    )
    retries: Annotated[
        int,
        Meta(ge=0, le=100, description="How often the client retries a call before the batch is retried."),
    ] = 2
    username: Annotated[str, Meta(description="ACL user; empty for the default user.")] = ""
    password: Annotated[Secret, Meta(description="Password; rather use the file or the environment.")] = ""
    password_file: Annotated[str, Meta(description="File that holds the password.")] = ""
    durability: Annotated[
        Durability,
        Meta(
            description="Which servers must acknowledge a write before its events are published:"
            " `master`, or `replica` (master and one replica)."
        ),
    ] = "master"
    tls_ca_file: Annotated[
        str, Meta(description="PEM file of the authorities to trust; empty trusts those of the system.")
    ] = ""
    tls_certificate_file: Annotated[
        str, Meta(description="PEM file of our certificate and its chain, for servers that ask for one.")
    ] = ""
    tls_key_file: Annotated[
        str, Meta(description="PEM file of its key; empty if the key is in the certificate's file.")
    ] = ""

    def __post_init__(self) -> None:
        """Refuse what the client could not use.

        Raises:
            ConfigError: the settings contradict each other.
        """
        self.config()

    def config(self) -> RedisConfig:
        """Return these settings for the client."""
        return RedisConfig(
            self.url,
            self.socket_timeout_seconds,
            self.retries,
            login=_login("redis.", self.username, self.password, self.password_file),
            tls=_tls_files("redis.", self.tls_ca_file, self.tls_certificate_file, self.tls_key_file),
            durability=self.durability,
        )


def _login(prefix: str, username: str, password: str, password_file: str) -> Login | None:
    """Return None if nothing is set."""
    if not (username or password or password_file):
        return None
    with _prefixed(prefix):
        return Login(username=username, password=password, password_file=password_file)


def _tls_files(prefix: str, ca_file: str, certificate_file: str, key_file: str) -> TlsFiles | None:
    """Return None if nothing is set."""
    if not (ca_file or certificate_file or key_file):
        return None
    with _prefixed(prefix):
        return TlsFiles(ca_file=ca_file, certificate_file=certificate_file, key_file=key_file)


@contextmanager
def _prefixed(prefix: str) -> Iterator[None]:
    """Prefix the settings in an error with their section."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{prefix}{error}") from error
