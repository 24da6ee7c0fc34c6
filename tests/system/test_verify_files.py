"""`verify` over the files of a run of `dedup`."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.pipelines import essay, page_json
from tests.system.conftest import call
from tests.system.test_full_disk import PRIVATE_MOUNTS

PAGES = b"".join(
    page_json(f"p{number}", essay(number % 20, edits=[number % 5])) + b"\n" for number in range(60)
)
PAGES += b"no JSON\n"


def run_dedup(directory: Path) -> tuple[str, ...]:
    """Keep everything of one run; the flags that name it to `verify`."""
    pages, events, letters, state = (
        directory / name for name in ("pages.jsonl", "events", "letters", "state")
    )
    pages.write_bytes(PAGES)
    kept = ("--events", str(events), "--dead-letters", str(letters), "--state", str(state))
    run = call("dedup", str(pages), *kept)
    assert run.returncode == 0, run.stderr
    return ("--pages", str(pages), *kept)


def judged(run: subprocess.CompletedProcess[bytes]) -> dict[int, Any]:
    assert run.stdout, run.stderr
    return {each["invariant"]: each for each in json.loads(run.stdout)["invariants"]}


def test_a_run_over_files_is_judged_and_a_lost_event_is_found(tmp_path: Path) -> None:
    flags = run_dedup(tmp_path)

    sound = call("verify", *flags)
    assert {each["state"] for each in judged(sound).values()} == {"held"}
    assert sound.returncode == 0

    events = tmp_path / "events"
    events.write_bytes(b"".join(events.read_bytes().splitlines(keepends=True)[:-1]))
    spoiled = call("verify", *flags)
    assert judged(spoiled)[1]["state"] == judged(spoiled)[4]["state"] == "violated"
    assert spoiled.returncode == 4


def test_runs_over_one_index_are_judged_by_all_their_files(tmp_path: Path) -> None:
    lines, state = PAGES.splitlines(keepends=True), ("--state", str(tmp_path / "state"))
    flags = [*state]
    for day, part in (("monday", lines[:20]), ("tuesday", [*lines[20:], b"no JSON either\n"])):
        pages, events, letters = (tmp_path / f"{day}-{name}" for name in ("pages.jsonl", "events", "letters"))
        pages.write_bytes(b"".join(part))
        kept = ("--events", str(events), "--dead-letters", str(letters))
        run = call("dedup", str(pages), *kept, *state)
        assert run.returncode == 0, run.stderr
        flags += ["--pages", str(pages), *kept]

    run = call("verify", *flags)

    assert {each["state"] for each in judged(run).values()} == {"held"}
    assert run.returncode == 0


def test_an_index_of_which_pages_were_forgotten_is_judged_with_the_events_of_that(tmp_path: Path) -> None:
    flags, gone = run_dedup(tmp_path), tmp_path / "gone"
    forgotten = call("forget", "https://example.com/p3", *flags[-2:], "--events", str(gone))
    assert forgotten.returncode == 0, forgotten.stderr

    without = judged(call("verify", *flags))
    run = call("verify", *flags, "--events", str(gone))

    assert {number for number, each in without.items() if each["state"] == "not_judged"} == {4, 8}
    assert without[4]["reason"].endswith("give the events that it wrote with --events")
    assert {each["state"] for each in judged(run).values()} == {"held"}
    assert run.returncode == 0


def test_a_line_that_is_no_dead_letter_is_named(tmp_path: Path) -> None:
    flags, letters = run_dedup(tmp_path), tmp_path / "letters"
    letters.write_bytes(letters.read_bytes() + b"\n{}\n")

    run = call("verify", *flags)

    assert f"{letters}:3: this is no dead letter" in run.stderr.decode()
    assert run.returncode == 4


def test_a_line_that_is_no_event_is_quoted(tmp_path: Path) -> None:
    flags, events = run_dedup(tmp_path), tmp_path / "events"
    events.write_bytes(events.read_bytes() + b"no event\n")

    run = call("verify", *flags)

    assert "the message that begins with b'no event' cannot be read" in run.stdout.decode()
    assert run.returncode == 4


def test_a_full_directory_for_temporary_files_ends_it_with_3_and_is_named(tmp_path: Path) -> None:
    flags, full = run_dedup(tmp_path), tmp_path / "full"
    full.mkdir()
    mounted = 'export TMPDIR="$0"; mount -t tmpfs -o size=64k,mode=700 tmpfs "$0" && exec "$@"'
    command = [*PRIVATE_MOUNTS, "sh", "-c", mounted, str(full), sys.executable, "-m", "neardup_daemon"]

    run = subprocess.run([*command, "verify", *flags], capture_output=True, timeout=90, check=False)

    assert run.returncode == 3, run.stderr
    assert f"in {full}: No space left on device; make room there, or set TMPDIR" in run.stderr.decode()
    assert run.stdout == b""


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    pages = tmp_path / "pages.jsonl"
    pages.write_bytes(PAGES)

    run = call("verify", "--pages", str(pages))

    assert run.returncode == 2
    assert b"--pages and --events go together" in run.stderr


def test_events_of_a_file_that_is_not_named_are_refused(tmp_path: Path) -> None:
    flags = run_dedup(tmp_path)
    packed = tmp_path / "pages.jsonl.gz"
    packed.write_bytes(gzip.compress(PAGES))

    run = call("verify", "--pages", str(packed), *flags[2:])

    assert run.returncode == 2
    assert (
        f"{tmp_path / 'events'}:1: this event is of a file that is not among --pages" in run.stderr.decode()
    )
