from dataclasses import replace

import pytest
from aiokafka import errors as kafka

from neardup_stream.credentials import Login, TlsContext, TlsFiles
from neardup_stream.errors import ConfigError, CorruptData, NeardupError, StreamUnavailable
from neardup_stream.streams.kafka.config import (
    KafkaConnection,
    KafkaSinkConfig,
    KafkaSourceConfig,
    SaslMechanism,
)
from neardup_stream.streams.kafka.errors import kafka_errors

CONNECTION = KafkaConnection(bootstrap_servers="broker:9092")


def source_config(**changes: object) -> KafkaSourceConfig:
    return KafkaSourceConfig(**{"connection": CONNECTION, "topics": ("pages",), "group_id": "g", **changes})  # type: ignore[arg-type] # a table of fields


def test_a_consumer_never_commits_or_resets_by_itself() -> None:
    options = source_config(drain_seconds=20, session_timeout_seconds=10).consumer_options()

    assert options["enable_auto_commit"] is False
    assert options["auto_offset_reset"] == "none"
    assert options["rebalance_timeout_ms"] == 30_000


def test_a_producer_is_acknowledged_by_all_and_idempotent() -> None:
    options = KafkaSinkConfig(connection=CONNECTION, topic="events", compression="none").producer_options()

    assert (options["acks"], options["enable_idempotence"]) == ("all", True)
    assert options["compression_type"] is None


def test_new_partitions_are_looked_for_as_often_as_set_by_every_client() -> None:
    connection = replace(CONNECTION, metadata_max_age_seconds=2.5)

    assert connection.client_options()["metadata_max_age_ms"] == 2500
    assert CONNECTION.client_options()["metadata_max_age_ms"] == 30_000


def test_a_source_without_topics_is_refused() -> None:
    with pytest.raises(ConfigError, match="no topic"):
        source_config(topics=())


@pytest.mark.parametrize("heartbeat", [2.9, 3.0])
def test_three_heartbeats_fit_into_a_session(heartbeat: float) -> None:
    assert source_config(session_timeout_seconds=9, heartbeat_interval_seconds=heartbeat)


def test_fewer_heartbeats_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"\(9\) must be at least three times .* \(3\.1\)"):
        source_config(session_timeout_seconds=9, heartbeat_interval_seconds=3.1)


LOGIN = Login(username="me", password="hunter2")  # noqa: S106 - not a real one


@pytest.mark.parametrize(
    ("tls", "mechanism", "login", "protocol"),
    [
        (None, "none", None, "PLAINTEXT"),
        (TlsFiles(), "none", None, "SSL"),
        (None, "PLAIN", LOGIN, "SASL_PLAINTEXT"),
        (TlsFiles(), "SCRAM-SHA-512", LOGIN, "SASL_SSL"),
    ],
)
def test_every_client_gets_its_protocol_and_its_credentials(
    tls: TlsFiles | None, mechanism: SaslMechanism, login: Login | None, protocol: str
) -> None:
    connection = KafkaConnection(
        bootstrap_servers="broker:9092", tls=tls, sasl_mechanism=mechanism, login=login
    )

    for options in (
        source_config(connection=connection).consumer_options(),
        KafkaSinkConfig(connection=connection, topic="events").producer_options(),
    ):
        assert options["security_protocol"] == protocol
        assert isinstance(options.get("ssl_context"), TlsContext) == (tls is not None)
        assert options.get("sasl_mechanism", "none") == mechanism
        assert options.get("sasl_plain_username") == (login and "me")
        assert options.get("sasl_plain_password") == (login and "hunter2")


@pytest.mark.parametrize(
    ("mechanism", "login", "message"),
    [
        pytest.param("none", LOGIN, "sasl_mechanism is none", id="no-mechanism"),
        pytest.param("PLAIN", None, r"set kafka\.sasl_username", id="no-login"),
        pytest.param("PLAIN", Login(password_file="p"), r"set kafka\.sasl_username", id="no-name"),  # noqa: S106 - a path
    ],
)
def test_a_mechanism_and_a_login_go_together(
    mechanism: SaslMechanism, login: Login | None, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        KafkaConnection(bootstrap_servers="broker:9092", sasl_mechanism=mechanism, login=login)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        pytest.param(kafka.KafkaConnectionError("gone"), StreamUnavailable, id="connection-lost"),
        pytest.param(kafka.NotEnoughReplicasError(), StreamUnavailable, id="too-few-replicas"),
        pytest.param(kafka.OutOfOrderSequenceNumber(), StreamUnavailable, id="producer-to-be-replaced"),
        pytest.param(kafka.KafkaError("unheard of"), StreamUnavailable, id="anything-else"),
        pytest.param(TimeoutError(), StreamUnavailable, id="our-own-deadline"),
        pytest.param(kafka.TopicAuthorizationFailedError("pages"), ConfigError, id="not-our-topic"),
        pytest.param(kafka.GroupAuthorizationFailedError("g"), ConfigError, id="not-our-group"),
        pytest.param(kafka.MessageSizeTooLargeError(), StreamUnavailable, id="topic-takes-less-now"),
        pytest.param(kafka.CorruptRecordException(), CorruptData, id="checksum"),
    ],
)
async def test_their_errors_become_ours(theirs: Exception, ours: type[NeardupError]) -> None:
    with pytest.raises(ours, match=r"^sending: ") as raised, kafka_errors("sending"):
        raise theirs

    assert raised.value.__cause__ is theirs
