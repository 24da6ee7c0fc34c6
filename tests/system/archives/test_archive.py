"""`archive`: what one holds, its check, forgets and rewrites."""

from pathlib import Path

import pytest

from neardup_stream.archive.frozen import FrozenIndex
from tests.pipelines import essay, page_json
from tests.system.archives.frozen_pages import PAGES, json_of
from tests.system.conftest import call


def test_a_frozen_page_is_found_by_its_text_under_another_address(archive: Path) -> None:
    asked = page_json("copy", essay(7))

    answer = json_of("archive", "query", "-", str(archive), stdin=asked)

    assert answer["entries"] == []
    assert [match["id"] for match in answer["matches"]] == ["https://example.com/7"]
    assert answer["matches"][0]["kind"] == "exact"
    assert answer["matches"][0]["archive"] == "crawl.nda"


def test_an_archive_says_what_it_holds(archive: Path) -> None:
    facts = json_of("archive", "info", str(archive))

    assert facts["pages"] == 30
    assert facts["bytes"] == archive.stat().st_size
    assert facts["facts"]["schema"]["bands"] == 12


def test_settings_of_another_schema_are_refused_by_name(archive: Path) -> None:
    run = call("archive", "query", "-", str(archive), "--set", "sketch.bins=128", stdin=PAGES[0])

    assert run.returncode == 2
    assert b"sketch.bins is 128, the archive has 160" in run.stderr


def test_another_kind_of_file_is_2_and_a_damaged_archive_4(archive: Path, crawl: Path) -> None:
    other = call("archive", "check", str(crawl))
    archive.chmod(0o600)
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.write_bytes(content)
    damaged = call("archive", "check", str(archive))

    assert other.returncode == 2
    assert b"no archive" in other.stderr
    assert damaged.returncode == 4
    assert b"is damaged in section" in damaged.stderr


def test_a_forgotten_page_matches_nothing_and_leaves_a_rewritten_archive(archive: Path) -> None:
    forgotten = call(
        "archive", "forget", "HTTPS://example.com:443/7", "https://example.com/none", str(archive)
    )
    asked = page_json("copy", essay(7))
    rewritten = archive.with_name("rewritten.nda")
    rewrite = call("archive", "rewrite", str(archive), "-o", str(rewritten))

    assert forgotten.stdout == b"1 forgotten, 0 were before\n"
    assert f"neardup-stream: {archive} has no page 'https://example.com/none'" in forgotten.stderr.decode()
    assert forgotten.returncode == 2
    assert rewrite.returncode == 0, rewrite.stderr
    assert call("archive", "check", str(rewritten)).returncode == 0
    for path in (archive, rewritten):
        assert json_of("archive", "query", "-", str(path), stdin=asked)["matches"] == []
        assert len(json_of("archive", "query", "-", str(path), stdin=PAGES[8])["matches"]) == 1
    assert json_of("archive", "query", "https://example.com/7", str(archive))["entries"][0]["is_forgotten"]
    for words in (("query", "https://example.com/7"), ("forget", "https://example.com/7")):
        missing = call("archive", *words, str(rewritten))
        assert missing.returncode == 2
        assert f"{rewritten} has no page 'https://example.com/7'" in missing.stderr.decode()
    index = FrozenIndex(rewritten)
    assert all(page.url != "https://example.com/7" for page in index.log.all_pages())


@pytest.mark.parametrize("command", ["forget", "query"])
def test_arguments_in_the_wrong_order_are_answered_with_the_right_one(archive: Path, command: str) -> None:
    run = call("archive", command, str(archive), "https://example.com/7")

    assert run.returncode == 2
    meant = "ID…" if command == "forget" else "PAGE"
    assert f"archive {command} {meant} {archive}" in run.stderr.decode()


@pytest.mark.parametrize("command", ["forget", "query"])
def test_a_word_that_is_too_long_for_a_file_is_an_archive_that_cannot_be_read(command: str) -> None:
    run = call("archive", command, "https://example.com/7", "x" * 300)

    assert run.returncode == 2
    assert "File name too long" in run.stderr.decode()


def test_an_archive_is_rewritten_in_its_place_and_its_forgets_still_hold(archive: Path) -> None:
    call("archive", "forget", "https://example.com/7", str(archive))

    refused = call("archive", "rewrite", str(archive), "-o", str(archive))
    rewrite = call("archive", "rewrite", str(archive), "-o", str(archive), "--force")
    again = call("archive", "forget", "https://example.com/8", str(archive))

    assert (refused.returncode, rewrite.returncode, again.returncode) == (2, 0, 0)
    assert rewrite.stdout.endswith(b": without 1 page\n")
    assert call("archive", "check", str(archive)).returncode == 0
    for number, count in ((7, 0), (8, 0), (9, 1)):
        asked = page_json("copy", essay(number))
        assert len(json_of("archive", "query", "-", str(archive), stdin=asked)["matches"]) == count
    assert all(page.url != "https://example.com/7" for page in FrozenIndex(archive).log.all_pages())
