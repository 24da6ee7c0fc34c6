"""What an operator may choose about Kafka, and what follows from it.

The client's own defaults lose records (acknowledged by one broker only, reading from the end when in
doubt); everything that matters is therefore stated here, and what must not be chosen is not a field.
"""

from dataclasses import dataclass
from typing import Any, Literal

from neardup_stream.credentials import Login, TlsFiles, password_of, tls_context
from neardup_stream.errors import ConfigError

__all__ = [
    "Compression",
    "FirstStart",
    "KafkaConnection",
    "KafkaSinkConfig",
    "KafkaSourceConfig",
    "OutOfRange",
    "SaslMechanism",
]

Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]
FirstStart = Literal["earliest", "latest", "fail"]
OutOfRange = Literal["fail", "earliest", "latest"]
SaslMechanism = Literal["none", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]

DEFAULT_MAX_EXPANDED_BYTES = 32 << 20
"""Of one batch, decompressed."""

_MIB = 1 << 20


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaConnection:
    """How to reach a cluster.

    Attributes:
        bootstrap_servers: brokers to ask first, `host:port,host:port`.
        client_id: how the broker names us in its logs and quotas.
        request_timeout_seconds: how long one answer is waited for. Opening, sending and committing take
            at most about this long before they raise.
        metadata_max_age_seconds: how long new partitions, topics and leaders may stay unknown.
        tls: None for a connection that everybody on the way can read.
        sasl_mechanism: how the broker wants to hear who we are; none if it does not, or if our certificate
            says so.
        login: for SASL.
    """

    bootstrap_servers: str
    client_id: str = "neardup-stream"
    request_timeout_seconds: float = 30.0
    metadata_max_age_seconds: float = 30.0
    tls: TlsFiles | None = None
    sasl_mechanism: SaslMechanism = "none"
    login: Login | None = None

    def __post_init__(self) -> None:
        """Refuse a mechanism without a login, and a login nobody asks for.

        Raises:
            ConfigError: one is there and the other is not.
        """
        if self.sasl_mechanism == "none" and self.login is not None:
            raise ConfigError("kafka.sasl_username is set, and kafka.sasl_mechanism is none")
        if self.sasl_mechanism != "none" and not (self.login and self.login.username):
            raise ConfigError(f"kafka.sasl_mechanism is {self.sasl_mechanism}: set kafka.sasl_username")

    def client_options(self) -> dict[str, Any]:
        """As keyword arguments of any aiokafka client.

        Raises:
            ConfigError: a file of certificates, or of the password, cannot be used.

        Cost: reads those files.
        """
        return {
            "bootstrap_servers": self.bootstrap_servers,
            "client_id": self.client_id,
            "request_timeout_ms": _ms(self.request_timeout_seconds),
            "metadata_max_age_ms": _ms(self.metadata_max_age_seconds),
            **self.security_options(),
        }

    def security_options(self) -> dict[str, Any]:
        """Those of them that say who we are and whom we trust."""
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
    """What to read, and as whom.

    Attributes:
        connection: the cluster.
        topics: at least one; all must exist.
        group_id: consumer group; its committed offsets are where reading resumes.
        input_epoch: makes the same topic another input, when it was made anew or is to be judged again.
        group_instance_id: keeps our partitions for us through a restart within the session timeout; empty for
            a member that leaves when it stops.
        first_start: where a group that never committed begins. The choice is committed at once, so that a
            crash before the first commit does not choose anew.
        out_of_range: what to do when the committed offset is no longer in the topic, which means that
            records were deleted unread or the topic was made anew.
        session_timeout_seconds: silence after which the broker gives our partitions to others.
        heartbeat_interval_seconds: at most a third of it.
        max_poll_interval_seconds: longest time between two reads; longer, and we leave the group. Not
            reading is how back-pressure works, so this covers the slowest batch and then some.
        drain_seconds: how long what is called before a rebalance may take; the broker waits that long, and
            then some.
        fetch_max_bytes: most bytes, still compressed, in one answer of one broker.
        partition_fetch_max_bytes: the same for one partition of it.
        max_expanded_bytes: most bytes of one batch once it is decompressed; of a larger one every record is
            refused.
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

    def __post_init__(self) -> None:
        """Refuse what cannot work.

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
        """As keyword arguments of aiokafka's consumer."""
        return {
            **self.connection.client_options(),
            "group_id": self.group_id,
            "group_instance_id": self.group_instance_id or None,
            "enable_auto_commit": False,
            "auto_offset_reset": "none",
            "isolation_level": "read_committed",  # what a transaction took back was never sent
            "session_timeout_ms": _ms(self.session_timeout_seconds),
            "heartbeat_interval_ms": _ms(self.heartbeat_interval_seconds),
            "max_poll_interval_ms": _ms(self.max_poll_interval_seconds),
            # How long the broker waits for a member that is still draining: its default, the session
            # timeout, may be shorter than the drain.
            "rebalance_timeout_ms": _ms(self.drain_seconds + self.session_timeout_seconds),
            "fetch_max_bytes": self.fetch_max_bytes,
            "max_partition_fetch_bytes": self.partition_fetch_max_bytes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSinkConfig:
    """Where to send.

    Attributes:
        connection: the cluster.
        topic: must exist.
        compression: codec of the batches.
        max_batch_bytes: messages of one partition that travel together, before compression; never more
            than the topic takes.
        max_request_bytes: largest message, unless the topic takes less.
    """

    connection: KafkaConnection
    topic: str
    compression: Compression = "zstd"
    max_batch_bytes: int = _MIB // 4
    max_request_bytes: int = 8 * _MIB

    def producer_options(self) -> dict[str, Any]:
        """As keyword arguments of aiokafka's producer."""
        return {
            **self.connection.client_options(),
            "acks": "all",
            "enable_idempotence": True,
            "compression_type": None if self.compression == "none" else self.compression,
            "max_batch_size": self.max_batch_bytes,
            "max_request_size": self.max_request_bytes,
        }
