import re
import ssl
from pathlib import Path
from typing import get_args

import pytest
from redis import exceptions
from redis.asyncio.sentinel import MasterNotFoundError

from neardup_stream.errors import (
    ConfigError,
    CorruptData,
    NeardupError,
    StoreReason,
    StoreUnavailable,
)
from neardup_stream.stores.redis.errors import FAULTS, Fault, fault_of, not_replicated, redis_errors

PAGE = (Path(__file__).parents[3] / "docs" / "faults.md").read_text(encoding="utf-8")
FATES = {StoreUnavailable: "waits", ConfigError: "exits with 2", CorruptData: "exits with 4"}

ERRORS = {
    "loading": exceptions.BusyLoadingError("Redis is loading the dataset in memory"),
    "read_only": exceptions.ReadOnlyError("You can't write against a read only replica."),
    "master_down": exceptions.MasterDownError("Link with MASTER is down"),
    "cluster_down": exceptions.ClusterDownError("The cluster is down"),
    "try_again": exceptions.TryAgainError("Multiple keys request during rehashing of slot"),
    "out_of_memory": exceptions.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."),
    "disk": exceptions.ResponseError("MISCONF Errors writing to the AOF file: No space left on device"),
    "too_few_replicas": exceptions.ResponseError("NOREPLICAS Not enough good replicas to write."),
    "busy": exceptions.ResponseError("BUSY Redis is busy running a script."),
    "too_many_clients": exceptions.ConnectionError("max number of clients reached"),
    "connection": exceptions.ConnectionError("Error 111 connecting to 127.0.0.1:1."),
    "timeout": exceptions.TimeoutError("Timeout reading from 127.0.0.1:6379"),
    "no_cluster": exceptions.RedisClusterException("Redis Cluster cannot be connected."),
    "no_master": MasterNotFoundError("No master found for 'pages'"),
}


@pytest.mark.parametrize("reason", ERRORS)
def test_what_may_pass_is_unavailable_for_its_reason_and_reports_the_remedy(reason: str) -> None:
    error = ERRORS[reason]

    with pytest.raises(StoreUnavailable) as raised, redis_errors():
        raise error

    assert raised.value.reason == reason
    assert str(raised.value).endswith(f"; {fault_of(error).remedy}")
    assert ".;" not in str(raised.value)
    assert raised.value.__cause__ is error


@pytest.mark.parametrize(
    ("error", "ours", "says"),
    [
        (exceptions.AuthenticationError("Authentication required."), ConfigError, "user name"),
        (exceptions.NoPermissionError("this user has no permissions to run 'evalsha'"), ConfigError, "right"),
        (exceptions.ResponseError("ERR unknown command 'EVALSHA'"), ConfigError, "run check"),
        (exceptions.ResponseError("WRONGTYPE Operation against a key"), CorruptData, "redis.namespace"),
        (exceptions.ResponseError("DB index is out of range"), ConfigError, "write /0"),
        (exceptions.InvalidResponse("Protocol error"), StoreUnavailable, "redis.url"),
        (ConnectionResetError("reset by peer"), StoreUnavailable, "redis.url"),
        (TimeoutError(), StoreUnavailable, "socket_timeout_seconds"),
    ],
    ids=[
        "no password",
        "right missing",
        "unknown command",
        "foreign key",
        "no database",
        "torn answer",
        "reset",
        "silent",
    ],
)
def test_what_will_not_pass_ends_the_process_in_its_way(
    error: Exception, ours: type[NeardupError], says: str
) -> None:
    with pytest.raises(ours, match=says), redis_errors():
        raise error


full_in_a_script = pytest.mark.parametrize(
    "words",
    [
        "OOM command not allowed when used memory > 'maxmemory'. script: 5a, on @user_script:1.",
        "Error running script (call to f_5a): @user_script:1: -OOM command not allowed when used memory",
    ],
    ids=["Redis 7", "Redis 6"],
)


@full_in_a_script
def test_an_error_inside_a_script_is_known_by_its_first_word(words: str) -> None:
    assert fault_of(exceptions.ResponseError(words)).reason == "out_of_memory"


@full_in_a_script
def test_which_script_met_an_error_is_left_out(words: str) -> None:
    """A daemon whose memory is full would otherwise change its state with every script that says so."""
    with pytest.raises(StoreUnavailable, match=r"^Redis: OOM command not allowed") as raised, redis_errors():
        raise exceptions.ResponseError(words)

    assert "script" not in str(raised.value)
    assert ".;" not in str(raised.value)


def test_a_master_that_is_demoted_while_it_waits_for_a_replica_is_waited_for() -> None:
    error = exceptions.ResponseError(
        "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"
    )

    assert fault_of(error).reason == "read_only"


@pytest.mark.parametrize(
    "words",
    [
        "Script killed by user with SCRIPT KILL... script: 46bc44ce, on @user_script:1.",
        "Error running script (call to f_46bc): @user_script:1: Script killed by user with SCRIPT KILL...",
        "Script killed by user with SCRIPT KILL.",
    ],
    ids=["Redis 7", "Redis 6", "Valkey"],
)
def test_a_script_that_an_operator_killed_is_sent_again(words: str) -> None:
    fault = fault_of(exceptions.ResponseError(words))

    assert (fault.error, fault.reason) == (StoreUnavailable, "busy")


CLUSTER_ONLY = [
    exceptions.MovedError("14381 127.0.0.1:7393"),
    exceptions.AskError("14381 127.0.0.1:7393"),
    exceptions.ClusterCrossSlotError("Keys in request don't hash to the same slot"),
]


@pytest.mark.parametrize("error", CLUSTER_ONLY, ids=["MOVED", "ASK", "CROSSSLOT"])
def test_one_server_that_answers_as_a_cluster_is_a_wrong_setting(error: Exception) -> None:
    with pytest.raises(ConfigError, match=r"part of a cluster: write redis\+cluster://"), redis_errors():
        raise error


def test_slots_that_move_under_the_client_of_a_cluster_are_waited_for() -> None:
    faults = [fault_of(error, is_cluster=True) for error in CLUSTER_ONLY[:2]]

    assert [fault.reason for fault in faults] == ["try_again"] * 2


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("Script attempted to access a non local key in a cluster node script: 5a", "try_again"),
        ("Lua script attempted to access a non local key in a cluster node", "try_again"),
        ("Script attempted to execute a command while the cluster is down script: 5a", "cluster_down"),
        (
            "Script attempted to execute a write command while the cluster is down and readonly script: 5a",
            "cluster_down",
        ),
    ],
)
def test_a_script_that_a_change_of_the_cluster_cut_is_sent_again(words: str, reason: str) -> None:
    assert fault_of(exceptions.ResponseError(words), is_cluster=True).reason == reason


def test_every_remedy_can_be_read_without_the_table() -> None:
    assert [fault.sign for fault in FAULTS if fault.remedy == "the same"] == []


def test_being_sent_from_node_to_node_without_end_is_a_move_of_slots() -> None:
    assert fault_of(exceptions.ClusterError("TTL exhausted.")).reason == "try_again"


def test_a_server_that_wants_a_password_is_known_by_its_greeting() -> None:
    asked = exceptions.ResponseError(
        "HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH"
        " <user> <pass> option can be used to authenticate the client and select the RESP protocol version"
        " at the same time"
    )

    assert "password" in fault_of(asked).remedy


@pytest.mark.parametrize(
    "words",
    [
        "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired (_ssl.c:1006)",
        "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate is not yet valid (_ssl.c:1)",
        "[SSL: SSLV3_ALERT_CERTIFICATE_EXPIRED] sslv3 alert certificate expired (_ssl.c:2580)",
        "[SSL: SSL/TLS_ALERT_CERTIFICATE_EXPIRED] ssl/tls alert certificate expired (_ssl.c:2580)",
    ],
    ids=["the server's", "a clock that is late", "ours", "ours, in the words of OpenSSL 3.2"],
)
def test_the_remedy_of_an_expired_certificate_is_another_one_or_the_right_time(words: str) -> None:
    with pytest.raises(ConfigError, match=r"; renew the .* clocks of both hosts"), redis_errors():
        raise exceptions.ConnectionError("Error 1 connecting") from ssl.SSLError(1, words)


def test_a_word_that_merely_looks_like_a_sign_is_none() -> None:
    assert fault_of(exceptions.ResponseError("ERR BUSYBODY and LOADINGS")).error is ConfigError


def test_what_we_send_and_no_client_can_is_our_bug() -> None:
    with pytest.raises(exceptions.DataError), redis_errors():
        raise exceptions.DataError("Invalid input of type: 'NoneType'")


def test_every_reason_but_the_general_one_has_a_row() -> None:
    assert {fault.reason for fault in FAULTS} - {None} == {*get_args(StoreReason)} - {"other"}


def test_a_missing_acknowledgement_names_the_wait() -> None:
    assert "no replica acknowledged a write within 0.5 seconds; see" in str(not_replicated(0.5))


def test_the_page_on_faults_shows_the_table() -> None:
    begin = PAGE.index("| what Redis says")
    table = PAGE[begin:].partition("\n\n")[0].splitlines()[2:]

    assert table == [row(fault) for fault in FAULTS]


def row(fault: Fault) -> str:
    sign = f"`{fault.sign}`" if re.match("[A-Z]{2}", fault.sign) else fault.sign
    reason = f"`{fault.reason}`" if fault.reason else ""
    return f"| {sign} | {FATES[fault.error]} | {reason} | {fault.remedy} |".replace("|  |", "| |")
