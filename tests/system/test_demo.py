"""`demo`: a crawl whose truth is known, judged before one's eyes."""

from pathlib import Path

from tests.system.conftest import call


def test_the_demo_finds_duplicates_and_judges_them_against_the_truth(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl.jsonl"

    run = call("demo", "--pages", "300", "--write", str(crawl))

    said = run.stdout.decode()
    assert run.returncode == 0, run.stderr
    assert "exact copy" in said
    assert "False pairs:" in said
    assert "What to type next" in said
    assert call("dedup", str(crawl)).stdout.count(b"io.neardup.duplicate.v1") > 10


def test_a_crawl_too_small_to_hold_its_truth_is_refused() -> None:
    run = call("demo", "--pages", "3")

    assert run.returncode == 2
    assert b"at least 32 pages" in run.stderr
