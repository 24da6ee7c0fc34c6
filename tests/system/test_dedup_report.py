"""`dedup --report`, over real files."""

import json
from pathlib import Path

from tests.pipelines import essay, page_json
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
    assert "1 duplicates on 1 hosts" in page
    assert "word2x" not in page


def test_a_report_that_cannot_be_written_ends_the_run_before_it_reads(tmp_path: Path) -> None:
    source = tmp_path / "crawl.jsonl"
    source.write_bytes(page_json("a", essay(1)))

    run = call("dedup", str(source), "--report", str(tmp_path / "nowhere" / "report.html"))

    assert run.returncode == 2
    assert b"cannot open" in run.stderr
