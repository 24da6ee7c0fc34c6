"""Redis behind TLS, a login and an ACL: who is let in, what others see, what may change meanwhile."""

import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import redis

import neardup_stream.stores
from neardup_stream.credentials import Login, TlsFiles
from neardup_stream.errors import ConfigError, NeardupError, StoreUnavailable
from neardup_stream.stores.redis.client import RedisClient, Script, ScriptCall
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.keys import Keys
from neardup_stream.stores.redis.rights import REPLICA_RIGHTS, RIGHTS, require_rights
from neardup_stream.stores.redis.tables import remove_tables
from tests.servers.certificates import Authority
from tests.servers.process import free_ports, wait_until
from tests.servers.redis import (
    RedisCluster,
    RedisServer,
    find_redis,
    find_valkey,
    start_redis,
    start_watched_redis,
)
from tests.servers.secure import SecureRedis, deployed_redis_rules, start_secure_redis

HIDDEN = "of-redis-4711"
WRONG = Login(username="unknown", password="wrong-4711")  # noqa: S106 - not a real one
OPTIONAL = {"config", "dbsize", "scan"}
"""Without `scan` `recover` says what to remove by hand, and `rebuild --into` names all possible buckets."""
CLUSTER_RIGHTS = ("cluster|slots", "command")


@dataclass(frozen=True)
class Account:
    """A user of a test's own, with the rights of `deploy/` on keys of its own."""

    admin: Any
    name: str
    config: RedisConfig

    def set(self, *rules: str) -> None:
        """Change rules of the user."""
        self.admin.execute_command("ACL", "SETUSER", self.name, *rules)

    def cut_off(self) -> None:
        """End its connections."""
        self.admin.execute_command("CLIENT", "KILL", "USER", self.name)


@pytest.fixture
def account(secure_redis: SecureRedis, namespace: str) -> Iterator[Account]:
    with redis.Redis.from_url(secure_redis.server.url) as admin:
        account = Account(admin, namespace, config_of(secure_redis, namespace, "rediss"))
        account.set(*deployed_redis_rules(namespace, HIDDEN))
        yield account
        admin.execute_command("ACL", "DELUSER", namespace)


def config_of(server: SecureRedis, username: str, scheme: str) -> RedisConfig:
    return RedisConfig(
        f"{scheme}://127.0.0.1:{server.tls_port}",
        socket_timeout_seconds=5,
        retries=1,
        login=Login(username=username, password=HIDDEN),
        tls=TlsFiles(ca_file=server.authority.ca_file),
    )


async def enter(config: RedisConfig, namespace: str) -> None:
    async with RedisClient(config) as client:
        await require_rights(client, namespace)


async def refusal(config: RedisConfig, namespace: str) -> NeardupError:
    """Return the error of an attempt; no part of it or of its causes holds a password."""
    with pytest.raises(NeardupError) as refused:
        await enter(config, namespace)
    assert "4711" not in "".join(traceback.format_exception(refused.value)).replace(__file__, "")
    return refused.value


async def test_the_rights_in_deploy_are_enough(account: Account) -> None:
    await enter(account.config, account.name)


@pytest.mark.parametrize("right", RIGHTS)
async def test_a_right_that_is_missing_is_named_before_any_work_starts(account: Account, right: str) -> None:
    account.set(f"-{right}")

    error = await refusal(account.config, account.name)

    assert isinstance(error, ConfigError)
    assert re.search(rf"'{right}' command|grant \+{right} on", str(error))


async def test_waiting_for_replicas_is_a_right_of_its_own(account: Account) -> None:
    error = await refusal(replace(account.config, durability="replica"), account.name)

    assert "grant +wait on" in str(error)


async def test_keys_that_are_not_ours_are_named(account: Account) -> None:
    error = await refusal(account.config, "another")

    assert isinstance(error, ConfigError)
    assert "on keys ~another:*" in str(error)


@pytest.mark.parametrize("find_server", [find_redis, find_valkey], ids=["redis", "valkey"])
async def test_a_right_that_a_script_comes_to_lack_is_no_riddle(find_server: Callable[[], str]) -> None:
    script = Script("return redis.call('SETNX', KEYS[1], '1')", "none")
    with start_redis(find_server) as server, redis.Redis.from_url(server.url) as admin:
        admin.execute_command("ACL", "SETUSER", "me", "on", "nopass", "~*", "+@all", "-setnx")

        async with RedisClient(RedisConfig(server.url, login=replace(WRONG, username="me"))) as client:
            with pytest.raises(
                ConfigError, match="give this user the right that is named, or that check names"
            ):
                await client.run(script, [ScriptCall(["k"], [])])


async def test_buckets_are_removed_by_their_names_where_keys_may_not_be_scanned(account: Account) -> None:
    namespace = account.name
    keys = Keys(
        namespace=namespace,
        schema_id="abc",
        shard_bits=0,
        table_count=4,
        bucket_bits=4,
        slot_bits=0,
        layout=1,
    )
    (bucket,) = keys.buckets([2], [3], [1])
    account.admin.set(bucket, "x")

    async with RedisClient(account.config) as client:
        assert await remove_tables(client, keys, [4] * 4) == 1

    assert not account.admin.exists(bucket)


def test_the_listed_rights_are_those_that_the_code_uses(redis_server: RedisServer) -> None:
    """Every quoted word that Redis knows as a command. `ping` is a method of the client."""
    with redis.Redis.from_url(redis_server.url, decode_responses=True) as admin:
        commands = set(admin.execute_command("COMMAND LIST"))
    (folder,) = neardup_stream.stores.__path__
    words = {"ping"}
    for path in Path(folder, "redis").iterdir():
        if path.suffix in {".lua", ".py"} and path.name != "errors.py":  # where words are answers
            words |= {
                word.lower() for word in re.findall("[\"']([A-Z]+)[\"' ]", path.read_text(encoding="utf-8"))
            }

    assert words & commands - OPTIONAL == {*RIGHTS, *REPLICA_RIGHTS}


@pytest.mark.parametrize("scheme", ["rediss", "rediss+cluster"])
@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        pytest.param({"login": WRONG}, ConfigError, "set the user name and the password", id="password"),
        pytest.param({"tls": None}, ConfigError, "redis.tls_ca_file", id="authority"),
        pytest.param({"url": "{scheme}://127.0.0.1:1"}, StoreUnavailable, "Redis: ", id="no-server"),
    ],
)
async def test_who_is_not_let_in_is_shown_why(
    account: Account, scheme: str, change: dict[str, object], kind: type[NeardupError], message: str
) -> None:
    url = str(change.get("url", account.config.url.replace("rediss", "{scheme}")))
    config = replace(account.config, **change | {"url": url.replace("{scheme}", scheme)})  # type: ignore[arg-type] # a table of fields

    error = await refusal(config, account.name)

    assert isinstance(error, kind)
    assert message in str(error)


async def test_a_password_that_changes_is_read_again_by_the_next_connection(
    account: Account, tmp_path: Path
) -> None:
    file = tmp_path / "password"
    file.write_text(HIDDEN)
    login = Login(username=account.name, password_file=str(file))

    async with RedisClient(replace(account.config, login=login)) as client:
        account.set("resetpass", ">another-4711")
        file.write_text("another-4711")
        account.cut_off()
        await require_rights(client, account.name)


async def test_a_certificate_that_changes_is_shown_by_the_next_connection(
    account: Account, secure_redis: SecureRedis, tmp_path: Path
) -> None:
    shown = TlsFiles(
        ca_file=secure_redis.authority.ca_file,
        certificate_file=str(tmp_path / "own.pem"),
        key_file=str(tmp_path / "own.key"),
    )
    show(shown, secure_redis.authority)
    config = replace(account.config, tls=shown)
    account.admin.config_set("tls-auth-clients", "yes")
    try:
        async with RedisClient(config) as client:
            show(shown, Authority(tmp_path, "stranger"))
            account.cut_off()
            with pytest.raises(NeardupError):
                await require_rights(client, account.name)
            show(shown, secure_redis.authority)
            await require_rights(client, account.name)
    finally:
        account.admin.config_set("tls-auth-clients", "optional")


def show(files: TlsFiles, authority: Authority) -> None:
    """Put a new certificate of this authority in place."""
    identity = authority.sign("client")
    for ours, signed in zip((files.certificate_file, files.key_file), identity, strict=True):
        Path(ours).write_bytes(Path(signed).read_bytes())


async def test_a_cluster_behind_tls_wants_two_rights_more(tmp_path: Path, namespace: str) -> None:
    (bus_port,) = free_ports(1)
    options = {"cluster-enabled": "yes", "cluster-port": str(bus_port), "tls-cluster": "yes"}
    with (
        start_secure_redis(tmp_path, options) as server,
        redis.Redis.from_url(server.server.url, decode_responses=True) as admin,
    ):
        admin.execute_command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        wait_until(lambda: admin.execute_command("CLUSTER INFO")["cluster_state"] == "ok", 20)
        account = Account(admin, namespace, config_of(server, namespace, "rediss+cluster"))
        account.set(*deployed_redis_rules(namespace, HIDDEN))

        for right in CLUSTER_RIGHTS:
            error = await refusal(account.config, namespace)
            assert isinstance(error, ConfigError)
            assert f"'{right}' command" in str(error)
            account.set(f"+{right}")
        await enter(account.config, namespace)


async def test_a_right_that_is_missing_on_one_node_of_a_cluster_is_named_with_the_node(
    redis_cluster: RedisCluster, namespace: str
) -> None:
    node = redis_cluster.master_of("{c}")
    with redis.Redis.from_url(node.url) as admin:
        admin.execute_command("ACL SETUSER", "default", "-zadd")
        try:
            async with RedisClient(RedisConfig(redis_cluster.url)) as client:
                with pytest.raises(ConfigError, match=rf":{node.port}: .* grant \+zadd on keys"):
                    await require_rights(client, namespace)
        finally:
            admin.execute_command("ACL SETUSER", "default", "+zadd")


async def test_sentinels_that_want_a_login_are_named() -> None:
    (nowhere,) = free_ports(1)
    with start_redis() as locked:
        with redis.Redis.from_url(locked.url) as admin:
            admin.config_set("requirepass", HIDDEN)
        addresses = f"127.0.0.1:{nowhere},127.0.0.1:{locked.port}"
        with pytest.raises(StoreUnavailable, match="asked without a login") as raised:
            async with RedisClient(RedisConfig(f"redis+sentinel://{addresses}/pages", retries=0)):
                pass

    said = str(raised.value)
    assert f"127.0.0.1:{nowhere} - network:ConnectionError" in said
    assert f"127.0.0.1:{locked.port} - auth:AuthenticationError" in said
    assert "<" not in said


async def test_what_is_no_sentinel_is_refused_once_the_others_were_asked() -> None:
    (nowhere,) = free_ports(1)
    with start_redis() as server:
        addresses = f"127.0.0.1:{server.port},127.0.0.1:{nowhere}"
        with pytest.raises(ConfigError, match=r"redis\.url names sentinels, and this is a Redis server"):
            async with RedisClient(RedisConfig(f"redis+sentinel://{addresses}/pages", retries=0)):
                pass


async def test_a_server_that_is_no_sentinel_keeps_no_sentinel_unasked() -> None:
    with start_redis() as server, start_watched_redis() as watched:
        url = watched.url.replace("://", f"://127.0.0.1:{server.port},")
        async with RedisClient(RedisConfig(url)) as client:
            assert await client.execute("PING")
