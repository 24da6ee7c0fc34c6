"""`plan search` and `search`: what a term search takes, and which pages hold terms."""

import json
from pathlib import Path
from typing import Any

import pytest

from neardup_stream.archive.logged import LoggedArchive
from tests.pipelines import essay, page_json
from tests.system.conftest import call

PAGES = {
    "war": essay(1) + " the cold war",
    "peace": essay(2) + " a cold and wet peace",
    "release": essay(3) + " a press release of the cold peace",
    "short": "secret",
    "tokyo": essay(4) + " 東京都",
    **{str(n): essay(n) for n in range(10, 40)},
}


def test_plan_search_prints_the_worked_example_and_the_exact_values() -> None:
    planned = call(
        "plan", "search", "--pages", "741856", "--terms", "182", "--slices", "8", "--false-drops", "1"
    )
    refused = call("plan", "search", "--pages", "10", "--terms", "182", "--false-drops", "10")

    assert planned.returncode == 0, planned.stderr
    facts = json.loads(planned.stdout)
    assert (facts["bits_set"], facts["approximate"]["width"]) == (1456, 7134)
    assert facts["approximate"]["bytes"] == 661_550_088
    assert facts["least"]["width"] == 7136
    assert facts["lengths"]["one_width_false_drops"] > 50
    assert refused.returncode == 2
    assert b"10 false drops are allowed" in refused.stderr


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    path = tmp_path / "crawl.jsonl"
    path.write_bytes(b"\n".join(page_json(name, text) for name, text in PAGES.items()) + b"\n")
    return path


@pytest.fixture
def archive(crawl: Path) -> Path:
    path = crawl.with_name("crawl.nda")
    frozen = call("freeze", str(crawl), "-o", str(path), "--with", "archive,search")
    assert frozen.returncode == 0, frozen.stderr
    return path


def searched(*words: str, stdin: bytes = b"") -> Any:
    run = call("search", *words, stdin=stdin)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def urls(found: Any, *answers: str) -> set[str]:
    return {page["url"].rpartition("/")[2] for page in found["matches"] if page["answer"] in answers}


def test_a_search_finds_pages_of_any_script_and_settles_them_by_the_files_they_came_from(
    archive: Path, crawl: Path
) -> None:
    query = 'cold AND (war OR peace) AND NOT "press release"'

    unsettled = searched(query, str(archive))
    settled = searched(query, str(archive), "--settle", str(crawl))
    from_standard_input = searched(query, str(archive), "--settle", "-", stdin=crawl.read_bytes())
    japanese = searched("東京", str(archive), "--settle", str(crawl))

    assert unsettled["query"] == query
    assert urls(unsettled, "yes", "maybe") >= {"war", "peace"}
    assert (urls(settled, "yes"), settled["maybe"], settled["expected_false_drops"]) == (
        {"war", "peace"},
        0,
        0,
    )
    assert from_standard_input["matches"] == settled["matches"]
    assert urls(japanese, "yes") == {"tokyo"}


def test_a_pipe_settles_as_its_file_does(archive: Path, crawl: Path) -> None:
    of_a_file = searched("cold", str(archive), str(crawl), "--settle")
    of_a_pipe = searched("cold", str(archive), "/dev/stdin", "--settle", stdin=crawl.read_bytes())

    assert of_a_pipe == of_a_file
    assert urls(of_a_pipe, "yes") >= {"war", "peace", "release"}


def test_a_page_that_changed_since_it_was_frozen_stays_a_maybe(archive: Path, crawl: Path) -> None:
    changed = crawl.with_name("later.jsonl")
    changed.write_bytes(page_json("war", essay(1) + " nothing of it is left") + b"\n")

    found = searched('"cold war"', str(archive), "--settle", str(changed))

    assert (urls(found, "yes"), urls(found, "maybe")) == (set(), {"war"})


@pytest.mark.parametrize("part", ["search", "archive,search"])
def test_a_page_without_a_fingerprint_of_its_text_stays_a_maybe(crawl: Path, part: str) -> None:
    path, changed = crawl.with_name("old.nda"), crawl.with_name("later.jsonl")
    frozen = call("freeze", str(crawl), "-o", str(path), "--with", part)
    assert frozen.returncode == 0, frozen.stderr
    name, word = ("short", "secret") if "archive" in part else ("war", "cold AND war")
    changed.write_bytes(page_json(name, "nothing of it is left") + b"\n")

    found = searched(word, str(path), "--settle", str(changed))

    assert name in urls(found, "maybe")
    assert [each["settled"] for each in found["archives"]] == [0]


def test_files_that_are_extracted_otherwise_than_the_archive_settle_nothing(
    archive: Path, crawl: Path
) -> None:
    refused = call(
        *("search", "cold", str(archive), "--settle", str(crawl), "--set", "text.extraction=main_content")
    )

    assert refused.returncode == 2, refused.stderr
    assert b"text.extraction is 'main_content'" in refused.stderr


def test_several_archives_are_searched_once_each_and_pages_are_counted_and_limited(
    archive: Path, crawl: Path
) -> None:
    other = crawl.with_name("other.nda")
    frozen = call("freeze", str(crawl), "-o", str(other), "--with", "search,texts")
    assert frozen.returncode == 0, frozen.stderr

    kept = searched('"cold war"', str(other), "--settle")
    both = searched("NOT zebra", str(archive), str(other), "--limit", "3")
    again = f"{archive.parent}/./{archive.name}"
    counted = searched("NOT zebra", str(archive), str(other), again, "--count")

    assert (urls(kept, "yes"), kept["maybe"]) == ({"war"}, 0)
    assert both["yes"] + both["maybe"] == 2 * len(PAGES)
    assert len(both["matches"]) == 3
    assert [each["archive"] for each in both["archives"]] == ["crawl.nda", "other.nda"]
    assert (counted["yes"] + counted["maybe"], counted["matches"]) == (2 * len(PAGES), [])


def test_a_forgotten_page_is_not_found_nor_in_a_rewritten_archive(archive: Path) -> None:
    rewritten = archive.with_name("rewritten.nda")

    forgotten = call("archive", "forget", "https://example.com/war", str(archive))
    rewrite = call("archive", "rewrite", str(archive), "-o", str(rewritten))

    assert (forgotten.returncode, rewrite.returncode) == (0, 0)
    for path in (archive, rewritten):
        all_living = searched("cold OR NOT cold", str(path))
        assert "war" not in urls(all_living, "yes", "maybe")
        assert all_living["yes"] + all_living["maybe"] == len(PAGES) - 1
    assert call("archive", "check", str(rewritten)).returncode == 0


def test_what_cannot_be_searched_is_refused_with_the_remedy(archive: Path, crawl: Path) -> None:
    without = crawl.with_name("without.nda")
    assert call("freeze", str(crawl), "-o", str(without)).returncode == 0

    broken = call("search", "cold AND (war", str(archive))
    unsliced = call("search", "cold", str(without))
    no_archive = call("search", "cold", str(crawl))
    no_texts = call("search", "cold", str(archive), "--settle")
    missing = call("search", "cold", str(archive), "--settle", str(crawl.with_name("none.jsonl")))
    of_an_index = call("freeze", "--index", "-o", str(crawl.with_name("x.nda")), "--with", "search")

    runs = (broken, unsliced, no_archive, no_texts, missing, of_an_index)
    assert [run.returncode for run in runs] == [2] * len(runs), [run.stderr for run in runs]
    assert b"query, character 10: this ( is not closed" in broken.stderr
    assert b"'--with search'" in unsliced.stderr
    assert b"is no archive" in no_archive.stderr
    assert b"'--with texts'" in no_texts.stderr


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("cold and zebra", b"warning: 'and' is searched as a word: write operators as AND, OR, NOT\n"),
        ("cold AND zebra", b""),
        ('cold AND "and zebra"', b""),
        ("cold OR or", b""),
    ],
    ids=["small", "capitals", "quoted", "found"],
)
def test_an_operator_that_is_not_in_capitals_is_named_where_nothing_is_found(
    archive: Path, query: str, hint: bytes
) -> None:
    run = call("search", query, str(archive))

    assert (bool(json.loads(run.stdout)["matches"]), run.stderr) == ("OR" in query, hint)


def test_a_query_that_is_not_utf_8_is_refused_at_its_position(archive: Path) -> None:
    run = call("search", "cold caf\udce9", str(archive))

    assert run.returncode == 2, run.stderr
    assert b"query, character 9: this is not UTF-8" in run.stderr


def test_a_file_name_that_is_not_utf_8_is_escaped_in_what_is_shown(archive: Path) -> None:
    named = archive.rename(archive.with_name("caf\udce9.nda"))
    asked = page_json("copy", PAGES["war"])

    found = searched("cold", str(named))
    matched = call("archive", "query", "-", str(named), stdin=asked)

    assert {page["archive"] for page in (*found["archives"], *found["matches"])} == {"caf\\xe9.nda"}
    assert matched.returncode == 0, matched.stderr
    assert json.loads(matched.stdout)["matches"][0]["archive"] == "caf\\xe9.nda"


def test_a_cut_or_flipped_archive_is_4(archive: Path) -> None:
    archive.chmod(0o600)
    content = bytearray(archive.read_bytes())
    sections = LoggedArchive(archive).file.sections
    content[sections["search.tiles"].offset] ^= 1
    archive.write_bytes(content)
    flipped = call("search", "cold", str(archive))
    archive.write_bytes(content[:-5000])
    cut = call("search", "cold", str(archive))

    assert (flipped.returncode, cut.returncode) == (4, 4)
    assert b"is damaged in section 'search.tiles'" in flipped.stderr


def test_the_same_files_give_the_same_bytes(archive: Path, crawl: Path) -> None:
    again = crawl.with_name("again.nda")

    frozen = call(
        *("freeze", str(crawl), "-o", str(again), "--with", "search,archive", "--memory", "64"),
        *("--set", "pipeline.max_batch_pages=7"),
    )

    assert frozen.returncode == 0, frozen.stderr
    assert again.read_bytes() == archive.read_bytes()
