"""`freeze`: one file from files, an index or a topic, whole even where it is killed."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from neardup_stream.archive.frozen import FrozenIndex
from tests.pipelines import essay, page_json
from tests.servers.process import wait_until
from tests.servers.program import piped_program
from tests.system.archives.frozen_pages import json_of
from tests.system.conftest import Site, call
from tests.system.test_full_disk import MOUNT_AND_RUN, PRIVATE_MOUNTS

KILLED_AFTER_SECONDS = (0.9, 1.2, 1.5, 1.8, 2.2)


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


def test_the_file_of_the_settings_is_never_replaced(crawl: Path) -> None:
    settings = crawl.with_name("settings.toml")
    settings.write_text("[sketch]\ncode_bits = 8\n")

    refused = call("freeze", str(crawl), "-o", str(settings), "--force", "--config", str(settings))

    assert refused.returncode == 2
    assert b"is an input and an output" in refused.stderr
    assert settings.read_text() == "[sketch]\ncode_bits = 8\n"


def test_an_archive_of_no_pages_is_reported_without_bytes_a_page(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")

    run = call("freeze", str(empty), "-o", str(tmp_path / "empty.nda"))

    assert run.returncode == 0, run.stderr
    assert b"empty.nda: 0 pages, " in run.stderr
    assert b" bytes, in " in run.stderr


def test_damaged_input_writes_nothing(crawl: Path) -> None:
    damaged = crawl.with_name("damaged.jsonl.gz")
    damaged.write_bytes(b"\x1f\x8b\x08\x00 no gzip")

    run = call("freeze", str(crawl), str(damaged), "-o", str(crawl.with_name("x.nda")))

    assert run.returncode == 4
    assert not list(crawl.parent.glob("*x.nda*"))


def test_dead_letters_are_reported_with_their_file_and_line(crawl: Path) -> None:
    other = crawl.with_name("other.jsonl")
    other.write_bytes(b"\n".join([page_json("other", essay(1)), b"no page"]))

    run = call("freeze", str(crawl), str(other), "-o", str(crawl.with_name("x.nda")))

    assert run.returncode == 0, run.stderr
    assert f"dead letter: {other}, line 2: not_json" in run.stderr.decode()


@pytest.mark.parametrize(
    ("command", "remedy"),
    [("freeze", ""), ("dedup", "; --dead-letters FILE keeps all"), ("dedup --dead-letters", "")],
)
def test_dead_letters_that_are_not_shown_are_counted(crawl: Path, command: str, remedy: str) -> None:
    crawl.write_bytes(crawl.read_bytes() + b"no page\n" * 7)
    name, *kept = command.split()
    output = ["-o", str(crawl.with_name("x.nda"))] if name == "freeze" else []

    run = call(name, str(crawl), *output, *kept, *[str(crawl.with_name("letters")) for _ in kept])

    assert run.stderr.count(b"dead letter: ") == 5
    assert f"dead letters: 2 more are not shown{remedy}\n" in run.stderr.decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_a_signal_leaves_no_archive_and_is_named_by_the_exit_code(
    tmp_path: Path, number: signal.Signals
) -> None:
    with piped_program(["freeze", "-", "-o", str(tmp_path / "x.nda")]) as run:
        wait_until(lambda: any(tmp_path.iterdir()), 60)
        run.child.send_signal(number)
        code, errors = run.child.wait(60), run.stderr.read()

    assert code == 128 + number
    assert b"no archive was written" in errors
    assert not list(tmp_path.iterdir())


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
        with piped_program(["freeze", str(crawl), "-o", str(archive), "--force"]):
            time.sleep(seconds)  # the fault is a kill at some moment
        assert archive.read_bytes() == old or FrozenIndex(archive).header.page_count == 2000
        FrozenIndex(archive).file.check_all()
    left = {path.suffix for path in archive.parent.iterdir()}
    assert left <= {".jsonl", ".nda", ".tmp", ".lock"}  # a run that came to its end has locked the forgets


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
    assert len(json_of("archive", "query", "-", str(path), stdin=asked)["matches"]) == 1


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
    for counted in (b" 3 pages", b" 1 without sketches as they match", b" 1 too short to be compared"):
        assert counted in frozen.stderr


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
