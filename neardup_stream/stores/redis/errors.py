"""Map Redis's errors to our error classes, a reason and the remedy, in one table.

`docs/faults.md` shows the same table to operators; a test compares the two.
"""

import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

from redis import exceptions
from redis.asyncio.sentinel import MasterNotFoundError

from neardup_stream.errors import ConfigError, CorruptData, NeardupError, StoreReason, StoreUnavailable
from neardup_stream.stores.guarded_clusters import REMEDY

__all__ = ["FAULTS", "Fault", "fault_of", "not_replicated", "redis_errors"]


class Fault(NamedTuple):
    """One thing that can be wrong with Redis.

    Attributes:
        sign: how Redis's answer begins, or what the client meets.
        error: the class that it is raised as.
        reason: labels the metric; None where the process ends, and its metrics are not scraped any more.
        remedy: what a person does about it.
    """

    sign: str
    error: type[NeardupError]
    reason: StoreReason | None
    remedy: str


def _unavailable(sign: str, reason: StoreReason, remedy: str) -> Fault:
    return Fault(sign, StoreUnavailable, reason, remedy)


_UNREACHABLE = _unavailable(
    "no connection",
    "connection",
    "see that the server runs, and that redis.url names its host and port, with rediss if it wants TLS",
)
_SILENT = _unavailable(
    "no answer in time",
    "timeout",
    "it is overloaded or hangs, or the network swallows what is sent: see its load and SLOWLOG; if it is only"
    " slow, raise redis.socket_timeout_seconds; behind rediss:// it must have TLS",
)
_NO_CLUSTER = _unavailable(
    "no cluster",
    "no_cluster",
    "no node of redis.url, nor any known since, reports which node has which slot: see that they run",
)
_NO_MASTER = _unavailable(
    "no master",
    "no_master",
    "the sentinels know no living master of this name: see SENTINEL MASTERS, and the service in redis.url",
)
_SENTINELS_WANT_A_LOGIN = _unavailable(
    "sentinels that want a login",
    "no_master",
    "sentinels are asked without a login, and must allow that: see requirepass in sentinel.conf",
)
_NOT_REPLICATED = _unavailable(
    "no replica has it",
    "not_replicated",
    "see that a replica runs and has master_link_status up, or set redis.durability to master",
)
_INDEX_LOST = _unavailable("an index that lost what was decided", "index_lost", REMEDY)

_DEMOTED = (
    "it is a replica now, and the client looks for the master anew; if this stays, redis.url must name the"
    " master, the cluster or the sentinels"
)

_KILLED_SCRIPT = _unavailable(
    "Script killed by user",
    "busy",
    "SCRIPT KILL ended our script, which is sent again; if it runs for long again, see SLOWLOG",
)

_ANSWERS: Final = (
    _unavailable("LOADING", "loading", "it reads its data from disk after a start, and serves once it has"),
    _unavailable("READONLY", "read_only", _DEMOTED),
    _unavailable("WAIT cannot be used with replica", "read_only", _DEMOTED),
    _unavailable("UNBLOCKED", "read_only", _DEMOTED),
    _unavailable(
        "MASTERDOWN", "master_down", "a replica lost its master: bring that back, or promote the replica"
    ),
    _unavailable(
        "CLUSTERDOWN",
        "cluster_down",
        "slots are without a master, for seconds if a replica takes over; if this stays, see CLUSTER NODES",
    ),
    _unavailable("TRYAGAIN", "try_again", "slots move to another node; it passes when they have"),
    _unavailable(
        "OOM", "out_of_memory", "raise maxmemory: no page can expire either while nothing may be written"
    ),
    _unavailable(
        "MISCONF", "disk", "it cannot write to its disk: free space there, or repair what its log names"
    ),
    _unavailable(
        "NOREPLICAS", "too_few_replicas", "start the replicas that its min-replicas-to-write asks for"
    ),
    _unavailable(
        "BUSY", "busy", "a script holds it: see SLOWLOG; SCRIPT KILL ends one that has written nothing"
    ),
    _KILLED_SCRIPT,
    _unavailable("max number of clients", "too_many_clients", "raise its maxclients, or end idle clients"),
    Fault("NOPERM", ConfigError, None, "give this user the right that is named, or that check names"),
    Fault(
        "WRONGTYPE",
        CorruptData,
        None,
        "something else writes keys that begin with redis.namespace: give each program a name of its own",
    ),
)
_NOT_LET_IN = Fault(
    "NOAUTH or WRONGPASS", ConfigError, None, "set the user name and the password that it asks for"
)
_PART_OF_CLUSTER = Fault(
    "MOVED, ASK or CROSSSLOT",
    ConfigError,
    None,
    "redis.url names one server, and that is part of a cluster: write redis+cluster:// or rediss+cluster://"
    " and the addresses of its nodes",
)
_NOT_A_CLUSTER = Fault(
    "CLUSTER SLOTS refused",
    ConfigError,
    None,
    "redis.url names a cluster, and the server is none, or refuses CLUSTER SLOTS to this user: write redis://"
    " or rediss:// for one server",
)
_NO_SENTINEL = Fault(
    "SENTINEL unknown",
    ConfigError,
    None,
    "redis.url names sentinels, and this is a Redis server: name the sentinels, or write redis:// or"
    " rediss:// for one server",
)
_NO_DATABASE = Fault(
    "DB index is out of range",
    ConfigError,
    None,
    "redis.url names a database that the server does not have: write /0, or raise databases in its"
    " configuration",
)
_EXPIRED = Fault(
    "an expired certificate",
    ConfigError,
    None,
    "renew the server's certificate, or ours, redis.tls_certificate_file, and see that the clocks of both"
    " hosts are right",
)
_NO_TRUST = Fault(
    "no trust in TLS",
    ConfigError,
    None,
    "the server's certificate must be for the host in redis.url and from an authority in redis.tls_ca_file,"
    " and ours, redis.tls_certificate_file, from one that the server knows",
)
_REFUSED_COMMAND = Fault(
    "any other error", ConfigError, None, "the server is too old, hides commands or is no Redis: run check"
)

FAULTS: Final = (
    _UNREACHABLE,
    _SILENT,
    _NO_CLUSTER,
    _NO_MASTER,
    _SENTINELS_WANT_A_LOGIN,
    _NOT_REPLICATED,
    _INDEX_LOST,
    *_ANSWERS,
    _NOT_LET_IN,
    _PART_OF_CLUSTER,
    _NOT_A_CLUSTER,
    _NO_SENTINEL,
    _NO_DATABASE,
    _EXPIRED,
    _NO_TRUST,
    _REFUSED_COMMAND,
)
"""All there are. An answer is known by how it begins; before Redis 7 a script's come wrapped in words."""

_SIGN = re.compile(rf"(?:^|-)(?:ERR )?({'|'.join(fault.sign for fault in _ANSWERS)})\b")
_BY_SIGN: Final = {fault.sign: fault for fault in _ANSWERS}

_BY_CLASS: Final[tuple[tuple[type[Exception], Fault], ...]] = (
    (exceptions.AuthenticationError, _NOT_LET_IN),
    (exceptions.AuthorizationError, _NOT_LET_IN),
    (exceptions.AuthenticationWrongNumberOfArgsError, _NOT_LET_IN),
    (ssl.SSLEOFError, _UNREACHABLE),  # which is how TLS calls a connection that was cut
    (ssl.SSLZeroReturnError, _UNREACHABLE),
    (ssl.SSLError, _NO_TRUST),
    (exceptions.TimeoutError, _SILENT),
    (TimeoutError, _SILENT),
    (MasterNotFoundError, _NO_MASTER),
    (exceptions.RedisClusterException, _NO_CLUSTER),
    (exceptions.AskError, _BY_SIGN["TRYAGAIN"]),
    (exceptions.ClusterError, _BY_SIGN["TRYAGAIN"]),  # redirected more often than the client follows
    (exceptions.ResponseError, _REFUSED_COMMAND),
    (Exception, _UNREACHABLE),
)
"""The first class that fits determines the fault of an error whose message does not."""

_SCRIPT_PLACE: Final = re.compile(
    r"^Error running script \(call to f_[0-9a-f]+\): @user_script:\d+: -?"
    r"|\s*script: [0-9a-f]+, on @user_script:\d+"
)
"""Which script met an error, by a hash: another text for each, where only the error is of interest."""

_CLUSTER_ONLY: Final = (exceptions.AskError, exceptions.ClusterCrossSlotError)
"""What only a node of a cluster answers; MOVED is an AskError too."""

_BY_WORDING: Final = (
    (re.compile("No master found .*AuthenticationError"), _SENTINELS_WANT_A_LOGIN),
    # The client's words for an error that it does not repeat.
    (re.compile("Cluster mode is not enabled on this node"), _NOT_A_CLUSTER),
    # In the quotes of Redis 7, and of former ones.
    (re.compile("unknown command ['`]SENTINEL"), _NO_SENTINEL),
    (re.compile(_NO_DATABASE.sign), _NO_DATABASE),
    # The server's, by its client, and ours, by the server.
    (re.compile("certificate (has expired|is not yet valid)|alert certificate expired"), _EXPIRED),
    # To a client that greets a server without its password.
    (re.compile("HELLO must be called with the client already authenticated"), _NOT_LET_IN),
    # A script met NOPERM, in the words of Redis 7.0 and of later ones.
    (re.compile("executing the script can't run|ACL failure in script"), _BY_SIGN["NOPERM"]),
    # Before Redis 7 behind a line number without a minus.
    (re.compile(_KILLED_SCRIPT.sign), _KILLED_SCRIPT),
    # A script emptied a key of a slot that moves, and used it again: the key is at the other node now.
    (re.compile("(?i)script attempted to access a non local key"), _BY_SIGN["TRYAGAIN"]),
    # Nodes hear of each other while a script holds one for long.
    (
        re.compile("(?i)script attempted to execute a (write )?command while the cluster"),
        _BY_SIGN["CLUSTERDOWN"],
    ),
)
"""Answers that do not begin with their sign."""

_REFUSALS: Final = (
    exceptions.AuthenticationError,
    exceptions.AuthorizationError,
    exceptions.NoPermissionError,
    ssl.SSLError,
)
"""What the client, and more so that of a cluster, hides behind errors of its own."""

_FIRST_WORDS: Final[Mapping[type[Exception], str]] = {
    exceptions.BusyLoadingError: "LOADING",
    exceptions.ReadOnlyError: "READONLY",
    exceptions.MasterDownError: "MASTERDOWN",
    exceptions.ClusterDownError: "CLUSTERDOWN",
    exceptions.TryAgainError: "TRYAGAIN",
    exceptions.AskError: "ASK",
    exceptions.MovedError: "MOVED",
    exceptions.ClusterCrossSlotError: "CROSSSLOT",
    exceptions.OutOfMemoryError: "OOM",
    exceptions.NoPermissionError: "NOPERM",
}
"""The client takes the first word from the messages of these."""


def fault_of(error: Exception, *, is_cluster: bool = False) -> Fault:
    """Return the row of the table that an error of the client belongs to.

    Args:
        error: of the client.
        is_cluster: whether it is a cluster's client, which follows slots from node to node.
    """
    error = _origin(error)
    if isinstance(error, _CLUSTER_ONLY) and not is_cluster:
        return _PART_OF_CLUSTER
    for wording, fault in _BY_WORDING:
        if wording.search(str(error)):
            return fault
    if found := _SIGN.search(_words(error)):
        return _BY_SIGN[found[1]]
    return next(fault for kind, fault in _BY_CLASS if isinstance(error, kind))


def not_replicated(seconds: float) -> NeardupError:
    """Return what to raise when no replica has acknowledged a write within so many seconds."""
    return _error(_NOT_REPLICATED, f"no replica acknowledged a write within {seconds:g} seconds")


@contextmanager
def redis_errors(*, is_cluster: bool = False) -> Iterator[None]:
    """Turn the client's errors into ours.

    Args:
        is_cluster: as for `fault_of`.

    Raises:
        ConfigError: the server refuses us; waiting will not help.
        StoreUnavailable: it is unavailable, loading, failing over or full.
        CorruptData: a key holds another type than ours.
    """
    try:
        yield
    except exceptions.DataError:
        raise  # a bug of ours: what we send is no command
    except (exceptions.RedisError, exceptions.RedisClusterException, OSError) as error:
        origin = _origin(error)
        place = _place(origin) if is_cluster else ""
        words = _SCRIPT_PLACE.sub("", _words(origin)).rstrip(".") + place
        raise _error(fault_of(error, is_cluster=is_cluster), words) from error


def _origin(error: Exception) -> Exception:
    """Return the refusal that an error came from, if it came from one, else the error itself.

    The client wraps what it meets, a cluster's client twice.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, _REFUSALS):
            return cause
        cause = cause.__cause__ or cause.__context__
    return error


def _words(error: Exception) -> str:
    return f"{_FIRST_WORDS.get(type(error), '')} {error}".strip().rstrip(".")


def _place(error: Exception) -> str:
    """Return which node of a cluster answered, where its client keeps that with the error."""
    node = getattr(error, "connection", None)
    return f" at {node.name}" if node and isinstance(error, exceptions.ResponseError) else ""


def _error(fault: Fault, words: str) -> NeardupError:
    if fault.error is StoreUnavailable:
        return StoreUnavailable(f"Redis: {words}; {fault.remedy}", fault.reason or "other")
    return fault.error(f"Redis: {words}; {fault.remedy}")
