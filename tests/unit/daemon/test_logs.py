import io
import json
import logging
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import click
import pytest
from neardup_daemon.logs import (
    LogFormat,
    configure_command_logs,
    configure_logs,
    log_event,
    write_warnings_as_text,
)
from neardup_daemon.progress import count_progress
from neardup_daemon.repeated_lines import RepeatedLines

logger = logging.getLogger("daemon.test")


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def test_a_line_is_one_json_object_with_the_event_and_its_fields(stream: io.StringIO) -> None:
    configure_logs("info", "json", stream)

    log_event(logger, "stopped", pages_count=3, reason="two\nlines")

    (line,) = stream.getvalue().splitlines()
    written = json.loads(line)
    assert written.pop("ts").endswith("Z")
    assert written == {
        "level": "info",
        "logger": "daemon.test",
        "event": "stopped",
        "pages_count": 3,
        "reason": "two\nlines",
    }


@pytest.mark.parametrize(
    ("is_terminal", "time"),
    [(True, r"\d\d:\d\d:\d\d"), (False, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")],
    ids=["terminal", "file"],
)
def test_a_line_for_a_person_has_the_event_and_its_fields(
    *, is_terminal: bool, time: str, stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    configure_logs("info", "text", stream)

    log_event(logger, "stopped", pages_count=3)

    written, _, rest = stream.getvalue().partition(" ")
    assert re.fullmatch(time, written)
    assert rest == "info    stopped  pages_count=3\n"


def test_a_message_that_a_library_repeats_is_written_once_a_minute(stream: io.StringIO) -> None:
    configure_logs("info", "json", stream)
    library = logging.getLogger("aiokafka.client")

    for one in (library, logger):
        for second in range(0, 130, 2):
            record = one.makeRecord(one.name, logging.ERROR, __file__, 1, "unable to connect", (), None)
            record.created = float(second)
            one.handle(record)

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    ours = [line for line in lines if line["logger"] == logger.name]
    theirs = [line for line in lines if line["logger"] == library.name]
    assert len(ours) == 65
    assert [line.get("repeats") for line in theirs] == [None, 29, 29]


def test_a_clock_that_is_set_back_does_not_silence_a_library(stream: io.StringIO) -> None:
    configure_logs("info", "json", stream)
    library = logging.getLogger("aiokafka.client")

    for second in (7200, 7202, 3600, 3602, 3660):
        record = library.makeRecord(library.name, logging.ERROR, __file__, 1, "unable to connect", (), None)
        record.created = float(second)
        library.handle(record)

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line.get("repeats") for line in lines] == [None, 1, 1]


def test_a_message_that_comes_among_many_others_keeps_its_count(stream: io.StringIO) -> None:
    configure_logs("info", "json", stream)
    library = logging.getLogger("aiokafka.client")

    for second in range(61):
        for text in ("unable to connect", *(f"attempt {10 * second + each}" for each in range(10))):
            record = library.makeRecord(library.name, logging.ERROR, __file__, 1, text, (), None)
            record.created = float(second)
            library.handle(record)

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line.get("repeats") for line in lines if "unable" in line["event"]] == [None, 59]


def test_a_message_with_wrong_arguments_raises_nothing_in_the_library(
    stream: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs("info", "json", stream)

    logging.getLogger("aiokafka.client").error("%d attempts", "many")

    assert "--- Logging error ---" in capsys.readouterr().err


def test_threads_of_a_library_may_log_at_once() -> None:
    repeated, library = RepeatedLines(["urllib3"]), logging.getLogger("urllib3.connectionpool")
    usual = sys.getswitchinterval()

    def written(thread: int) -> int:
        texts = (f"attempt {attempt} of thread {thread}" for attempt in range(4_000))
        records = [library.makeRecord(library.name, 30, __file__, 1, text, (), None) for text in texts]
        return sum(map(repeated.filter, records))

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(written, range(8))) == 32_000
    finally:
        sys.setswitchinterval(usual)


def test_other_messages_of_a_library_and_tracebacks_are_all_written(stream: io.StringIO) -> None:
    configure_logs("info", "json", stream)
    library = logging.getLogger("aiokafka.client")

    for node in range(300):
        library.warning("node %d is gone", node)
    for _ in range(2):
        library.error("failed", exc_info=ValueError("broken"))

    assert len(stream.getvalue().splitlines()) == 302


def test_a_traceback_stays_inside_its_object(stream: io.StringIO) -> None:
    configure_logs("info", "json", stream)

    try:
        int("broken")
    except ValueError:
        logger.exception("this is a bug")

    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["traceback"].endswith("'broken'")


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_a_password_never_reaches_a_log(stream: io.StringIO, log_format: LogFormat) -> None:
    configure_logs("info", log_format, stream)

    log_event(logger, "connected to redis://admin:hunter2@cache", url="rediss://:hunter2@cache:6379")

    assert "hunter2" not in stream.getvalue()
    assert stream.getvalue().count("***@cache") == 2


def test_libraries_are_heard_from_warning_on(stream: io.StringIO) -> None:
    configure_logs("debug", "json", stream)

    logging.getLogger("aiokafka.consumer").info("rebalancing")
    logging.getLogger("aiokafka.consumer").warning("lost")
    logger.debug("detail")

    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["lost", "detail"]


def test_lines_below_the_level_are_left_out(stream: io.StringIO) -> None:
    configure_logs("warning", "json", stream)

    log_event(logger, "started")

    assert stream.getvalue() == ""


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_command_logs_text_to_a_terminal_and_the_configured_format_elsewhere(
    *, is_terminal: bool, stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    monkeypatch.setattr("sys.stderr", stream)
    configure_command_logs("info", "json")

    log_event(logger, "started")

    assert stream.getvalue().endswith("started\n") == is_terminal


def test_a_warning_before_logs_are_set_up_has_its_fields(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(logging, "lastResort", None)

    write_warnings_as_text()
    log_event(logger, "partial_output_kept", level=logging.WARNING, path="/out/.partial")
    log_event(logger, "stopped")

    assert capsys.readouterr().err.endswith(" warning partial_output_kept  path=/out/.partial\n")


@pytest.mark.parametrize("is_configured_first", [True, False])
def test_a_line_is_written_above_the_progress_line(
    *, is_configured_first: bool, stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    if is_configured_first:
        configure_command_logs("info", "json")

    with count_progress("records") as show:
        if not is_configured_first:
            configure_command_logs("info", "json")
        assert show
        show(5)
        log_event(logger, "stopped")
    log_event(logger, "written")

    lines = re.split("[\r\n]+", click.unstyle(stream.getvalue()))
    assert any(" records, " in line for line in lines)
    assert [line[9:] for line in lines if "info" in line] == ["info    stopped", "info    written"]
