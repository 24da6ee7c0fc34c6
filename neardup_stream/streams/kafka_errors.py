"""aiokafka's exceptions end here and become ours."""

from collections.abc import Iterator
from contextlib import contextmanager

from aiokafka import errors as kafka

from neardup_stream.errors import ConfigError, CorruptData, NeardupError, StreamUnavailable

__all__ = ["kafka_errors"]

_OURS: dict[type[Exception], tuple[type[NeardupError], str]] = {
    kafka.TopicAuthorizationFailedError: (ConfigError, "grant this user {right} on the topic"),
    kafka.GroupAuthorizationFailedError: (ConfigError, "grant this user Read on the group"),
    kafka.TransactionalIdAuthorizationFailed: (
        ConfigError,
        "grant this user Write on transactional ids that begin with kafka.group_id",
    ),
    kafka.ClusterAuthorizationFailedError: (
        ConfigError,
        "grant this user {right} on the topic and, with brokers before 3.0, IdempotentWrite on the cluster",
    ),
    kafka.SaslAuthenticationFailed: (ConfigError, "check kafka.sasl_username and its password"),
    kafka.UnsupportedSaslMechanismError: (ConfigError, "check kafka.sasl_mechanism"),
    kafka.IllegalSaslStateError: (ConfigError, "check kafka.sasl_mechanism"),
    kafka.InvalidTopicError: (ConfigError, "check the topic's name"),
    kafka.InvalidGroupIdError: (ConfigError, "check kafka.group_id"),
    kafka.InvalidSessionTimeoutError: (
        ConfigError,
        "the broker's group.min.session.timeout.ms and group.max.session.timeout.ms do not allow it",
    ),
    kafka.InconsistentGroupProtocolError: (ConfigError, "another program uses the same kafka.group_id"),
    kafka.UnsupportedVersionError: (ConfigError, "the broker is too old"),
    kafka.UnsupportedCodecError: (ConfigError, "records are compressed with a codec that is not installed"),
    kafka.RecordTooLargeError: (ConfigError, "raise partition_fetch_max_bytes above the largest record"),
    kafka.MessageSizeTooLargeError: (
        ConfigError,
        "the topic's max.message.bytes was lowered; raise it, or restart to have it read again",
    ),
    kafka.CorruptRecordException: (CorruptData, "a batch in the topic fails its checksum"),
}
"""What does not pass by waiting. Every other error may, and becomes `StreamUnavailable`."""


@contextmanager
def kafka_errors(doing: str, right: str = "Describe") -> Iterator[None]:
    """Raise ours for theirs.

    Args:
        doing: what was being done, for the message: "reading from pages".
        right: what an operator must grant on the topic for it; Describe is part of Read and of Write.
    """
    try:
        yield
    except TimeoutError as error:
        raise StreamUnavailable(f"{doing}: no answer in time") from error
    except kafka.KafkaError as error:
        for theirs, (ours, remedy) in _OURS.items():
            if isinstance(error, theirs):
                raise ours(f"{doing}: {error} ({remedy.format(right=right)})") from error
        raise StreamUnavailable(f"{doing}: {error}") from error
