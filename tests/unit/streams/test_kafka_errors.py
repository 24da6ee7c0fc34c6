import asyncio
from contextlib import suppress
from pathlib import Path
from typing import get_args

import pytest
from aiokafka import errors as kafka

from neardup_stream.errors import ConfigError, CorruptData, NeardupError, StreamReason, StreamUnavailable
from neardup_stream.streams.kafka.errors import FAULTS, Fault, fault_of, kafka_errors, unavailable

PAGE = (Path(__file__).parents[3] / "docs" / "faults.md").read_text(encoding="utf-8")
FATES = {StreamUnavailable: "waits", ConfigError: "exits with 2", CorruptData: "exits with 4"}

ERRORS = {
    "connection": kafka.KafkaConnectionError("Unable to bootstrap from 127.0.0.1:1"),
    "timeout": kafka.RequestTimedOutError(),
    "no_leader": kafka.NotLeaderForPartitionError(),
    "too_few_replicas": kafka.NotEnoughReplicasError(),
    "no_coordinator": kafka.GroupLoadInProgressError(),
    "disk": kafka.KafkaStorageError(),
    "message_size": kafka.MessageSizeTooLargeError(),
    "clock": kafka.InvalidTimestampError(),
    "producer": kafka.OutOfOrderSequenceNumber(),
    "other": kafka.KafkaError("Unexpected error during coordination"),
}


@pytest.mark.parametrize("reason", ERRORS)
async def test_what_may_pass_is_unavailable_for_its_reason_and_reports_the_remedy(reason: str) -> None:
    error = ERRORS[reason]

    with pytest.raises(StreamUnavailable, match=r"^reading: .") as raised, kafka_errors("reading"):
        raise error

    assert raised.value.reason == reason
    assert str(raised.value).endswith(fault_of(error).remedy)
    assert raised.value.__cause__ is error


@pytest.mark.parametrize(
    ("error", "ours", "says"),
    [
        (kafka.TopicAuthorizationFailedError(), ConfigError, "grant this user Write on the topic"),
        (kafka.GroupAuthorizationFailedError(), ConfigError, "Read on the group"),
        (kafka.SaslAuthenticationFailed(), ConfigError, "sasl_username"),
        (kafka.InconsistentGroupProtocolError(), ConfigError, r"same kafka\.group_id"),
        (kafka.CorruptRecordException(), CorruptData, "damaged"),
        (TimeoutError(), StreamUnavailable, "no answer in time; see that the brokers run"),
    ],
    ids=["no right", "no right on the group", "wrong password", "foreign group", "torn batch", "silent"],
)
async def test_what_will_not_pass_ends_the_process_in_its_way(
    error: Exception, ours: type[NeardupError], says: str
) -> None:
    with pytest.raises(ours, match=says), kafka_errors("sending", "Write"):
        raise error


async def _result_of(waited_for: asyncio.Future[None]) -> None:
    with kafka_errors("reading"):
        await waited_for


async def test_a_task_that_waits_for_a_cancelled_one_of_the_client_may_try_again() -> None:
    of_client = asyncio.get_running_loop().create_future()
    ours = asyncio.create_task(_result_of(of_client))
    await asyncio.sleep(0)

    of_client.cancel()

    with pytest.raises(StreamUnavailable, match=r"^reading: a task of the client was cancelled"):
        await ours


async def test_so_may_one_that_caught_a_cancellation_before() -> None:
    of_client = asyncio.get_running_loop().create_future()

    async def cancelled_before() -> None:
        task = asyncio.current_task()
        assert task
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        of_client.cancel()
        await _result_of(of_client)

    with pytest.raises(StreamUnavailable, match=r"^reading: a task of the client was cancelled"):
        await asyncio.create_task(cancelled_before())


async def test_a_task_that_is_cancelled_itself_ends() -> None:
    ours = asyncio.create_task(_result_of(asyncio.get_running_loop().create_future()))
    await asyncio.sleep(0)

    ours.cancel()

    with pytest.raises(asyncio.CancelledError):
        await ours
    assert ours.cancelled()


async def test_an_error_without_words_is_reported_by_its_name() -> None:
    with pytest.raises(StreamUnavailable, match="reading: NodeNotReadyError"), kafka_errors("reading"):
        raise kafka.NodeNotReadyError


@pytest.mark.parametrize("reason", get_args(StreamReason))
def test_what_is_found_out_without_an_error_has_the_remedy_of_its_reason(reason: StreamReason) -> None:
    error = unavailable(reason, "found out")

    assert isinstance(error, StreamUnavailable)
    assert error.reason == reason
    assert str(error) == f"found out; {fault_of(ERRORS[reason]).remedy}"


def test_every_reason_has_a_row() -> None:
    assert {fault.reason for fault in FAULTS} - {None} == {*get_args(StreamReason)}


def test_no_error_is_in_two_rows_of_which_the_later_one_could_never_be_met() -> None:
    for fault in FAULTS:
        for kind in fault.kinds:
            assert next(each for each in FAULTS if issubclass(kind, each.kinds)) is fault


def test_the_page_on_faults_shows_the_table() -> None:
    begin = PAGE.index("| what Kafka says")
    table = PAGE[begin:].partition("\n\n")[0].splitlines()[2:]

    assert table == [row(fault) for fault in FAULTS]


def row(fault: Fault) -> str:
    reason = f" `{fault.reason}` " if fault.reason else " "
    remedy = fault.remedy.format(right="the right that is named")
    return f"| {fault.sign} | {FATES[fault.error]} |{reason}| {remedy} |"
