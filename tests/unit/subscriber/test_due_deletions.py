"""Which copies may be deleted by now, whatever was noted before and withdrawn."""

import tracemalloc
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.subscriber import Subscription


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 9), st.booleans())), st.integers(0, 9))
def test_deletions_are_due_at_their_times_whatever_the_order_in_which_they_were_noted(
    notes: list[tuple[str, int, bool]], now: int
) -> None:
    expected = dict[str, int]()
    with Subscription(":memory:") as subscription:
        for page_id, time, is_withdrawn in notes:
            if is_withdrawn:
                subscription.delete_never(page_id)
                expected.pop(page_id, None)
            else:
                subscription.delete_later(page_id, time)
                expected[page_id] = time
            due = sorted((time, each) for each, time in expected.items() if time <= now)
            assert subscription.deletions(now) == tuple(each for _, each in due)


def test_withdrawn_deletions_take_no_memory_for_long(subscription: Subscription) -> None:
    for number in range(10_000):
        subscription.delete_later("page", float(number))
        subscription.delete_never("page")
    subscription.delete_later("page", 3.0)

    assert len(subscription._due_deletions._order) < 3_000
    assert subscription.deletions(3.0) == ("page",)


def test_a_deletion_that_is_put_off_is_not_due_before(subscription: Subscription) -> None:
    subscription.delete_later("page", 1.0)
    subscription.delete_later("page", 2.0)

    assert (subscription.deletions(1.0), subscription.deletions(2.0)) == ((), ("page",))


def test_deletions_are_due_at_their_times_after_a_start_again(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    with Subscription(path) as before:
        for page_id, time in (("late", 9.0), ("early", 1.0), ("later", 99.0)):
            before.delete_later(page_id, time)
        before.save()

    with Subscription(path) as subscription:
        subscription.delete_later("now", 5.0)

        assert subscription.deletions(9.0) == ("early", "now", "late")


def test_looking_for_due_deletions_copies_none_that_are_not_due(subscription: Subscription) -> None:
    for number in range(10_000):
        subscription.delete_later(f"page {number}", float(number))

    tracemalloc.start()
    try:
        due = subscription.deletions(2.0)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert due == ("page 0", "page 1", "page 2")
    assert peak_bytes < 10_000  # references to all of them take 80,000
