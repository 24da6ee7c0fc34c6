"""`dedup`: the pipeline over files and pipes, as a process."""

import gzip
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipelines import essay, page_json
from tests.servers.process import HEARING_SIGNALS, is_paused, wait_until
from tests.servers.program import environment, piped_program
from tests.system.conftest import call


def lines(*pages: bytes) -> bytes:
    return b"".join(page + b"\n" for page in pages)


def pairs(events: bytes) -> list[tuple[str, str]]:
    found = [json.loads(line)["data"] for line in events.splitlines()]
    return [(data["page"]["id"][-1], match["id"][-1]) for data in found for match in data["matches"]]


MONDAY = lines(page_json("a", essay(1)), page_json("b", essay(2)), page_json("c", essay(1)))
TUESDAY = lines(page_json("d", essay(2)), page_json("e", essay(3)))


def test_events_go_to_standard_output_and_the_summary_to_standard_error(tmp_path: Path) -> None:
    crawl = tmp_path / "monday.jsonl.gz"
    crawl.write_bytes(gzip.compress(MONDAY))

    run = call("dedup", str(crawl))

    assert (run.returncode, pairs(run.stdout)) == (0, [("c", "a")])
    assert "3 records in" in run.stderr.decode()
    assert "2 unique, 1 duplicate" in run.stderr.decode()


def test_standard_input_is_a_file_too() -> None:
    assert pairs(call("dedup", "-", stdin=MONDAY).stdout) == [("c", "a")]


def test_the_same_file_gives_the_same_bytes_but_for_the_ids_of_events_and_clusters(tmp_path: Path) -> None:
    """Those are made with the token and the secret of each index."""
    crawl = tmp_path / "monday.jsonl"
    crawl.write_bytes(MONDAY)

    first, again = (
        re.sub(
            rb'"specversion":"1.0","id":"[0-9a-f]+|"index":"[0-9a-f]+|"cluster":\{"id":"[0-9a-f]+',
            b"",
            call("dedup", str(crawl), "--events-unique").stdout,
        )
        for _ in range(2)
    )

    assert first == again
    assert len(first.splitlines()) == 3


def test_a_state_refuses_a_plan_by_which_its_clusters_would_be_elsewhere(tmp_path: Path) -> None:
    def dedup(expected_pages: int) -> subprocess.CompletedProcess[bytes]:
        words = ("--state", str(tmp_path), "--set", f"index.expected_pages={expected_pages}")
        return call("dedup", "-", *words, stdin=MONDAY)

    first, changed, again = (dedup(expected_pages) for expected_pages in (100, 500, 100))

    assert (first.returncode, changed.returncode, again.returncode) == (0, 2, 0)
    assert b"index.expected_pages is 65 to 128 there and 257 to 512 here" in changed.stderr


def test_a_state_directory_remembers_the_crawl_before(tmp_path: Path) -> None:
    state = str(tmp_path / "state")

    monday = call("dedup", "-", "--state", state, stdin=MONDAY)
    tuesday = call("dedup", "-", "--state", state, "--set", "http.port=0", stdin=TUESDAY)

    assert (pairs(monday.stdout), pairs(tuesday.stdout)) == ([("c", "a")], [("d", "b")])


def test_a_finished_file_is_not_reported_again(tmp_path: Path) -> None:
    crawl = tmp_path / "monday.jsonl"
    crawl.write_bytes(MONDAY)
    state = str(tmp_path / "state")

    runs = [call("dedup", str(crawl), "--state", state) for _ in range(2)]

    assert [pairs(run.stdout) for run in runs] == [[("c", "a")], []]
    assert "3 superseded" in runs[1].stderr.decode()


def test_clusters_are_written_at_the_end_with_their_members(tmp_path: Path) -> None:
    clusters = tmp_path / "clusters.jsonl"

    run = call("dedup", "-", "--clusters", str(clusters), stdin=MONDAY + TUESDAY)

    assert run.returncode == 0
    written = [json.loads(line) for line in clusters.read_bytes().splitlines()]
    assert [(each["representative"][-1], [page[-1] for page in each["members"]]) for each in written] in (
        [("a", ["a", "c"]), ("b", ["b", "d"])],
        [("b", ["b", "d"]), ("a", ["a", "c"])],
    )


def test_dead_letters_are_counted_shown_and_written(tmp_path: Path) -> None:
    letters = tmp_path / "dead.jsonl"
    bad = [b"json failed to parse"] * 7

    run = call("dedup", "-", "--dead-letters", str(letters), stdin=lines(*bad) + MONDAY)

    assert run.returncode == 0
    assert "7 dead letters" in run.stderr.decode()
    assert run.stderr.decode().count("dead letter:") == 5
    assert len(letters.read_bytes().splitlines()) == 7
    assert json.loads(letters.read_bytes().splitlines()[0])["value"] == "json failed to parse"


def test_an_empty_input_is_no_error() -> None:
    run = call("dedup", "-")

    assert (run.returncode, run.stdout) == (0, b"")
    assert "0 records" in run.stderr.decode()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.jsonl"], "nowhere.jsonl: no such file"),
        (["-", "--state", "x", "--redis"], "choose"),
        (["-", "--events", "/nowhere/events.jsonl"], "/nowhere/events.jsonl"),
        (["-", "--dead-letters", "/dev/null/letters.jsonl"], "cannot open '/dev/null/letters.jsonl'"),
        (["-", "--clusters", "c.jsonl", "--set", "clusters.rule=off"], "clusters.rule"),
        (["-", "--write-warc", "o.gz", "--set", "clusters.rule=off"], "--write-warc needs clusters"),
        (["-", "--clusters", "c.txt"], "'c.txt' must end in .jsonl, .jl, .ndjson, .parquet to hold clusters"),
        (["-", "--workers", "65"], "--workers 65: it must be from 1 to 64"),
        (["-", "--workers", "0"], "--workers 0: it must be from 1 to 64"),
        ([], "FILE"),
    ],
    ids=[
        "missing-file",
        "two-stores",
        "unwritable-events",
        "dead-letters-below-a-file",
        "no-clusters",
        "revisits-without-clusters",
        "clusters-of-an-unknown-kind",
        "too-many-workers",
        "no-workers",
        "no-file",
    ],
)
def test_what_cannot_be_is_said_in_one_line(words: list[str], message: str) -> None:
    run = call("dedup", *words)

    assert run.returncode == 2
    assert message in run.stderr.decode()
    assert b"Traceback" not in run.stderr


@pytest.mark.parametrize(
    "flags",
    [["--events", "{}"], ["--dead-letters", "{}"], ["--clusters", "{}"]],
    ids=["events", "dead-letters", "clusters"],
)
def test_an_input_is_never_overwritten(tmp_path: Path, flags: list[str]) -> None:
    crawl, link = tmp_path / "monday.jsonl", tmp_path / "link.jsonl"
    crawl.write_bytes(MONDAY)
    link.hardlink_to(crawl)

    run = call("dedup", str(crawl), *(flag.format(link) for flag in flags))

    assert (run.returncode, crawl.read_bytes()) == (2, MONDAY)
    assert "is an input and an output" in run.stderr.decode()


def test_two_outputs_are_two_files(tmp_path: Path) -> None:
    run = call(
        "dedup", "-", "--events", str(tmp_path / "o"), "--dead-letters", f"{tmp_path}/./o", stdin=MONDAY
    )

    assert run.returncode == 2
    assert "are the same output" in run.stderr.decode()


def test_a_killed_run_leaves_the_files_of_the_earlier_one(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    events.write_bytes(b"of the earlier run")

    with piped_program(["dedup", "-", "--events", str(events)]) as run:
        run.stdin.write(MONDAY)
        run.stdin.flush()
        wait_until(lambda: any(path.stat().st_size for path in tmp_path.glob("*.partial")), 60)

    assert events.read_bytes() == b"of the earlier run"


@pytest.mark.parametrize(
    ("number", "is_kept", "code"),
    [
        pytest.param(signal.SIGHUP, False, 129, id="HUP"),
        pytest.param(signal.SIGTERM, False, 143, id="TERM"),
        pytest.param(signal.SIGINT, False, 130, id="INT"),
        pytest.param(signal.SIGINT, True, 0, id="INT-with-a-kept-index"),
    ],
)
def test_a_signal_finishes_what_was_read_and_says_in_the_code_whether_the_next_run_continues_there(
    tmp_path: Path, number: signal.Signals, *, is_kept: bool, code: int
) -> None:
    events, temporary = tmp_path / "events.jsonl", tmp_path / "t"
    temporary.mkdir()
    command = [sys.executable, "-m", "neardup_daemon", "dedup", "-", "--events", str(events)]
    if is_kept:
        command += ["--state", str(tmp_path / "state")]
    environ = {**environment({}), "TMPDIR": str(temporary)}

    with subprocess.Popen(
        [*HEARING_SIGNALS, *command], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environ
    ) as run:
        assert run.stdin
        assert run.stderr
        try:
            run.stdin.write(MONDAY)
            run.stdin.flush()
            wait_until(lambda: any(path.stat().st_size for path in tmp_path.glob("*.partial")), 60)
            run.send_signal(number)
            ended = run.wait(60)
            errors = run.stderr.read()
        finally:
            run.kill()

    assert ended == code
    assert b"stopped before the files were read to their end" in errors
    assert pairs(events.read_bytes()) == [("c", "a")]
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("is_kept", [False, True], ids=["in-memory", "with-state"])
def test_a_signal_after_everything_was_read_changes_nothing(tmp_path: Path, *, is_kept: bool) -> None:
    crawl, events, clusters = (tmp_path / name for name in ("crawl.jsonl", "events.jsonl", "clusters.jsonl"))
    kept = tmp_path / "kept.jsonl"
    crawl.write_bytes(MONDAY)
    outputs = ["--events", str(events), "--clusters", str(clusters), "--keep-representatives", str(kept)]
    outputs += ["--state", str(tmp_path / "state")] if is_kept else []
    stopping = ["--set", "failpoints.stop=before cluster_store.walk"]

    with piped_program(["dedup", str(crawl), *outputs, *stopping]) as run:
        wait_until(lambda: is_paused(run.child.pid), 60)
        run.child.send_signal(signal.SIGTERM)
        run.child.send_signal(signal.SIGCONT)
        ended = run.child.wait(60)
        errors = run.stderr.read()

    assert ended == 0
    assert b"stopped before" not in errors
    assert pairs(events.read_bytes()) == [("c", "a")]
    assert clusters.read_bytes()
    assert kept.read_bytes()
    if is_kept:
        assert call("dedup", str(crawl), "--state", str(tmp_path / "state")).stdout == b""


def test_a_hangup_that_is_ignored_stops_nothing() -> None:
    command = ["nohup", sys.executable, "-m", "neardup_daemon", "dedup", "-"]

    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stdin
        assert run.stdout
        try:
            run.stdin.write(MONDAY)
            run.stdin.flush()
            first = run.stdout.readline()
            run.send_signal(signal.SIGHUP)
            rest, _ = run.communicate(TUESDAY, timeout=60)
        finally:
            run.kill()

    assert (run.returncode, pairs(first + rest)) == (0, [("c", "a"), ("d", "b")])


def test_a_damaged_file_ends_with_4_after_all_that_could_be_read(tmp_path: Path) -> None:
    crawl, next_crawl, events = (tmp_path / name for name in ("cut.jsonl.gz", "next.jsonl", "events.jsonl"))
    crawl.write_bytes(gzip.compress(MONDAY) + gzip.compress(MONDAY)[:-9])
    next_crawl.write_bytes(TUESDAY)

    run = call("dedup", str(crawl), str(next_crawl), "--events", str(events))

    assert run.returncode == 4
    assert "cut.jsonl.gz: damaged" in run.stderr.decode()
    assert "records in" in run.stderr.decode()
    assert pairs(events.read_bytes()) == [("c", "a"), ("d", "b")]


def test_a_reader_that_leaves_ends_the_run_quietly(tmp_path: Path) -> None:
    crawl = tmp_path / "many.jsonl"
    crawl.write_bytes(lines(*(page_json(f"p{number}", essay(1)) for number in range(3000))))

    with piped_program(["dedup", str(crawl)]) as run:
        run.stdout.close()
        said = run.stderr.read()
        code = run.child.wait(60)

    assert code == 128 + signal.SIGPIPE
    assert b"Traceback" not in said
