"""`freeze --keys`: archives of each kind of keys, asked alone and together by the commands that ask them."""

import json
from pathlib import Path

import pytest

from neardup_stream.archive.frozen import FrozenIndex
from tests.pipelines import page_json
from tests.system.archives.frozen_pages import json_of
from tests.system.conftest import call
from tests.unit.pipeline.archived_pages import prose

PAGES = [page_json(str(n), prose(n)) for n in range(40)]
KINDS = ("bands", "fuzzy", "bands,fuzzy")


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a crawl and of its archives."""
    folder = tmp_path_factory.mktemp("keys")
    (folder / "crawl.jsonl").write_bytes(b"\n".join(PAGES) + b"\n")
    for kinds in KINDS:
        run = call("freeze", str(folder / "crawl.jsonl"), "-o", str(folder / f"{kinds}.nda"), "--keys", kinds)
        assert run.returncode == 0, run.stderr
    return folder


@pytest.mark.parametrize("kinds", KINDS)
def test_an_archive_of_any_kind_of_keys_is_checked_asked_and_rewritten(
    frozen: Path, kinds: str, tmp_path: Path
) -> None:
    archive, rewritten = tmp_path / "old.nda", tmp_path / "rewritten.nda"
    archive.write_bytes((frozen / f"{kinds}.nda").read_bytes())
    asked = page_json("copy", prose(7))

    checked = call("archive", "check", str(archive))
    facts = json_of("archive", "info", str(archive))
    found = json_of("archive", "query", "-", str(archive), stdin=asked)["matches"]
    forgotten = call("archive", "forget", "https://example.com/7", str(archive))
    rewrite = call("archive", "rewrite", str(archive), "-o", str(rewritten))

    assert [checked.returncode, forgotten.returncode, rewrite.returncode] == [0, 0, 0]
    assert facts["key_kinds"] == kinds.split(",")
    assert [(match["id"], match["kind"]) for match in found] == [("https://example.com/7", "exact")]
    assert json_of("archive", "query", "-", str(rewritten), stdin=asked)["matches"] == []
    assert len(json_of("archive", "query", "-", str(rewritten), stdin=PAGES[8])["matches"]) == 1


def test_fuzzy_keys_take_fewer_bytes_than_bands(frozen: Path) -> None:
    counts = {kinds: FrozenIndex(frozen / f"{kinds}.nda").key_count for kinds in KINDS}

    assert counts["fuzzy"] < counts["bands"] < counts["bands,fuzzy"] < counts["fuzzy"] + counts["bands"]


def test_dedup_asks_archives_of_all_kinds_of_keys_together(frozen: Path) -> None:
    crawl = b"\n".join([page_json("moved", prose(3)), page_json("new", prose(99))])
    files = [word for kinds in KINDS for word in ("--archive", str(frozen / f"{kinds}.nda"))]

    run = call("dedup", "-", *files, stdin=crawl)

    assert run.returncode == 0, run.stderr
    (event,) = [json.loads(line)["data"] for line in run.stdout.splitlines()]
    assert event["page"]["url"] == "https://example.com/moved"
    assert sorted(match["archive"]["name"] for match in event["matches"]) == sorted(
        f"{kinds}.nda" for kinds in KINDS
    )


def test_the_same_files_give_the_same_bytes_with_fuzzy_keys(frozen: Path, tmp_path: Path) -> None:
    again, crawl = tmp_path / "again.nda", str(frozen / "crawl.jsonl")

    run = call("freeze", crawl, "-o", str(again), "--keys", "fuzzy", "--set", "pipeline.max_batch_pages=7")

    assert run.returncode == 0, run.stderr
    assert again.read_bytes() == (frozen / "fuzzy.nda").read_bytes()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--keys", "bands,words"], "no kind of keys is called 'words'; choose of bands, fuzzy"),
        (["--keys", "fuzzy", "--with", "texts"], "--keys is for the part 'archive'"),
        (["--keys", "fuzzy", "--index"], "an index keeps no texts, so its pages have no fuzzy keys"),
    ],
)
def test_keys_that_cannot_be_made_are_refused(
    words: list[str], complaint: str, frozen: Path, tmp_path: Path
) -> None:
    files = [] if "--index" in words else [str(frozen / "crawl.jsonl")]
    run = call("freeze", *files, "-o", str(tmp_path / "x.nda"), *words)

    assert run.returncode == 2
    assert complaint in run.stderr.decode()


def test_query_says_which_archives_it_cannot_ask_for_more_than_the_text_of_a_stored_page(
    frozen: Path, tmp_path: Path
) -> None:
    state, stored = str(tmp_path / "state"), "https://example.com/moved"
    held = call("dedup", "-", "--state", state, stdin=page_json("moved", prose(3)))
    assert held.returncode == 0, held.stderr
    chosen = ["--set", f"archive.files={frozen / 'fuzzy.nda'},{frozen / 'bands.nda'}", "--state", state]

    named = json_of("query", stored, *chosen)
    given = json_of("query", "-", *chosen, stdin=page_json("moved", prose(3)))

    assert (named["asked_by_text_only"], given["asked_by_text_only"]) == (["fuzzy.nda"], [])
    assert {match["archive"] for match in named["archived"]} == {"fuzzy.nda", "bands.nda"}


def test_explain_and_query_say_which_archived_page_was_found_by_which_keys(
    frozen: Path, tmp_path: Path
) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    one.write_bytes(page_json("one", prose(3)))
    other.write_bytes(page_json("other", prose(98)))
    chosen = ["--set", f"archive.files={frozen / 'fuzzy.nda'},{frozen / 'bands.nda'}"]

    explained = json_of("explain", str(one), str(other), *chosen)
    asked = json_of("archive", "query", "-", str(frozen / "bands,fuzzy.nda"), stdin=one.read_bytes())

    by_archive = {match["archive"]: match for match in explained["first_archived"]}
    assert {match["id"] for match in by_archive.values()} == {"https://example.com/3"}
    assert by_archive["fuzzy.nda"]["keys"] == ["text", *(f"fuzzy {n}" for n in range(8))]
    assert by_archive["bands.nda"]["keys"] == ["text", *(f"band {n}" for n in range(12))]
    assert explained["second_archived"] == []
    (words,) = [each for each in explained["words"] if "fuzzy.nda has https://example.com/3" in each]
    assert "found by text, fuzzy 0" in words
    assert "resemblance 1.00 (near from" in words
    (match,) = asked["matches"]
    assert match["keys"] == [*by_archive["bands.nda"]["keys"], *by_archive["fuzzy.nda"]["keys"][1:]]
