"""What crawlers really write, through `dedup`: two crawls of one site (`tests/data/crawlers`)."""

import json
from pathlib import Path

import pytest

from tests.system.conftest import call

DATA = Path(__file__).parents[1] / "data" / "crawlers"
SITE = "http://127.0.0.1:8765"

WRITTEN = {
    "scrapy": ("scrapy-1.jsonl", "scrapy-2.jsonl", "scrapy"),
    "warcio": ("warcio-1.wacz", "warcio-2.wacz", "none"),
    "browsertrix": ("browsertrix-1.jsonl", "browsertrix-2.jsonl", "browsertrix"),
}


@pytest.mark.parametrize(("first", "second", "preset"), WRITTEN.values(), ids=WRITTEN)
def test_a_second_crawl_of_a_site_is_the_same_pages_again(first: str, second: str, preset: str) -> None:
    run = call("dedup", str(DATA / first), str(DATA / second), "--set", f"page.preset={preset}")

    (told,) = [json.loads(line)["data"] for line in run.stdout.splitlines()]
    summary = run.stderr.decode()
    assert run.returncode == 0
    assert {told["page"]["id"], *(match["id"] for match in told["matches"])} == {
        f"{SITE}/page0.html",
        f"{SITE}/page5.html",
    }
    assert "7 unchanged" in summary
    assert "1 duplicate" in summary
    assert "dead" not in summary
