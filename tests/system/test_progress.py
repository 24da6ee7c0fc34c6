"""Progress on a terminal: shown while it lasts, and never in the way."""

import os
import pty
import re
from pathlib import Path

import click
import pytest

from tests.pipelines import essay, page_json
from tests.servers.program import start_program
from tests.system.conftest import StoredIndex


@pytest.mark.parametrize("command", ["dedup", "fingerprint"])
def test_a_command_on_a_terminal_shows_its_progress_and_ends_well(tmp_path: Path, command: str) -> None:
    crawl = tmp_path / "crawl.jsonl"
    crawl.write_bytes(b"".join(page_json(f"p{number}", essay(number)) + b"\n" for number in range(500)))

    code, said = on_terminal(command, str(crawl))

    assert code == 0, said.decode()
    assert b"500 records, " in said
    assert b"Traceback" not in said


@pytest.mark.parametrize("command", ["dedup", "fingerprint"])
def test_lines_on_the_same_terminal_are_progress_enough(tmp_path: Path, command: str) -> None:
    crawl = tmp_path / "crawl.jsonl"
    crawl.write_bytes(b"".join(page_json(f"p{number}", essay(number // 2)) + b"\n" for number in range(50)))

    code, said = on_terminal(command, str(crawl), has_output=True)

    lines = [line for line in re.split("[\r\n]+", said.decode()) if "{" in line]
    assert code == 0, said.decode()
    assert len(lines) >= 25
    assert all(line.startswith("{") for line in lines)


def test_dead_letters_are_shown_above_the_progress(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl.jsonl"
    crawl.write_bytes(page_json("p", essay(1)) + b"\nnone\n")

    code, said = on_terminal("fingerprint", str(crawl))

    lines = re.split("[\r\n]+", click.unstyle(said.decode()))
    (letter,) = (line for line in lines if "dead letter: " in line)
    assert (code, letter.partition(": ")[0]) == (0, "dead letter")


@pytest.mark.parametrize("command", ["rebuild", "expire"])
def test_a_round_over_all_records_shows_how_far_it_has_come(command: str, index: StoredIndex) -> None:
    index.hold(page_json("a", essay(1)))

    code, said = on_terminal(command, *(word for setting in index.settings for word in ("--set", setting)))

    assert code == 0, said.decode()
    assert b"100%" in said
    assert b"Traceback" not in said


def test_verify_shows_how_far_it_has_come(index: StoredIndex, tmp_path: Path) -> None:
    crawl, events = tmp_path / "crawl.jsonl", tmp_path / "events.jsonl"
    crawl.write_bytes(page_json("a", essay(1)) + b"\n")
    run = index.call("dedup", str(crawl), "--redis", "--events", str(events))
    assert run.returncode == 0, run.stderr
    settings = (word for setting in index.settings for word in ("--set", setting))

    code, said = on_terminal("verify", "--pages", str(crawl), "--events", str(events), *settings)

    assert code == 0, said.decode()
    assert b"page records" in said
    assert b"promises" in said
    assert b"Traceback" not in said


def test_logs_on_a_terminal_are_text(tmp_path: Path) -> None:
    code, said = on_terminal("dedup", "/dev/null", "--state", str(tmp_path / "state"))

    assert code == 0, said.decode()
    assert b" info " in said
    assert b"embedded_server_started" in said
    assert b'{"' not in said


def on_terminal(*words: str, has_output: bool = False) -> tuple[int, bytes]:
    """Exit code of a command of ours, and what it writes to a terminal for its standard error.

    Args:
        words: of the command line.
        has_output: whether the same terminal is its standard output.
    """
    ours, theirs = pty.openpty()
    with Path(os.devnull).open("r+b") as nothing:
        output = theirs if has_output else nothing.fileno()
        run = start_program(words, {}, (nothing.fileno(), output, theirs))
    os.close(theirs)
    said = b""
    try:
        while chunk := os.read(ours, 4096):
            said += chunk
    except OSError:  # what Linux answers once the other end of a terminal is closed
        pass
    os.close(ours)
    return run.wait(), said
