"""Entering a namespace: the index and the policy under it, made once, agreed on, replaced, or lost."""

from dataclasses import replace
from typing import Any

import pytest

from neardup_stream.errors import ConfigError, CorruptData, StoreUnavailable
from neardup_stream.stores.cluster_store import DECIDED, CellAddress, Transaction
from neardup_stream.stores.guarded_clusters import INDEX, GuardedClusters, IndexLost
from neardup_stream.stores.index_identity import Policy
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.clusters import RedisClusters
from neardup_stream.stores.redis.keys import ClusterKeys, meta_key
from neardup_stream.stores.redis.namespace import (
    Namespace,
    begin_to_correct,
    check_index,
    check_policy,
    enter_index,
    install,
    open_namespace,
    plan_successor,
    read_namespace,
)

POLICY = Policy(0, {"clusters.rule": "linked", "verdict.near_resemblance": 0.55})


async def used(client: RedisClient, namespace: str, schema: dict[str, str | int]) -> RedisClusters:
    """Return the clusters of a namespace in which something was decided."""
    clusters = await entered(client, namespace, schema)
    writes = {CellAddress(DECIDED, b"pages:0"): bytes(6) + b"7"}
    assert await clusters.commit(Transaction(floors={}, expected={}, writes=writes)) is not None
    return clusters


async def entered(client: RedisClient, namespace: str, schema: dict[str, str | int]) -> RedisClusters:
    """Return the clusters of a namespace that a daemon has entered."""
    found = await open_namespace(client, namespace, schema, POLICY)
    clusters = RedisClusters(client, ClusterKeys(namespace=namespace, schema_id=found.schema_id, slot_bits=2))
    assert (await enter_index(client, namespace, found, clusters)).is_created
    return clusters


async def test_an_index_in_which_nothing_was_decided_may_be_made_anew_with_other_settings(
    client: RedisClient, namespace: str
) -> None:
    """A first start with a wrong layout leaves its settings behind."""
    first = await open_namespace(client, namespace, {"blocks": 4}, POLICY)
    clusters = await entered(client, namespace, {"blocks": 4})

    second = await open_namespace(client, namespace, {"blocks": 5}, POLICY)

    assert second.schema_id != first.schema_id
    assert second.token > first.token
    with pytest.raises(IndexLost):
        await GuardedClusters(clusters, first.token).check()


async def test_an_index_that_is_not_there_any_more_cannot_be_entered(
    client: RedisClient, namespace: str
) -> None:
    found = await open_namespace(client, namespace, {"blocks": 4}, POLICY)
    clusters = await entered(client, namespace, {"blocks": 4})
    await clusters.commit(Transaction(floors={}, expected={}, writes={INDEX: None}))
    again = await open_namespace(client, namespace, {"blocks": 4}, POLICY)

    with pytest.raises(ConfigError, match="is not there any more; stop all daemons and run"):
        await enter_index(client, namespace, again, clusters)
    assert again.token == found.token


async def test_an_index_that_is_being_created_is_none_yet_to_those_that_read_it(
    client: RedisClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the daemon that makes it has written, and wherever it died."""
    execute = client.execute
    found: list[Namespace | None] = []

    async def execute_and_look(*words: bytes | str | int) -> Any:
        answer = await execute(*words)
        with monkeypatch.context() as unwatched:
            unwatched.setattr(client, "execute", execute)
            found.append(await read_namespace(client, namespace, {"blocks": 4}))
            if found[-1] is not None and not found[-1].is_being_created:
                keys = ClusterKeys(namespace=namespace, schema_id=found[-1].schema_id, slot_bits=2)
                await check_index(found[-1], RedisClusters(client, keys))
        return answer

    monkeypatch.setattr(client, "execute", execute_and_look)
    await entered(client, namespace, {"blocks": 4})

    is_there = [each is not None and not each.is_being_created for each in found]
    assert is_there == sorted(is_there)
    assert (any(is_there), all(is_there)) == (True, False)
    assert len({each.handle_key for each in found if each is not None}) == 1


@pytest.mark.parametrize("last", ["token", "schema", "created_by", "handle_key"])
async def test_an_index_whose_first_record_is_lost_is_created_when_it_is_entered_again(
    last: str, client: RedisClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a replica without it took over, behind the field that is named."""
    execute = client.execute

    async def execute_and_lose(*words: bytes | str | int) -> Any:
        answer = await execute(*words)
        if words[0] == "HSETNX" and words[2] == last:
            await execute("DEL", meta_key(namespace))
        return answer

    with monkeypatch.context() as losing:
        losing.setattr(client, "execute", execute_and_lose)
        with pytest.raises(StoreUnavailable, match="is gone again"):
            await open_namespace(client, namespace, {"blocks": 4}, POLICY)

    found = await open_namespace(client, namespace, {"blocks": 4}, POLICY)
    assert found.event_token
    assert await open_namespace(client, namespace, {"blocks": 4}, POLICY) == found


async def test_an_index_of_a_former_release_says_nothing_of_itself_in_events(
    client: RedisClient, namespace: str
) -> None:
    await client.execute("HSET", meta_key(namespace), "schema", '{"blocks":4}', "handle_key", bytes(16))

    found = await open_namespace(client, namespace, {"blocks": 4}, POLICY)

    assert found.token
    assert found.event_token == ""


async def test_a_successor_has_keys_of_its_own_and_a_greater_token(
    client: RedisClient, namespace: str
) -> None:
    former = await open_namespace(client, namespace, {"blocks": 4}, POLICY)
    successor = await plan_successor(client, namespace, {"blocks": 5}, above="0fffffffffff" + 16 * "0")
    assert await open_namespace(client, namespace, {"blocks": 4}, POLICY) == former

    await install(client, namespace, {"blocks": 5}, replace(successor, version_floor=8))

    found = await open_namespace(client, namespace, {"blocks": 5}, POLICY)
    assert found.token > max(former.token, "0fffffffffff")
    assert found.schema_id not in former.schema_id
    assert found.version_floor == 8


async def test_an_index_is_refused_once_subscribers_have_corrections_to_another_one(
    client: RedisClient, namespace: str
) -> None:
    clusters = await entered(client, namespace, {"blocks": 4})
    former = await open_namespace(client, namespace, {"blocks": 4}, POLICY)
    abandoned = await plan_successor(client, namespace, {"blocks": 4}, above="")
    await begin_to_correct(client, namespace, abandoned)

    with pytest.raises(ConfigError, match=r"did not end, .* run 'neardup-stream recover'"):
        await open_namespace(client, namespace, {"blocks": 4}, POLICY)
    with pytest.raises(ConfigError, match="is not there any more"):  # of daemons that have opened it before
        await check_index(former, clusters)

    successor = await plan_successor(client, namespace, {"blocks": 4}, above=abandoned.token)
    await begin_to_correct(client, namespace, successor)
    with pytest.raises(ConfigError, match=r"another recovery .* has begun"):
        await install(client, namespace, {"blocks": 4}, abandoned)
    await install(client, namespace, {"blocks": 4}, successor)
    assert (await open_namespace(client, namespace, {"blocks": 4}, POLICY)).token == successor.token
    anew = await open_namespace(client, namespace, {"blocks": 5}, POLICY)  # nothing was decided in it
    assert await open_namespace(client, namespace, {"blocks": 5}, POLICY) == anew


async def test_a_namespace_is_founded_once_and_then_the_same_for_all(
    client: RedisClient, namespace: str
) -> None:
    founded = await open_namespace(client, namespace, {"blocks": 4}, POLICY)

    assert await open_namespace(client, namespace, {"blocks": 4}, POLICY) == founded


async def test_a_daemon_with_another_schema_is_shown_every_difference(
    client: RedisClient, namespace: str
) -> None:
    await used(client, namespace, {"blocks": 4, "window_tokens": 3, "shards": 16})

    with pytest.raises(
        ConfigError, match=r"index\.blocks is 4 there and 6 here; text\.window_tokens is 3 there and 2 here"
    ):
        await open_namespace(client, namespace, {"blocks": 6, "window_tokens": 2, "shards": 16}, POLICY)


async def test_a_daemon_with_another_policy_is_shown_every_difference_and_how_to_go_on(
    client: RedisClient, namespace: str
) -> None:
    await open_namespace(client, namespace, {}, POLICY)
    other = Policy(0, {"clusters.rule": "anchored", "verdict.near_resemblance": 0.6})

    with pytest.raises(
        ConfigError,
        match=r"clusters\.rule is 'linked' there and 'anchored' here; verdict\.near_resemblance is 0\.55"
        r" there and 0\.6 here; use those, or stop all daemons and set verdict\.policy = 1",
    ):
        await open_namespace(client, namespace, {}, other)


async def test_a_policy_with_a_new_number_comes_into_force_and_the_old_one_is_refused(
    client: RedisClient, namespace: str
) -> None:
    newer = Policy(2, {"clusters.rule": "components", "verdict.near_resemblance": 0.55})
    founded = await open_namespace(client, namespace, {}, POLICY)

    assert await open_namespace(client, namespace, {}, newer) == founded
    assert await open_namespace(client, namespace, {}, newer) == founded
    with pytest.raises(ConfigError, match=r"by policy 2 now, and here verdict\.policy is 0"):
        await open_namespace(client, namespace, {}, POLICY)
    with pytest.raises(ConfigError, match="by policy 2 now"):
        await open_namespace(client, namespace, {}, POLICY._replace(number=1))
    fields = await client.execute("HKEYS", meta_key(namespace))
    assert sorted(fields) == [b"created_by", b"handle_key", b"policy:0", b"policy:2", b"schema", b"token"]


async def test_checking_a_policy_writes_nothing(client: RedisClient, namespace: str) -> None:
    await check_policy(client, namespace, POLICY)

    assert await client.execute("EXISTS", meta_key(namespace)) == 0


async def test_a_daemon_with_another_schema_leaves_no_policy_behind(
    client: RedisClient, namespace: str
) -> None:
    await used(client, namespace, {"blocks": 4})

    with pytest.raises(ConfigError, match="blocks"):
        await open_namespace(client, namespace, {"blocks": 5}, POLICY._replace(number=7))
    await check_policy(client, namespace, POLICY)


@pytest.mark.parametrize(
    ("field", "complaint"),
    [
        ("schema", "does not hold a schema"),
        ("policy:0", "does not hold a policy"),
        ("policy:x", "a policy without a number"),
    ],
)
async def test_a_meta_record_that_is_not_ours_is_corrupt_data(
    field: str, complaint: str, client: RedisClient, namespace: str
) -> None:
    await client.execute("HSET", meta_key(namespace), field, "garbage")

    with pytest.raises(CorruptData, match=complaint):
        await open_namespace(client, namespace, {"blocks": 4}, POLICY)


async def test_a_key_of_another_type_is_corrupt_data(client: RedisClient, namespace: str) -> None:
    await client.execute("SET", meta_key(namespace), "something else")

    with pytest.raises(CorruptData, match="WRONGTYPE"):
        await open_namespace(client, namespace, {"blocks": 4}, POLICY)
