"""Texts and passages in an archive, and overlaps with them."""

import json
from pathlib import Path

from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.texts import KeptTexts
from neardup_stream.indexes.passages import PassageIndex
from tests.pipelines import essay
from tests.system.archives.frozen_pages import PAGES, json_of
from tests.system.conftest import call


def test_texts_are_frozen_where_they_are_asked_for_and_not_left_when_forgotten(crawl: Path) -> None:
    path, rewritten = crawl.with_name("texts.nda"), crawl.with_name("rewritten.nda")

    frozen = call("freeze", str(crawl), "-o", str(path), "--with", "texts")
    forgotten = call("archive", "forget", "https://example.com/7", str(path))
    rewrite = call("archive", "rewrite", str(path), "-o", str(rewritten))
    facts = json_of("archive", "info", str(path))
    unfit = call("archive", "query", "-", str(path), stdin=PAGES[0])

    assert (frozen.returncode, forgotten.returncode, rewrite.returncode) == (0, 0, 0)
    assert (facts["keys"], facts["pages"]) == (0, 30)
    archive = LoggedArchive(path)
    rows = archive.log.find([f"https://example.com/{n}" for n in range(30)])
    assert [KeptTexts(archive).text(row) for row in rows.values()] == [essay(n) for n in range(30)]
    left = KeptTexts(LoggedArchive(rewritten))
    assert [left.text(row) for row in rows.values()] == [essay(n) if n != 7 else "" for n in range(30)]
    assert call("archive", "check", str(rewritten)).returncode == 0
    assert unfit.returncode == 2
    assert b"'--with archive'" in unfit.stderr


def test_overlaps_name_the_page_and_the_passage_until_it_is_forgotten(crawl: Path) -> None:
    path, rewritten = crawl.with_name("passages.nda"), crawl.with_name("rewritten.nda")
    said = essay(7).split()
    quoting, short = crawl.with_name("quoting.txt"), crawl.with_name("short.html")
    quoting.write_text(f"Our own words. {' '.join(said[10:60])}. Our own words again, naïvely.")
    short.write_text("<p>Too short.")
    against = (str(quoting), str(short), "--against", str(path), "--against", f"{path.parent}/./{path.name}")

    frozen = call("freeze", str(crawl), "-o", str(path), "--with", "passages,texts")
    found, none = map(json.loads, call("overlap", *against).stdout.splitlines())
    wrong = call("overlap", *against, "--common", "2000")
    forgotten = call("archive", "forget", "https://example.com/7", str(path))
    after = call("overlap", *against)
    rewrite = call("archive", "rewrite", str(path), "-o", str(rewritten))

    assert (frozen.returncode, forgotten.returncode, rewrite.returncode) == (0, 0, 0)
    (overlap,) = found["overlaps"]
    (passage,) = overlap["passages"]
    assert (overlap["id"], overlap["is_exact"], passage["tokens"]) == ("https://example.com/7", True, 50)
    assert quoting.read_text()[passage["start"] : passage["end"]] == " ".join(said[10:60])
    assert essay(7)[passage["page_start"] : passage["page_end"]] == " ".join(said[10:60])
    assert (overlap["share"], overlap["page_share"]) == (round(50 / found["tokens"], 4), 0.25)
    assert none["overlaps"] == []
    assert (wrong.returncode, b"--common 1000" in wrong.stderr) == (2, True)
    assert [json.loads(line)["overlaps"] for line in after.stdout.splitlines()] == [[], []]
    left = PassageIndex.open(rewritten)
    assert left.overlaps(essay(7)).found == ()
    assert [each.page.id for each in left.overlaps(essay(8)).found] == ["https://example.com/8"]


def test_overlaps_escape_file_names_that_are_not_utf_8(crawl: Path) -> None:
    path, quoting = crawl.with_name("caf\udce9.nda"), crawl.with_name("caf\udce9.txt")
    quoting.write_text(essay(7))

    frozen = call("freeze", str(crawl), "-o", str(path), "--with", "passages")
    found = call("overlap", str(quoting), "--against", str(path))

    assert (frozen.returncode, found.returncode) == (0, 0), found.stderr
    answer = json.loads(found.stdout)
    assert answer["id"] == answer["url"] == str(crawl.with_name("caf\\xe9.txt"))
    assert {each["archive"] for each in answer["overlaps"]} == {"caf\\xe9.nda"}


def test_overlaps_name_the_places_of_what_is_no_page(crawl: Path) -> None:
    path, pages = crawl.with_name("passages.nda"), crawl.with_name("pages.jsonl")
    deep, other = crawl.with_name("deep.html"), crawl.with_name("other.jsonl")
    deep.write_text("<div>" * 30)
    pages.write_bytes(PAGES[0] + b"\nnone\n")
    other.write_bytes(b"none\n")
    call("freeze", str(crawl), "-o", str(path), "--with", "passages")

    files = map(str, (deep, pages, other))
    run = call("overlap", *files, "--against", str(path), "--set", "limits.max_depth=20")

    *letters, summary = run.stderr.decode().splitlines()
    assert summary == "4 records: 1 compared, 3 dead letters"
    assert [line.split(": ")[:3] for line in letters] == [
        ["dead letter", str(deep), "over_limit"],
        ["dead letter", f"{pages}, line 2", "not_json"],
        ["dead letter", f"{other}, line 1", "not_json"],
    ]


def test_an_archive_without_passages_says_how_to_freeze_them(archive: Path) -> None:
    run = call("overlap", "-", "--against", str(archive), stdin=PAGES[0])

    assert run.returncode == 2
    assert b"frozen without passages" in run.stderr
