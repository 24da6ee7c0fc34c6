"""Map aiokafka's errors to our error classes, a reason and the remedy, in one table.

`docs/faults.md` shows the same table to operators; a test compares the two.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from aiokafka import errors as kafka

from neardup_stream.cancellation import watch_cancellation
from neardup_stream.errors import ConfigError, CorruptData, NeardupError, StreamReason, StreamUnavailable

__all__ = ["FAULTS", "Fault", "fault_of", "kafka_errors", "unavailable"]


class Fault(NamedTuple):
    """A fault of Kafka.

    Attributes:
        sign: the symptom, as the brokers or the client report it.
        kinds: the exceptions that report it.
        error: our error class.
        reason: labels the metric; None if the process ends, and is not scraped any more.
        remedy: what a person does about it; `{right}` is the right that an operator must grant.
    """

    sign: str
    kinds: tuple[type[Exception], ...]
    error: type[NeardupError]
    reason: StreamReason | None
    remedy: str


def _unavailable(sign: str, reason: StreamReason, remedy: str, *kinds: type[Exception]) -> Fault:
    return Fault(sign, kinds, StreamUnavailable, reason, remedy)


def _refused(sign: str, remedy: str, *kinds: type[Exception]) -> Fault:
    return Fault(sign, kinds, ConfigError, None, remedy)


_SILENT: Final = _unavailable(
    "no answer in time",
    "timeout",
    "see that the brokers run and are not overloaded, and that no firewall drops packets",
    TimeoutError,
    kafka.KafkaTimeoutError,
    kafka.RequestTimedOutError,
)
_OTHER: Final = _unavailable("any other error", "other", "see the brokers' logs", kafka.KafkaError)

FAULTS: Final = (
    _unavailable(
        "no connection",
        "connection",
        "see that the brokers run, and that kafka.bootstrap_servers and what they advertise can be reached",
        kafka.KafkaConnectionError,
        kafka.KafkaUnavailableError,
        kafka.NoBrokersAvailable,
        kafka.NodeNotReadyError,
        kafka.BrokerNotAvailableError,
        kafka.MetadataEmptyBrokerList,
        kafka.Cancelled,
    ),
    _SILENT,
    _unavailable(
        "a partition has no leader",
        "no_leader",
        "it recovers when another replica leads; if this stays, start the brokers that hold its replicas",
        kafka.LeaderNotAvailableError,
        kafka.NotLeaderForPartitionError,
        kafka.ReplicaNotAvailableError,
        kafka.UnknownTopicOrPartitionError,
        kafka.StaleMetadata,
    ),
    _unavailable(
        "too few replicas in sync",
        "too_few_replicas",
        "start the brokers that the topic's min.insync.replicas needs",
        kafka.NotEnoughReplicasError,
        kafka.NotEnoughReplicasAfterAppendError,
    ),
    _unavailable(
        "a group has no coordinator",
        "no_coordinator",
        "it recovers when another broker takes over the group; if this stays, see __consumer_offsets",
        kafka.GroupCoordinatorNotAvailableError,
        kafka.NotCoordinatorForGroupError,
        kafka.GroupLoadInProgressError,
    ),
    _unavailable(
        "a broker's disk fails",
        "disk",
        "free space there, or replace the disk that its log names",
        kafka.KafkaStorageError,
        kafka.LogDirNotFound,
    ),
    _unavailable(
        "a batch is larger than its topic accepts",
        "message_size",
        "max.message.bytes was lowered; the daemon reads it again and sends smaller batches",
        kafka.MessageSizeTooLargeError,
        kafka.RecordListTooLargeError,
    ),
    _unavailable(
        "a broker rejects our timestamps",
        "clock",
        "this host's clock is too far from the broker's (message.timestamp.after.max.ms): set both (NTP)",
        kafka.InvalidTimestampError,
    ),
    _unavailable(
        "the producer was fenced or failed",
        "producer",
        "the daemon replaces it; if this stays, see the brokers' logs",
        kafka.ProducerClosed,
        kafka.ProducerFenced,
        kafka.OutOfOrderSequenceNumber,
        kafka.DuplicateSequenceNumber,
        kafka.InvalidProducerEpoch,
        kafka.InvalidProducerIdMapping,
        kafka.InvalidTxnState,
        kafka.UnknownProducerId,
    ),
    _refused(
        "no right on a topic", "grant this user {right} on the topic", kafka.TopicAuthorizationFailedError
    ),
    _refused(
        "no right on the group", "grant this user Read on the group", kafka.GroupAuthorizationFailedError
    ),
    _refused(
        "no right on transactions",
        "grant this user Write on transactional ids that begin with kafka.group_id",
        kafka.TransactionalIdAuthorizationFailed,
    ),
    _refused(
        "no right on the cluster",
        "grant this user {right} on the topic and, with brokers before 3.0, IdempotentWrite on the cluster",
        kafka.ClusterAuthorizationFailedError,
    ),
    _refused(
        "an unknown user or a wrong password",
        "check kafka.sasl_username and its password",
        kafka.SaslAuthenticationFailed,
        kafka.AuthenticationFailedError,
    ),
    _refused(
        "another authentication mechanism",
        "check kafka.sasl_mechanism",
        kafka.UnsupportedSaslMechanismError,
        kafka.IllegalSaslStateError,
        kafka.AuthenticationMethodNotSupported,
    ),
    _refused("an invalid topic name", "check the topic's name", kafka.InvalidTopicError),
    _refused("an invalid group name", "check kafka.group_id", kafka.InvalidGroupIdError),
    _refused(
        "a session timeout out of bounds",
        "the brokers' group.min.session.timeout.ms and group.max.session.timeout.ms do not allow it",
        kafka.InvalidSessionTimeoutError,
    ),
    _refused(
        "the group belongs to another kind of client",
        "another program uses the same kafka.group_id",
        kafka.InconsistentGroupProtocolError,
    ),
    _refused("an unknown request", "the broker is too old", kafka.UnsupportedVersionError),
    _refused(
        "an unknown codec",
        "records are compressed with a codec that is not installed",
        kafka.UnsupportedCodecError,
    ),
    _refused(
        "a record larger than a fetch",
        "the broker is too old: since 0.10.1 brokers send it anyway",
        kafka.RecordTooLargeError,
    ),
    Fault(
        "a batch with a wrong checksum",
        (kafka.CorruptRecordException,),
        CorruptData,
        None,
        "the topic is damaged on its broker's disk: see that broker's log, and move its leader elsewhere",
    ),
    _OTHER,
)
"""All faults; the first one that has an error's class applies."""


def fault_of(error: Exception) -> Fault:
    """Return the fault of a client's error: the first of the table that has its class."""
    return next((fault for fault in FAULTS if isinstance(error, fault.kinds)), _OTHER)


def unavailable(reason: StreamReason, words: str) -> NeardupError:
    """Return the error to raise for a fault that was detected without an exception of the client."""
    return _error(next(fault for fault in FAULTS if fault.reason == reason), words, "")


@contextmanager
def kafka_errors(doing: str, right: str = "Describe") -> Iterator[None]:
    """Raise our error classes instead of the client's; only in coroutines.

    Args:
        doing: the operation, for the message: "reading from pages".
        right: the right that it needs on the topic; Describe is part of Read and of Write.

    Raises:
        ConfigError: the brokers deny access; retrying does not help.
        StreamUnavailable: they are unavailable, or electing a leader.
        CorruptData: the topic is damaged.
    """
    is_cancelled = watch_cancellation()
    try:
        yield
    except TimeoutError as error:
        raise _error(_SILENT, f"{doing}: no answer in time", right) from error
    except kafka.KafkaError as error:
        raise _error(fault_of(error), f"{doing}: {error or type(error).__name__}", right) from error
    except asyncio.CancelledError as error:
        if is_cancelled():
            raise
        # A task of the client ended, and this one asked for its result: it is not to end itself.
        raise _error(_OTHER, f"{doing}: a task of the client was cancelled", right) from error


def _error(fault: Fault, words: str, right: str) -> NeardupError:
    message = f"{words}; {fault.remedy.format(right=right)}"
    return StreamUnavailable(message, fault.reason) if fault.reason else fault.error(message)
