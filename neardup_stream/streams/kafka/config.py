"""Configure Kafka clients: what an operator may choose, and what follows from it.

The client's own defaults lose records (acknowledgement by one broker only, reading from the end if in doubt),
so every relevant option is set here; options that must not be changed are no fields.
"""

from dataclasses import dataclass
from typing import Any, Literal

from neardup_stream.credentials import Login, TlsFiles, password_of, tls_context
from neardup_stream.errors import ConfigError
from neardup_stream.wire.header_limit import DEFAULT_MAX_HEADERS

__all__ = [
    "DEFAULT_MAX_REQUEST_BYTES",
    "Compression",
    "FirstStart",
    "KafkaConnection",
    "KafkaSinkConfig",
    "KafkaSourceConfig",
    "OutOfRange",
    "Partitioner",
    "SaslMechanism",
]

Partitioner = Literal["murmur2", "crc32"]
"""murmur2: as Java's producer, and aiokafka's, hash a key. crc32: as those of librdkafka do by default."""

Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]
FirstStart = Literal["earliest", "latest", "fail"]
OutOfRange = Literal["fail", "earliest", "latest"]
SaslMechanism = Literal["none", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]

DEFAULT_MAX_EXPANDED_BYTES = 32 << 20
"""The default limit of one decompressed batch."""

_MIB = 1 << 20

DEFAULT_MAX_REQUEST_BYTES = 8 * _MIB
"""The default limit of one message."""

_CLIENT_ID = "neardup-stream"
"""Our name in the broker's logs and quotas."""


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaConnection:
    """How to connect to a cluster.

    Attributes:
        bootstrap_servers: brokers to contact first, `host:port,host:port`.
        request_timeout_seconds: timeout of one response. Opening, sending and committing take at most about
            this long before they raise.
        metadata_max_age_seconds: how long new partitions, topics and leaders may stay undetected.
        tls: None for an unencrypted connection.
        sasl_mechanism: the broker's authentication mechanism; none if it has none, or authenticates clients
            by certificate.
        login: for SASL.
    """

    bootstrap_servers: str
    request_timeout_seconds: float = 30.0
    metadata_max_age_seconds: float = 30.0
    tls: TlsFiles | None = None
    sasl_mechanism: SaslMechanism = "none"
    login: Login | None = None

    def __post_init__(self) -> None:
        """Check that mechanism and login come together.

        Raises:
            ConfigError: one is set without the other.
        """
        if self.sasl_mechanism == "none" and self.login is not None:
            raise ConfigError("kafka.sasl_username is set, but kafka.sasl_mechanism is none")
        if self.sasl_mechanism != "none" and not (self.login and self.login.username):
            raise ConfigError(f"kafka.sasl_mechanism is {self.sasl_mechanism}: set kafka.sasl_username")

    def client_options(self) -> dict[str, Any]:
        """Return the keyword arguments of any aiokafka client.

        Raises:
            ConfigError: a file of certificates, or of the password, cannot be used.

        Cost: reads those files.
        """
        return {
            "bootstrap_servers": self.bootstrap_servers,
            "client_id": _CLIENT_ID,
            "request_timeout_ms": _ms(self.request_timeout_seconds),
            "metadata_max_age_ms": _ms(self.metadata_max_age_seconds),
            **self.security_options(),
        }

    def security_options(self) -> dict[str, Any]:
        """Return the client options for TLS and authentication."""
        options: dict[str, Any] = {
            "security_protocol": ("SASL_" if self.login else "") + ("SSL" if self.tls else "PLAINTEXT")
        }
        if self.tls is not None:
            options["ssl_context"] = tls_context(self.tls)
        if self.login is not None:
            options["sasl_mechanism"] = self.sasl_mechanism
            options["sasl_plain_username"] = self.login.username
            options["sasl_plain_password"] = password_of(self.login).read()
        return options


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSourceConfig:
    """The topics to read, and the consumer group.

    Attributes:
        connection: the cluster.
        topics: at least one; all must exist.
        group_id: consumer group; reading resumes at its committed offsets.
        input_epoch: makes the same topic another input, after it was recreated or to process it again.
        group_instance_id: static membership, which keeps our partitions through a restart within the session
            timeout; empty for a member that leaves when it stops.
        first_start: where a group without a committed offset starts. The start offset is committed at once,
            so that a crash before the first commit does not choose again.
        out_of_range: what to do if the committed offset is no longer in the topic, which means that records
            were deleted unread or the topic was recreated.
        session_timeout_seconds: time without a heartbeat after which the broker reassigns our partitions.
        heartbeat_interval_seconds: at most a third of it.
        max_poll_interval_seconds: longest time between two reads, after which we leave the group. Reads pause
            under back-pressure, so this must exceed the slowest batch.
        drain_seconds: how long the callback before a rebalance may take; the broker waits longer than this.
        fetch_max_bytes: most bytes, still compressed, in one answer of one broker.
        partition_fetch_max_bytes: the same for one partition of it.
        max_expanded_bytes: most bytes of one batch once it is decompressed; every record of a
            larger one is rejected.
        max_headers: most headers of a record; one with more is rejected, without its headers.
    """

    connection: KafkaConnection
    topics: tuple[str, ...]
    group_id: str
    input_epoch: int = 0
    group_instance_id: str = ""
    first_start: FirstStart = "earliest"
    out_of_range: OutOfRange = "fail"
    session_timeout_seconds: float = 30.0
    heartbeat_interval_seconds: float = 3.0
    max_poll_interval_seconds: float = 300.0
    drain_seconds: float = 30.0
    fetch_max_bytes: int = 16 * _MIB
    partition_fetch_max_bytes: int = _MIB
    max_expanded_bytes: int = DEFAULT_MAX_EXPANDED_BYTES
    max_headers: int = DEFAULT_MAX_HEADERS

    def __post_init__(self) -> None:
        """Check the configuration.

        Raises:
            ConfigError: no topic, or too few heartbeats in a session.
        """
        if not self.topics:
            raise ConfigError("no topic to read from")
        if self.heartbeat_interval_seconds * 3 > self.session_timeout_seconds:
            raise ConfigError(
                f"session_timeout_seconds ({self.session_timeout_seconds}) must be at least three times "
                f"heartbeat_interval_seconds ({self.heartbeat_interval_seconds})"
            )

    def consumer_options(self) -> dict[str, Any]:
        """Return the keyword arguments of aiokafka's consumer."""
        return {
            **self.connection.client_options(),
            "group_id": self.group_id,
            "group_instance_id": self.group_instance_id or None,
            "enable_auto_commit": False,
            "auto_offset_reset": "none",
            "isolation_level": "read_committed",  # omits records of aborted transactions
            "session_timeout_ms": _ms(self.session_timeout_seconds),
            "heartbeat_interval_ms": _ms(self.heartbeat_interval_seconds),
            "max_poll_interval_ms": _ms(self.max_poll_interval_seconds),
            # The broker waits this long for a member that is still draining: the default, the session
            # timeout, may be shorter than the drain.
            "rebalance_timeout_ms": _ms(self.drain_seconds + self.session_timeout_seconds),
            "fetch_max_bytes": self.fetch_max_bytes,
            "max_partition_fetch_bytes": self.partition_fetch_max_bytes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSinkConfig:
    """The topic to write to.

    Attributes:
        connection: the cluster.
        topic: must exist.
        compression: codec of the batches.
        partitioner: which partition a key has.
        max_batch_bytes: most bytes of one batch, before compression; never more than the topic accepts.
        max_request_bytes: largest message, unless the topic's limit is smaller.
    """

    connection: KafkaConnection
    topic: str
    compression: Compression = "zstd"
    partitioner: Partitioner = "murmur2"
    max_batch_bytes: int = _MIB // 4
    max_request_bytes: int = DEFAULT_MAX_REQUEST_BYTES

    def producer_options(self) -> dict[str, Any]:
        """Return the keyword arguments of aiokafka's producer."""
        return {
            **self.connection.client_options(),
            "acks": "all",
            "enable_idempotence": True,
            "compression_type": None if self.compression == "none" else self.compression,
            "max_batch_size": self.max_batch_bytes,
            "max_request_size": self.max_request_bytes,
        }
