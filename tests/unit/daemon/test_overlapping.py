"""`overlap` reads untrusted pages within the limits of one page."""

from pathlib import Path

import msgspec
import pytest
from neardup_daemon.inspect.overlapping import OverlapRequest, PageOverlaps, find_overlaps
from neardup_daemon.prepared_tally import PreparedTally
from neardup_daemon.settings.settings import Settings

from neardup_stream.errors import ConfigError
from tests.unit.streams.archives import resource, warc_record

HEAVY = "<p>".join(f"word{number}" for number in range(250_000))


async def test_a_page_over_the_limits_is_a_complaint_and_the_next_page_is_looked_for(tmp_path: Path) -> None:
    heavy, light = tmp_path / "heavy.html", tmp_path / "light.txt"
    heavy.write_text(HEAVY)
    light.write_text("some words")
    settings = Settings()
    settings = msgspec.structs.replace(
        settings, limits=msgspec.structs.replace(settings.limits, page_seconds=0.1)
    )

    request = OverlapRequest((str(heavy), str(light)), ())
    complaint, answer = [each async for each in find_overlaps(request, settings, PreparedTally())]

    assert isinstance(complaint, str)
    assert "page_seconds" in complaint
    assert isinstance(answer, tuple)
    assert isinstance(answer[0], PageOverlaps)
    assert answer[0].id == str(light)


async def test_records_without_a_page_are_counted_and_five_dead_letters_shown(tmp_path: Path) -> None:
    crawl, bad, tally = tmp_path / "crawl.warc", tmp_path / "bad.jsonl", PreparedTally()
    uri = "http://a.example/"
    asked = warc_record("request", uri, b"GET / HTTP/1.1\r\n\r\n", "application/http")
    crawl.write_bytes(asked + resource(uri, b"some words", "text/plain") + asked)
    bad.write_bytes(b"none\n" * 7)

    request = OverlapRequest((str(crawl), str(bad)), ())
    found = [each async for each in find_overlaps(request, Settings(), tally)]

    letters = [each.split(": ")[:2] for each in found if isinstance(each, str)]
    assert letters == [[f"{bad}, line {number}", "not_json"] for number in range(1, 6)]
    assert str(tally) == "10 records: 1 compared, 7 dead letters, 2 skipped (2 warc_type)"


async def test_a_file_of_another_kind_is_refused_with_all_endings_that_are_read(tmp_path: Path) -> None:
    paper = tmp_path / "paper.pdf"
    paper.write_bytes(b"%PDF")

    with pytest.raises(ConfigError, match=r"none of \.jsonl, .*, \.txt, \.md, \.html, \.htm$"):
        await anext(find_overlaps(OverlapRequest((str(paper),), ()), Settings(), PreparedTally()))
