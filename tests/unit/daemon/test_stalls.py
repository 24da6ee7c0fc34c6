from neardup_daemon.telemetry.stalls import Progress, StallWatch

from neardup_stream.message import Partition

FIRST, SECOND = Partition("pages@2", 0), Partition("pages@2", 1)
STALL_SECONDS = 60


def looks(*progress: Progress, every_seconds: float = 30) -> list[str]:
    """Return what a watch says of each, one after the other."""
    watch = StallWatch(STALL_SECONDS)
    return [watch.look(each, number * every_seconds) for number, each in enumerate(progress)]


def waiting(committed: int, lag: int = 5, in_flight: int = 0) -> Progress:
    return Progress({FIRST: lag}, {FIRST: committed}, in_flight)


def test_a_partition_with_records_and_no_commit_is_reported_once_the_deadline_passes() -> None:
    said = looks(waiting(7), waiting(7), waiting(7))

    assert said[:2] == ["", ""]
    assert said[2] == ("no commit for 60 seconds (pipeline.stall_seconds): pages-0 has records to read")


def test_any_commit_begins_the_wait_anew() -> None:
    assert looks(*(waiting(committed) for committed in (7, 7, 8, 8, 9))) == [""] * 5


def test_a_partition_without_records_may_wait_for_ever() -> None:
    assert looks(*[waiting(7, lag=0)] * 9) == [""] * 9


def test_one_partition_that_stalls_is_reported_among_others_that_move() -> None:
    progress = [Progress({FIRST: 5, SECOND: 5}, {FIRST: 7, SECOND: at}, 0) for at in range(3)]

    assert [bool(each) for each in looks(*progress)] == [False, False, True]


def test_pages_in_flight_that_are_never_committed_are_reported_too() -> None:
    """Everything is read, so there is no lag, and the pipeline has locked itself."""
    said = looks(*[waiting(7, lag=0, in_flight=3)] * 3)

    assert said[2].endswith("pages are in flight")


def test_a_newly_assigned_partition_has_the_whole_time() -> None:
    elsewhere = Progress({}, {}, 0)

    assert looks(waiting(7), waiting(7), elsewhere, waiting(7), waiting(7)) == [""] * 5


def test_a_time_without_a_page_in_work_does_not_count() -> None:
    watch = StallWatch(STALL_SECONDS)
    watch.look(waiting(7), 0)
    watch.rest()

    assert watch.look(waiting(7), 100) == ""
    assert watch.look(waiting(7), 159.9) == ""
    assert watch.look(waiting(7), 160)


def taking_over(*partitions: Partition, committed: int = 7) -> Progress:
    return Progress({}, {FIRST: committed}, 0, untaken=partitions)


def test_a_partition_that_is_never_taken_over_is_reported() -> None:
    said = looks(*[taking_over(FIRST)] * 3)

    assert said[:2] == ["", ""]
    assert said[2].endswith("pages-0 is not taken over")


def test_a_rebalance_and_its_take_over_give_a_partition_that_waits_no_new_time() -> None:
    said = looks(waiting(7), taking_over(FIRST), waiting(7), taking_over(FIRST), waiting(8), waiting(8))

    assert [bool(each) for each in said] == [False, False, True, True, False, False]


def test_a_take_over_that_ends_in_a_partition_without_records_ends_the_wait() -> None:
    assert looks(*[taking_over(FIRST), waiting(7, lag=0)] * 5) == [""] * 10
