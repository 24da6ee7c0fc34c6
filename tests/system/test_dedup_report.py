"""`dedup --report`, over real files."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from tests.pipelines import essay, page_json
from tests.servers.process import HEARING_SIGNALS, wait_until
from tests.servers.program import environment
from tests.system.conftest import call


def test_a_report_shows_what_was_found_with_texts_side_by_side(tmp_path: Path) -> None:
    source, report = tmp_path / "crawl.jsonl", tmp_path / "report.html"
    pages = [
        page_json("a", essay(1)),
        page_json("b", essay(1, edits=[5])),
        page_json("c", essay(2)),
        json.dumps({"url": "https://other.example/<b>", "text": essay(2)}).encode(),
        b"rubbish",
    ]
    source.write_bytes(b"\n".join(pages))

    run = call("dedup", str(source), "--events", str(tmp_path / "events"), "--report", str(report))

    page = report.read_text(encoding="utf-8")
    assert run.returncode == 0, run.stderr
    assert "5 records of" in page
    assert "2 duplicates on 2 hosts" in page
    assert "2 clusters of two or more pages" in page
    assert "leaves 2 pages out" in page
    assert page.count('<div class="pair">') == 2
    assert "<del>" in page
    assert "https://other.example/&lt;b&gt;" in page or "https://other.example/%3Cb%3E" in page


def test_a_report_never_shows_a_text_that_was_not_compared(tmp_path: Path) -> None:
    source, report = tmp_path / "crawl.jsonl", tmp_path / "report.html"
    pages = [page_json("a", essay(1)), page_json("b", essay(1)), page_json("a", essay(2))]
    source.write_bytes(b"\n".join(pages))

    run = call("dedup", str(source), "--events", str(tmp_path / "events"), "--report", str(report))

    page = report.read_text(encoding="utf-8")
    assert run.returncode == 0, run.stderr
    assert "1 duplicate on 1 host" in page
    assert "word2x" not in page


def test_a_second_signal_leaves_the_earlier_report(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    report.write_bytes(b"of an earlier run")
    command = [sys.executable, "-m", "neardup_daemon", "dedup", "-", "--report", str(report)]

    with subprocess.Popen(
        [*HEARING_SIGNALS, *command, "--events", str(tmp_path / "events.jsonl")],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment({}),
    ) as run:
        assert run.stdin
        try:
            run.stdin.writelines(page_json(name, essay(1)) + b"\n" for name in "ab")
            run.stdin.flush()
            wait_until(lambda: any(path.stat().st_size for path in tmp_path.glob("events*.partial")), 60)
            for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
                run.send_signal(number)
            ended = run.wait(60)
        finally:
            run.kill()

    assert ended in {128 + signal.SIGTERM, 128 + signal.SIGINT}
    assert report.read_bytes() == b"of an earlier run"


def test_a_report_that_cannot_be_written_ends_the_run_before_it_reads(tmp_path: Path) -> None:
    source = tmp_path / "crawl.jsonl"
    source.write_bytes(page_json("a", essay(1)))

    run = call("dedup", str(source), "--report", str(tmp_path / "nowhere" / "report.html"))

    assert run.returncode == 2
    assert b"cannot open" in run.stderr
