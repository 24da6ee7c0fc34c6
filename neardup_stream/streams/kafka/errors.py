"""What aiokafka's errors mean: one table from what the brokers say to our class, a reason and the remedy.

`docs/faults.md` shows the same table to operators; a test compares the two.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from aiokafka import errors as kafka

from neardup_stream.errors import ConfigError, CorruptData, NeardupError, StreamReason, StreamUnavailable

__all__ = ["FAULTS", "Fault", "away", "fault_of", "kafka_errors"]


class Fault(NamedTuple):
    """One thing that can be wrong with Kafka.

    Attributes:
        sign: what the brokers say, or the client meets.
        kinds: the errors it is known by.
        error: what becomes of it.
        reason: labels the metric; None where the process ends, and nobody scrapes it any more.
        remedy: what a person does about it; `{right}` is what an operator must grant.
    """

    sign: str
    kinds: tuple[type[Exception], ...]
    error: type[NeardupError]
    reason: StreamReason | None
    remedy: str


def _away(sign: str, reason: StreamReason, remedy: str, *kinds: type[Exception]) -> Fault:
    return Fault(sign, kinds, StreamUnavailable, reason, remedy)


def _refused(sign: str, remedy: str, *kinds: type[Exception]) -> Fault:
    return Fault(sign, kinds, ConfigError, None, remedy)


_SILENT: Final = _away(
    "no answer in time",
    "timeout",
    "see that the brokers run and are not overloaded, and that nothing on the way swallows what is sent",
    TimeoutError,
    kafka.KafkaTimeoutError,
    kafka.RequestTimedOutError,
)
_OTHER: Final = _away("any other error", "other", "see the brokers' logs", kafka.KafkaError)

FAULTS: Final = (
    _away(
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
    _away(
        "a partition without a leader",
        "no_leader",
        "it passes when another replica leads; if this stays, start the brokers that hold its replicas",
        kafka.LeaderNotAvailableError,
        kafka.NotLeaderForPartitionError,
        kafka.ReplicaNotAvailableError,
        kafka.UnknownTopicOrPartitionError,
        kafka.StaleMetadata,
    ),
    _away(
        "too few replicas in sync",
        "too_few_replicas",
        "start the brokers that the topic's min.insync.replicas asks for",
        kafka.NotEnoughReplicasError,
        kafka.NotEnoughReplicasAfterAppendError,
    ),
    _away(
        "a group without a coordinator",
        "no_coordinator",
        "it passes when another broker has taken the group over; if this stays, see __consumer_offsets",
        kafka.GroupCoordinatorNotAvailableError,
        kafka.NotCoordinatorForGroupError,
        kafka.GroupLoadInProgressError,
    ),
    _away(
        "a broker's disk fails",
        "disk",
        "make room there, or replace what its log names",
        kafka.KafkaStorageError,
        kafka.LogDirNotFound,
    ),
    _away(
        "a batch is larger than its topic takes",
        "message_size",
        "its max.message.bytes was lowered; it is asked anew, and batches are made smaller",
        kafka.MessageSizeTooLargeError,
        kafka.RecordListTooLargeError,
    ),
    _away(
        "a broker refuses our timestamps",
        "clock",
        "this host's clock is too far from the broker's (message.timestamp.after.max.ms): set both (NTP)",
        kafka.InvalidTimestampError,
    ),
    _away(
        "the producer came to its end",
        "producer",
        "a new one is made; if this stays, see the brokers' logs",
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
        "another mechanism of authentication",
        "check kafka.sasl_mechanism",
        kafka.UnsupportedSaslMechanismError,
        kafka.IllegalSaslStateError,
        kafka.AuthenticationMethodNotSupported,
    ),
    _refused("no name for a topic", "check the topic's name", kafka.InvalidTopicError),
    _refused("no name for a group", "check kafka.group_id", kafka.InvalidGroupIdError),
    _refused(
        "a session timeout out of bounds",
        "the brokers' group.min.session.timeout.ms and group.max.session.timeout.ms do not allow it",
        kafka.InvalidSessionTimeoutError,
    ),
    _refused(
        "a group of another kind",
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
        "the broker is too old: from 0.10.1 on they send it all the same",
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
"""All there are."""


def fault_of(error: Exception) -> Fault:
    """The row of the table that an error of the client belongs to: the first one that knows it."""
    return next((fault for fault in FAULTS if isinstance(error, fault.kinds)), _OTHER)


def away(reason: StreamReason, words: str) -> NeardupError:
    """What to raise for what was found out without an error of the client."""
    return _error(next(fault for fault in FAULTS if fault.reason == reason), words, "")


@contextmanager
def kafka_errors(doing: str, right: str = "Describe") -> Iterator[None]:
    """Raise ours for theirs.

    Args:
        doing: what was being done, for the message: "reading from pages".
        right: what an operator must grant on the topic for it; Describe is part of Read and of Write.

    Raises:
        ConfigError: the brokers refuse us; waiting will not help.
        StreamUnavailable: they are unavailable, or between two leaders.
        CorruptData: what a topic holds is damaged.
    """
    try:
        yield
    except TimeoutError as error:
        raise _error(_SILENT, f"{doing}: no answer in time", right) from error
    except kafka.KafkaError as error:
        raise _error(fault_of(error), f"{doing}: {error or type(error).__name__}", right) from error


def _error(fault: Fault, words: str, right: str) -> NeardupError:
    message = f"{words}; {fault.remedy.format(right=right)}"
    return StreamUnavailable(message, fault.reason) if fault.reason else fault.error(message)
