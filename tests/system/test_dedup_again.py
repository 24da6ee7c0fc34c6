"""What a run of `dedup` over a kept index failed to write, the same command writes when it is repeated."""

import json
import signal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipelines import essay, page_json
from tests.servers.process import is_paused, wait_until
from tests.servers.program import piped_program
from tests.system.conftest import call


def parquet_pages(folder: Path) -> list[str]:
    """Two files with different columns, and a page in the second that is like one in the first."""
    first, second = folder / "first.parquet", folder / "second.parquet"
    pq.write_table(pa.table({"url": ["https://a.example/"], "text": [essay(1)]}), first)
    pq.write_table(pa.table({"url": ["https://b.example/"], "text": [essay(1)], "score": [7]}), second)
    return [str(first), str(second)]


def test_all_events_are_written_again_where_an_output_failed_after_the_last_page(tmp_path: Path) -> None:
    events, kept, report = (tmp_path / name for name in ("events.jsonl", "kept.jsonl", "report.html"))
    command = ["dedup", *parquet_pages(tmp_path), "--state", str(tmp_path / "state"), "--events", str(events)]

    failed = call(*command, "--keep-representatives", str(tmp_path / "kept.parquet"))
    assert failed.returncode == 2
    assert b"has other columns" in failed.stderr
    assert not events.exists()
    again = call(*command, "--keep-representatives", str(kept), "--report", str(report))

    assert again.returncode == 0, again.stderr
    assert len(events.read_bytes().splitlines()) == 1
    assert len(kept.read_bytes().splitlines()) == 1
    assert "1 duplicate on 1 host" in report.read_text(encoding="utf-8")


def test_signals_after_all_was_written_leave_nothing_to_write_again(tmp_path: Path) -> None:
    events, state = tmp_path / "events.jsonl", str(tmp_path / "state")
    command = ["dedup", *parquet_pages(tmp_path), "--state", state, "--events", str(events)]

    with piped_program([*command, "--set", "failpoints.stop=after cluster_store.trim 1"]) as run:
        wait_until(lambda: is_paused(run.child.pid), 60)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
            run.child.send_signal(number)
        ended = run.child.wait(60)
    written = events.read_bytes()
    again = call(*command)

    assert ended == 0
    assert len(written.splitlines()) == 1
    assert again.returncode == 0, again.stderr
    assert events.read_bytes() == b""


def test_a_run_that_wrote_all_leaves_nothing_to_write_again(tmp_path: Path) -> None:
    command = ["dedup", *parquet_pages(tmp_path), "--state", str(tmp_path / "state")]

    first = call(*command, "--keep-representatives", str(tmp_path / "kept.jsonl"))
    second = call(*command)

    assert len(first.stdout.splitlines()) == 1
    assert second.stdout == b""


def test_the_event_of_a_page_that_comes_again_is_written_though_its_first_file_is_never_read_again(
    tmp_path: Path,
) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_bytes(page_json("a", essay(1)) + b"\n" + page_json("b", essay(1)) + b"\n")
    second.write_bytes(page_json("b", essay(1)) + b"\n")
    command = ["dedup", "--state", str(tmp_path / "state"), "--events", str(tmp_path / "events.jsonl")]

    killed = call(*command, "--set", "failpoints.kill=before cluster_store.trim 1", str(first))
    after = call(*command, str(second))

    assert (killed.returncode, after.returncode) == (-signal.SIGKILL, 0)
    (event,) = (tmp_path / "events.jsonl").read_bytes().splitlines()
    assert json.loads(event)["data"]["page"]["id"] == "https://example.com/b"


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("crawl.jsonl", "--keep-representatives=nowhere/kept.jsonl"),
        ("crawl.warc", "--write-warc=nowhere/out.warc.gz"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_a_page_is_read(
    tmp_path: Path, name: str, option: str
) -> None:
    crawl, state = tmp_path / name, tmp_path / "state"
    crawl.write_bytes(page_json("a", essay(1)))

    run = call("dedup", str(crawl), "--state", str(state), option)

    assert run.returncode == 2
    assert b"cannot open 'nowhere/" in run.stderr
    assert not state.exists()
