"""`find-all` and `find-clusters` as processes: text in, JSON lines out, and what they refuse."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.system.conftest import call

COMMANDS = ["find-all", "find-clusters"]

HASHES = "0\n1\n3\n1\n1152921504606846976\n18446744073709551615\n"
PAIRS = [[0, 1], [0, 1152921504606846976], [1, 3]]
CLUSTERS = [[0, 1, 3, 1152921504606846976]]


def run(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    done = call(*arguments, stdin=given.encode())
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def arrays(text: str) -> list[list[int]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(("command", "expected"), [("find-all", PAIRS), ("find-clusters", CLUSTERS)])
def test_standard_input_is_answered_on_standard_output(command: str, expected: list[list[int]]) -> None:
    done = run(command, "--blocks", "4", "--distance", "1", given=HASHES)

    assert (done.returncode, done.stderr) == (0, "")
    assert arrays(done.stdout) == expected


@pytest.mark.parametrize(("command", "expected"), [("find-all", PAIRS), ("find-clusters", CLUSTERS)])
def test_blocks_need_not_be_stated(command: str, expected: list[list[int]]) -> None:
    done = run(command, "--distance", "1", given=HASHES)

    assert (done.returncode, done.stderr) == (0, "")
    assert arrays(done.stdout) == expected


@pytest.mark.parametrize(("command", "expected"), [("find-all", PAIRS), ("find-clusters", CLUSTERS)])
def test_files_and_short_options_do_the_same(command: str, expected: list[list[int]], tmp_path: Path) -> None:
    source, target = tmp_path / "hashes", tmp_path / "found"
    source.write_text(HASHES)

    done = run(command, "-i", str(source), "-o", str(target), "-b", "4", "-d", "1")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert arrays(target.read_text()) == expected


def test_a_dash_is_a_standard_stream() -> None:
    done = run("find-all", "-i", "-", "-o", "-", "-b", "4", "-d", "1", given=HASHES)

    assert arrays(done.stdout) == PAIRS


def test_a_pair_is_a_line_with_one_array() -> None:
    done = run("find-all", "-b", "2", "-d", "1", given="1\n0\n")

    assert done.stdout == "[0, 1]\n"


def test_the_input_may_be_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "hashes"
    file.write_text(HASHES)

    run("find-all", "-i", str(file), "-o", str(file), "-b", "4", "-d", "1")

    assert arrays(file.read_text()) == PAIRS


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("given", ["", "7\n", "7\n7\n", "0\n255\n"], ids=["none", "one", "repeated", "apart"])
def test_nothing_close_is_no_output(command: str, given: str) -> None:
    done = run(command, "-b", "4", "-d", "3", given=given)

    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("blocks", "distance"), [("1", "0"), ("4", "3"), ("64", "3"), ("64", "63")], ids=lambda number: number
)
def test_every_layout_within_the_limits_is_valid(command: str, blocks: str, distance: str) -> None:
    done = run(command, "-b", blocks, "-d", distance, given=HASHES)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("blocks", ["4", "5", "6", "8", "12", "33", "64"])
def test_the_number_of_blocks_does_not_change_what_is_found(blocks: str) -> None:
    done = run("find-all", "-b", blocks, "-d", "3", given=HASHES)

    assert done.stdout == run("find-all", "-b", "4", "-d", "3", given=HASHES).stdout


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("options", "given", "complaint"),
    [
        pytest.param(
            "-b 3 -d 3",
            "1\n",
            "--blocks (3) must be greater than --distance (3), and at most 64",
            id="as-many-blocks",
        ),
        pytest.param(
            "-b 65 -d 3",
            "1\n",
            "--blocks (65) must be greater than --distance (3), and at most 64",
            id="more-blocks-than-bits",
        ),
        pytest.param("-b 4 -d -1", "1\n", "--distance (-1) must be 0 to 63", id="negative-distance"),
        pytest.param("-d 64", "1\n", "--distance (64) must be 0 to 63", id="every-bit"),
        pytest.param("-b 4", "1\n", "Missing option '-d' / '--distance'", id="no-distance"),
        pytest.param("-b 4 -d 3", "1\nx\n", "line 2: 'x' is not a decimal number", id="not-a-number"),
        pytest.param("-b 4 -d 3", "1\n-2\n", "line 2: '-2' is not a decimal number", id="negative"),
        pytest.param(
            "-b 4 -d 3", f"1\n2\n{2**64}\n", f"line 3: {2**64} is not below 2**64", id="2-to-the-64"
        ),
        pytest.param("-b 4 -d 3", "1\n\n2\n", "line 2: '' is not a decimal number", id="empty-line"),
        pytest.param(
            "-b 4 -d 3",
            f"1\n{'0' * 20}1\n",
            "line 2: '000000000000000000001' is not a decimal number",
            id="21-digits",
        ),
        pytest.param("-b 4 -d 3 -i no/such/file", "", "cannot open 'no/such/file'", id="no-such-input"),
        pytest.param("-b 4 -d 3 -o no/such/file", "1\n", "cannot open 'no/such/file'", id="no-such-output"),
    ],
)
def test_what_is_wrong_is_reported_in_one_line(
    command: str, options: str, given: str, complaint: str
) -> None:
    done = run(command, *options.split(), given=given)

    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
