"""How far long work is, where standard error is no terminal."""

import io
import json
import logging

import pytest
from neardup_daemon.logs import configure_logs
from neardup_daemon.progress import LOG_INTERVAL_SECONDS, ProgressLog, count_progress, share_progress


class SetClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def stream() -> io.StringIO:
    logged = io.StringIO()
    configure_logs("info", "json", logged)
    return logged


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_progress_is_logged_once_in_an_interval_and_not_before_the_first_is_over(stream: io.StringIO) -> None:
    clock = SetClock()
    progress = ProgressLog(clock)
    for second in range(2 * LOG_INTERVAL_SECONDS + 1):
        clock.seconds = 1_000.0 + second
        progress.report("records", second)

    assert [(each["event"], each["work"], each["done"]) for each in lines(stream)] == [
        ("work_progressed", "records", LOG_INTERVAL_SECONDS),
        ("work_progressed", "records", 2 * LOG_INTERVAL_SECONDS),
    ]
    assert all("total" not in each for each in lines(stream))


def test_the_total_is_named_where_it_is_known(stream: io.StringIO) -> None:
    clock = SetClock()
    progress = ProgressLog(clock)
    clock.seconds += LOG_INTERVAL_SECONDS
    progress.report("page records", 5, 20)

    [line] = lines(stream)
    assert (line["done"], line["total"]) == (5, 20)


def test_commands_without_logs_write_it_as_text(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    logging.basicConfig(handlers=[], force=True)
    monkeypatch.setattr("sys.stderr", stream)
    clock = SetClock()
    progress = ProgressLog(clock)
    clock.seconds += LOG_INTERVAL_SECONDS
    progress.report("page records", 5_000, 20_000)

    assert stream.getvalue() == "page records: 5,000 of 20,000\n"


def test_short_work_logs_nothing(stream: io.StringIO) -> None:
    with count_progress("records") as on_records, share_progress("filling the index") as on_slots:
        assert on_records
        on_records(7)
        on_slots(1, 2)

    assert not stream.getvalue()
