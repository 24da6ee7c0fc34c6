"""What Redis remembers of inputs."""

import asyncio

import pytest

from neardup_stream.errors import ConfigError, StoreUnavailable
from neardup_stream.message import Partition
from neardup_stream.stores.cluster_store import DECIDED, CellAddress, Transaction, partition_name
from neardup_stream.stores.redis.client import RedisClient
from neardup_stream.stores.redis.clusters import RedisClusters
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.input_epochs import InputEpochs
from neardup_stream.stores.redis.keys import ClusterKeys

TOKEN, ANOTHER = "1" * 28, "2" * 28


def epochs_of(client: RedisClient, namespace: str) -> tuple[InputEpochs, RedisClusters]:
    keys = ClusterKeys(namespace=namespace, schema_id="5c", slot_bits=2)
    clusters = RedisClusters(client, keys)
    return InputEpochs(client, namespace, clusters, keys, TOKEN), clusters


async def test_an_epoch_only_rises_and_a_lower_one_is_refused(client: RedisClient, namespace: str) -> None:
    epochs, _ = epochs_of(client, namespace)

    for epoch in (0, 0, 1, 3, 3):
        await epochs.enter("pages", epoch)
    for epoch in (0, 1, 2):
        with pytest.raises(
            ConfigError, match=rf"kafka\.input_epoch = 3 already, and {epoch} here: set it to 3"
        ):
            await epochs.enter("pages", epoch)
    await epochs.enter("other pages", 0)
    await epochs.enter("pages", 4)


async def test_a_lower_epoch_is_refused_without_entering_it_too(client: RedisClient, namespace: str) -> None:
    epochs, _ = epochs_of(client, namespace)

    await epochs.require_epoch("pages", 0)
    await epochs.require_epoch("pages", 7)
    await epochs.enter("pages", 2)
    await epochs.require_epoch("pages", 2)
    with pytest.raises(ConfigError, match=r"kafka\.input_epoch = 2 already, and 1 here: set it to 2"):
        await epochs.require_epoch("pages", 1)


async def test_of_many_that_enter_at_once_those_below_the_highest_end_up_refused(
    client: RedisClient, namespace: str
) -> None:
    epochs, _ = epochs_of(client, namespace)

    await asyncio.gather(*(epochs.enter("pages", epoch) for epoch in range(8)), return_exceptions=True)

    with pytest.raises(ConfigError, match="= 7 already"):
        await epochs.enter("pages", 6)


async def test_what_was_trimmed_is_what_is_finished(client: RedisClient, namespace: str) -> None:
    epochs, clusters = epochs_of(client, namespace)
    old, new, other = Partition("pages", 0), Partition("pages@1", 0), Partition("pages", 1)

    await clusters.trim(old, 7)
    await clusters.trim(other, 2)

    assert await epochs.finished_below([old, new, other]) == {old: 7, new: 0, other: 2}


async def test_a_memory_that_is_unavailable_is_reported_as_a_store_that_is(namespace: str) -> None:
    client = RedisClient(RedisConfig("redis://127.0.0.1:1", retries=0))
    epochs, _ = epochs_of(client, namespace)

    with pytest.raises(StoreUnavailable):
        await epochs.enter("pages", 0)
    with pytest.raises(StoreUnavailable):
        await epochs.finished_below([Partition("pages", 0)])
    await client.__aexit__()


async def test_a_note_beside_the_first_offset_counts_once_something_was_decided(
    client: RedisClient, namespace: str
) -> None:
    epochs, clusters = epochs_of(client, namespace)
    one = Partition("pages", 0)
    ceiling = CellAddress(DECIDED, partition_name(one))

    await epochs.check({one: f"{ANOTHER} 0 pages"}, unread=[one])
    await epochs.check({one: ""}, unread=[one])
    with pytest.raises(ConfigError, match="decided below offset 3, and it knows of offsets below 0"):
        await epochs.check({one: f"{TOKEN} 3 pages"}, unread=[one])
    await clusters.commit(Transaction(floors={}, expected={}, writes={ceiling: bytes(6) + b"3"}))
    await epochs.check({one: f"{TOKEN} 3 pages"}, unread=[one])
    with pytest.raises(ConfigError, match=f"committed offsets with index {ANOTHER}"):
        await epochs.check({one: f"{ANOTHER} 3 pages"}, unread=[one])


@pytest.mark.parametrize(
    "metadata",
    ["", "set by ops", "reset", "moved 3 days", f"{TOKEN} \u0663 pages", f"{TOKEN} {'9' * 5000} pages"],
    ids=["empty", "a sentence", "a word", "a number in it", "other digits", "too many digits"],
)
async def test_metadata_that_another_program_committed_is_no_note(
    client: RedisClient, namespace: str, metadata: str
) -> None:
    epochs, clusters = epochs_of(client, namespace)
    one = Partition("pages", 0)

    await epochs.check({one: metadata}, unread=[one])
    with pytest.raises(ConfigError, match=r"the group has committed offsets, and .* knows of no page"):
        await epochs.check({one: metadata})
    await clusters.trim(one, 7)
    await epochs.check({one: metadata})
