"""`dedup`, `query`, `check` and `explain` with archives."""

import json
import os
from pathlib import Path

from tests.pipelines import essay, page_json
from tests.system.archives.frozen_pages import PAGES, json_of
from tests.system.conftest import call


def test_dedup_reports_which_pages_an_archive_has(archive: Path) -> None:
    crawl = b"\n".join([page_json("new", essay(40)), page_json("moved", essay(3)), page_json("5", essay(5))])

    run = call("dedup", "-", "--archive", str(archive), stdin=crawl)

    assert run.returncode == 0, run.stderr
    events = [json.loads(line) for line in run.stdout.splitlines()]
    assert [event["type"] for event in events] == ["io.neardup.archived.v1"] * 2
    moved, same = (event["data"] for event in events)
    assert (moved["page"]["url"], moved["matches"][0]["url"]) == (
        "https://example.com/moved",
        "https://example.com/3",
    )
    assert (moved["kind"], moved["matches"][0]["same_page"]) == ("exact", False)
    assert same["matches"][0]["same_page"]
    asked = call("archive", "query", "-", str(archive), stdin=crawl.splitlines()[1])
    assert moved["matches"][0]["keys"] == json.loads(asked.stdout)["matches"][0]["keys"]
    assert moved["matches"][0]["keys"][0] == "text"


def test_query_and_check_know_the_archives_of_the_settings(archive: Path, crawl: Path) -> None:
    state = crawl.with_name("state")
    held = call("dedup", "-", "--state", str(state), stdin=page_json("moved", essay(3)))
    assert held.returncode == 0, held.stderr
    missing = crawl.with_name("missing.nda")
    chosen = ["--set", f"archive.files={archive}"]

    answer = json_of("query", "https://example.com/moved", "--state", str(state), *chosen)
    checked = call(
        "check", "--set", f"archive.files={archive},{missing}", "--redis-url", "redis://127.0.0.1:1"
    )

    assert [(match["id"], match["kind"]) for match in answer["archived"]] == [
        ("https://example.com/3", "exact")
    ]
    assert f"archive: {archive}, 30 pages, sound" in checked.stdout.decode()
    assert f"BAD  archive: cannot read {missing}" in checked.stdout.decode()


def test_explain_compares_a_page_with_a_frozen_one(archive: Path, tmp_path: Path) -> None:
    edited, short = tmp_path / "edited.json", tmp_path / "short.json"
    edited.write_bytes(page_json("edited", essay(3, edits=[50])))
    short.write_bytes(page_json("short", "few words"))
    frozen = [f"https://example.com/{number}" for number in (3, 4)]
    no_index = ["--set", "redis.url=redis://127.0.0.1:1", "--archive", str(archive)]

    near = json_of("explain", str(edited), frozen[0], *no_index)
    unlike = json_of("explain", frozen[1], str(edited), *no_index)
    both = json_of("explain", *frozen, *no_index)
    undecided = json_of("explain", frozen[0], str(short), *no_index)

    assert [each["verdict"] for each in (near, unlike, both, undecided)] == [
        *("near", "unlike", "unlike", "undecided")
    ]
    assert [each["is_match"] for each in (near, unlike)] == [True, False]
    assert near["archive_keys"]
    assert unlike["archive_keys"] == []
    assert (near["second"]["archive"], near["first"].get("archive")) == (archive.name, None)
    assert f"The archive finds the frozen page by {', '.join(near['archive_keys'])}." in near["words"][1]
    assert f"The second is frozen in {archive.name}, fetched " in "".join(near["words"])
    assert "unknown" in both["words"][1]


def test_explain_finds_pages_of_the_archives_of_the_settings_beside_the_index(
    archive: Path, crawl: Path
) -> None:
    state = crawl.with_name("state")
    held = call("dedup", "-", "--state", str(state), stdin=page_json("moved", essay(3)))
    assert held.returncode == 0, held.stderr
    chosen = ["--state", str(state), "--set", f"archive.files={archive}"]

    found = json_of("explain", "https://example.com/moved", "https://example.com/3", *chosen)
    missing = call("explain", "https://example.com/moved", "nowhere.json", *chosen)

    assert (found["verdict"], found["is_match"]) == ("exact", True)
    assert found["archive_keys"][0] == "text"
    assert missing.returncode == 2
    for said in (
        "is no file",
        "is not stored in the index",
        f"is not in {archive.name}",
        "as JSON in a file",
    ):
        assert said in missing.stderr.decode()


def test_dedup_refuses_an_archive_that_does_not_fit(archive: Path) -> None:
    run = call("dedup", "-", "--archive", str(archive), "--set", "sketch.shingle_tokens=4", stdin=PAGES[0])

    assert run.returncode == 2
    assert b"sketch.shingle_tokens is 4" in run.stderr


def test_a_directory_in_the_place_of_an_archive_is_refused(crawl: Path) -> None:
    for directory in (".", "/"):
        refused = call("dedup", str(crawl), "--archive", directory)

        assert refused.returncode == 2
        assert b"Is a directory" in refused.stderr


def test_a_pipe_in_the_place_of_an_archive_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.nda")

    refused = call("archive", "check", str(tmp_path / "pipe.nda"))

    assert refused.returncode == 2
    assert b"is no archive: it is a pipe" in refused.stderr
