"""What every ClusterStore promises of the keys of absorbed clusters."""

from collections.abc import Iterable

from neardup_stream.stores.cluster_store import ABSORBED, CellAddress, ClusterStore
from tests.contracts.cluster_cells import ranked, writing

__all__ = ["ABSORBED_CLAIMS"]

MANY = 3000
"""In Redis a hash of so many fields is a table, with empty buckets once they are removed."""


async def note(store: ClusterStore, count: int) -> set[bytes]:
    keys = {number.to_bytes(12, "big") for number in range(count)}
    await store.commit(writing(*((CellAddress(ABSORBED, key), ranked(0)) for key in keys)))
    return keys


async def remove(store: ClusterStore, keys: Iterable[bytes]) -> None:
    await store.commit(writing(*((CellAddress(ABSORBED, key), None) for key in keys)))


async def found_and_removed(store: ClusterStore) -> set[bytes]:
    """All that is found until there is nothing."""
    found = set()
    while some := await store.absorbed():
        found.update(some)
        await remove(store, some)
    return found


async def the_keys_of_absorbed_clusters_are_found(store: ClusterStore) -> None:
    keys = await note(store, 3)

    assert await found_and_removed(store) == keys


async def the_keys_of_absorbed_clusters_are_found_however_many(store: ClusterStore) -> None:
    keys = await note(store, MANY)

    assert await found_and_removed(store) == keys


async def a_key_that_was_found_and_not_removed_is_found_again(store: ClusterStore) -> None:
    keys = await note(store, MANY)
    kept = set(await store.absorbed())
    await remove(store, keys - kept)

    assert await found_and_removed(store) == kept


ABSORBED_CLAIMS = [
    the_keys_of_absorbed_clusters_are_found,
    the_keys_of_absorbed_clusters_are_found_however_many,
    a_key_that_was_found_and_not_removed_is_found_again,
]
