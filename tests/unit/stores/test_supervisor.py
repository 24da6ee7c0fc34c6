"""When the client of a server is replaced by one that looks for the server anew."""

import logging
from typing import Any

import pytest

from neardup_stream.errors import StoreReason, StoreUnavailable
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.supervisor import FAILURES_OF_A_CLIENT, Supervisor

ALONE = "redis://127.0.0.1:1/0"
WATCHED = "redis+sentinel://127.0.0.1:1/master/0"
CLUSTER = "redis+cluster://127.0.0.1:1"


async def client_of(supervisor: Supervisor) -> Any:
    async with supervisor.client() as client:
        return client


@pytest.mark.parametrize(
    ("url", "reason", "is_replaced"),
    [
        (ALONE, "connection", True),
        (ALONE, "not_replicated", False),
        (ALONE, "too_few_replicas", False),
        (ALONE, "disk", False),
        (ALONE, "out_of_memory", False),
        (WATCHED, "not_replicated", True),
        (WATCHED, "too_few_replicas", True),
        (WATCHED, "disk", True),
        (WATCHED, "out_of_memory", False),
        (CLUSTER, "not_replicated", True),
    ],
)
async def test_a_client_is_replaced_after_failures_that_another_server_may_not_have(
    url: str, reason: StoreReason, *, is_replaced: bool
) -> None:
    """A master that was cut off from its replicas answers still, when the sentinels name another one."""
    supervisor = Supervisor(RedisConfig(url))
    first = await client_of(supervisor)

    for _ in range(FAILURES_OF_A_CLIENT):
        with pytest.raises(StoreUnavailable):
            async with supervisor.client():
                raise StoreUnavailable("it says no", reason)

    assert (await client_of(supervisor) is not first) == is_replaced
    await supervisor.aclose()


async def test_a_client_replaced_for_the_same_reason_again_is_logged_once_until_a_call_succeeds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    supervisor = Supervisor(RedisConfig(WATCHED))

    async def fail(reason: StoreReason) -> None:
        for _ in range(FAILURES_OF_A_CLIENT):
            with pytest.raises(StoreUnavailable):
                async with supervisor.client():
                    raise StoreUnavailable("it says no", reason)

    outage: list[StoreReason] = ["connection", "disk", "connection", "disk"]
    for reason in outage:
        await fail(reason)
    await client_of(supervisor)
    await fail("disk")

    assert caplog.messages == ["redis_client_replaced"] * 3
    await supervisor.aclose()
