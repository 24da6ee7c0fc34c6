"""How many hashes a walk names at a time."""

from neardup_stream.stores.redis.walking import WALKED_SLOTS, WalkWidth


def test_a_walk_names_twice_the_hashes_that_it_read_and_more_where_all_were_read() -> None:
    width = WalkWidth()
    seen = []
    for read_count in (50, 100, 200, 3, 64, 128):
        named_count = width.slots
        width.learn(named_count, min(read_count, named_count))
        seen.append(width.slots)

    assert seen == [100, 200, 400, 64, 128, 256]


def test_a_walk_over_empty_hashes_names_as_many_as_a_call_may() -> None:
    width = WalkWidth()
    width.learn(width.slots, 1)
    for _ in range(10):
        width.learn(width.slots, width.slots)

    assert width.slots == WALKED_SLOTS
