"""`freeze` and `archive`: a crawl in one file, asked, checked, forgotten from, killed while it is written."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neardup_stream.archive.frozen import FrozenIndex
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.texts import KeptTexts
from neardup_stream.indexes.passages import PassageIndex
from tests.pipelines import essay, page_json
from tests.servers.program import environment
from tests.system.conftest import Site, call
from tests.system.test_full_disk import MOUNT_AND_RUN, PRIVATE_MOUNTS

PAGES = [page_json(str(n), essay(n)) for n in range(30)]
KILLED_AFTER_SECONDS = (0.9, 1.2, 1.5, 1.8, 2.2)


@pytest.fixture(scope="session")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a crawl and of its archive, of which each test has copies."""
    folder = tmp_path_factory.mktemp("frozen")
    (folder / "crawl.jsonl").write_bytes(b"\n".join(PAGES) + b"\n")
    run = call("freeze", str(folder / "crawl.jsonl"), "-o", str(folder / "crawl.nda"))
    assert run.returncode == 0, run.stderr
    assert b"30 pages" in run.stderr
    return folder


@pytest.fixture
def crawl(frozen: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy2(frozen / "crawl.jsonl", tmp_path))  # with its time, which dates the pages


@pytest.fixture
def archive(frozen: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy2(frozen / "crawl.nda", tmp_path))


def told(*words: str, stdin: bytes = b"") -> Any:
    run = call(*words, stdin=stdin)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_a_frozen_page_is_found_by_its_text_under_another_address(archive: Path) -> None:
    asked = page_json("copy", essay(7))

    answer = told("archive", "query", "-", str(archive), stdin=asked)

    assert answer["entries"] == []
    assert [match["id"] for match in answer["matches"]] == ["https://example.com/7"]
    assert answer["matches"][0]["kind"] == "exact"
    assert answer["matches"][0]["archive"] == "crawl.nda"


def test_an_archive_says_what_it_holds(archive: Path) -> None:
    facts = told("archive", "info", str(archive))

    assert facts["pages"] == 30
    assert facts["bytes"] == archive.stat().st_size
    assert facts["facts"]["schema"]["bands"] == 12


def test_the_same_files_give_the_same_bytes_whatever_memory_and_workers_there_are(
    archive: Path, crawl: Path
) -> None:
    again = crawl.with_name("again.nda")

    frozen = call(
        *("freeze", str(crawl), "-o", str(again), "--memory", "64", "--workers", "3"),
        *("--set", "pipeline.max_batch_pages=2"),
    )

    assert frozen.returncode == 0, frozen.stderr
    assert again.read_bytes() == archive.read_bytes()


def test_a_name_that_is_taken_is_refused_and_force_replaces_it(archive: Path, crawl: Path) -> None:
    refused = call("freeze", str(crawl), "-o", str(archive))
    replaced = call("freeze", str(crawl), "-o", str(archive), "--force")

    assert refused.returncode == 2
    assert b"exists already" in refused.stderr
    assert replaced.returncode == 0


def test_damaged_input_writes_nothing(crawl: Path) -> None:
    damaged = crawl.with_name("damaged.jsonl.gz")
    damaged.write_bytes(b"\x1f\x8b\x08\x00 no gzip")

    run = call("freeze", str(crawl), str(damaged), "-o", str(crawl.with_name("x.nda")))

    assert run.returncode == 4
    assert not list(crawl.parent.glob("*x.nda*"))


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
    assert f"{archive} has no page 'https://example.com/none'" in forgotten.stderr.decode()
    assert forgotten.returncode == 2
    assert rewrite.returncode == 0, rewrite.stderr
    assert call("archive", "check", str(rewritten)).returncode == 0
    for path in (archive, rewritten):
        assert told("archive", "query", "-", str(path), stdin=asked)["matches"] == []
        assert len(told("archive", "query", "-", str(path), stdin=PAGES[8])["matches"]) == 1
    assert told("archive", "query", "https://example.com/7", str(archive))["entries"][0]["is_forgotten"]
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
        assert len(told("archive", "query", "-", str(archive), stdin=asked)["matches"]) == count
    assert all(page.url != "https://example.com/7" for page in FrozenIndex(archive).log.all_pages())


def test_texts_are_frozen_where_they_are_asked_for_and_not_left_when_forgotten(crawl: Path) -> None:
    path, rewritten = crawl.with_name("texts.nda"), crawl.with_name("rewritten.nda")

    frozen = call("freeze", str(crawl), "-o", str(path), "--with", "texts")
    forgotten = call("archive", "forget", "https://example.com/7", str(path))
    rewrite = call("archive", "rewrite", str(path), "-o", str(rewritten))
    facts = told("archive", "info", str(path))
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
    against = (str(quoting), str(short), "--against", str(path))

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


def test_an_archive_without_passages_says_how_to_freeze_them(archive: Path) -> None:
    run = call("overlap", "-", "--against", str(archive), stdin=PAGES[0])

    assert run.returncode == 2
    assert b"frozen without passages" in run.stderr


def test_a_part_that_does_not_exist_or_needs_texts_that_are_not_there_is_refused(crawl: Path) -> None:
    output = str(crawl.with_name("x.nda"))

    unknown = call("freeze", str(crawl), "-o", output, "--with", "archive,pictures")
    of_an_index = call("freeze", "--index", "-o", output, "--with", "texts")

    assert (unknown.returncode, of_an_index.returncode) == (2, 2)
    assert b"'pictures'; choose of archive" in unknown.stderr
    assert b"an index keeps no texts" in of_an_index.stderr


def test_a_full_disk_is_3_and_leaves_nothing(tmp_path: Path) -> None:
    crawl, small = tmp_path / "crawl.jsonl", tmp_path / "small"
    crawl.write_bytes(b"".join(page_json(f"a/{n}", essay(n)) + b"\n" for n in range(8000)))
    small.mkdir()
    command = f"{MOUNT_AND_RUN.replace('code=$?;', 'code=$?; ls -A $0;')}"
    ours = ["freeze", str(crawl), "-o", str(small / "crawl.nda")]

    run = subprocess.run(
        [
            *PRIVATE_MOUNTS,
            "sh",
            "-c",
            command.replace("size=3m", "size=1m"),
            small,
            sys.executable,
            "-m",
            "neardup_daemon",
            *ours,
        ],
        capture_output=True,
        timeout=90,
        check=False,
    )

    assert run.returncode == 3, run.stderr
    assert run.stdout == b""
    assert b"make room there" in run.stderr


def test_a_killed_freeze_leaves_the_old_archive_or_a_whole_new_one(archive: Path, crawl: Path) -> None:
    old = archive.read_bytes()
    crawl.write_bytes(b"".join(page_json(f"a/{n}", essay(n)) + b"\n" for n in range(2000)))

    for seconds in KILLED_AFTER_SECONDS:
        command = [
            sys.executable,
            "-m",
            "neardup_daemon",
            "freeze",
            str(crawl),
            "-o",
            str(archive),
            "--force",
        ]
        with subprocess.Popen(command, env=environment({}), stderr=subprocess.DEVNULL) as process:
            time.sleep(seconds)  # the fault is a kill at some moment
            process.kill()
        assert archive.read_bytes() == old or FrozenIndex(archive).header.page_count == 2000
        FrozenIndex(archive).file.check_all()
    assert {path.suffix for path in archive.parent.iterdir()} <= {".jsonl", ".nda", ".tmp"}


def test_an_index_is_frozen_without_texts(archive: Path, crawl: Path) -> None:
    state, path = crawl.with_name("state"), crawl.with_name("index.nda")
    held = call("dedup", str(crawl), "--state", str(state))
    assert held.returncode == 0, held.stderr

    frozen = call("freeze", "--state", str(state), "-o", str(path), "--set", "index.expected_pages=1000000")
    young = call("freeze", "--state", str(state), "-o", str(path.with_name("y.nda")), "--unseen-days", "1")

    assert frozen.returncode == 0, frozen.stderr
    assert b" 0 pages" in young.stderr
    one, other = FrozenIndex(archive), FrozenIndex(path)
    rows = np.arange(30)
    assert other.sketches(rows) == one.sketches(rows)
    assert [page.id for page in other.log.all_pages()] == [page.id for page in one.log.all_pages()]
    asked = page_json("copy", essay(7))
    assert len(told("archive", "query", "-", str(path), stdin=asked)["matches"]) == 1


def test_pages_that_an_index_left_to_an_archive_are_reported_apart_from_short_ones(
    archive: Path, crawl: Path
) -> None:
    state, path = crawl.with_name("state"), crawl.with_name("index.nda")
    pages = [page_json("moved", essay(3)), page_json("new", essay(500)), page_json("short", "too short")]
    skips = ["--set", f"archive.files={archive}", "--set", "archive.on_match=skip"]
    held = call("dedup", "-", "--state", str(state), *skips, stdin=b"\n".join(pages))
    assert held.returncode == 0, held.stderr

    frozen = call("freeze", "--state", str(state), "-o", str(path), *skips)

    assert frozen.returncode == 0, frozen.stderr
    for told_apart in (b" 3 pages", b" 1 without sketches as they match", b" 1 too short to be compared"):
        assert told_apart in frozen.stderr


def test_the_pages_topic_is_frozen_as_it_is(site: Site, archive: Path, crawl: Path) -> None:
    site.create_topics()
    produced = site.call("produce", str(crawl), stdin=b"")
    assert produced.returncode == 0, produced.stderr
    path = crawl.with_name("topic.nda")

    frozen = site.call("freeze", "--kafka", "-o", str(path))

    assert frozen.returncode == 0, frozen.stderr
    one, other = FrozenIndex(archive), FrozenIndex(path)
    assert [page.id for page in other.log.all_pages()] == [page.id for page in one.log.all_pages()]
    assert other.sketches(np.arange(30)) == one.sketches(np.arange(30))


@pytest.mark.parametrize("words", [[], ["--index", "--kafka"], ["x.jsonl", "--unseen-days", "3"]])
def test_freeze_wants_one_origin(words: list[str], tmp_path: Path) -> None:
    assert call("freeze", "-o", str(tmp_path / "x.nda"), *words).returncode == 2


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

    answer = told("query", "https://example.com/moved", "--state", str(state), *chosen)
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

    near = told("explain", str(edited), frozen[0], *no_index)
    unlike = told("explain", frozen[1], str(edited), *no_index)
    both = told("explain", *frozen, *no_index)
    undecided = told("explain", frozen[0], str(short), *no_index)

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

    found = told("explain", "https://example.com/moved", "https://example.com/3", *chosen)
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
