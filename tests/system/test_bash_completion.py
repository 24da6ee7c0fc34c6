"""bash itself completes words by the script that the program prints."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BASH = """
compopt() { options+=("$2"); }
eval "$(_NEARDUP_STREAM_COMPLETE=bash_source neardup-stream)"
COMP_LINE=$1 COMP_POINT=${#1}
_neardup_stream_completion neardup-stream
printf '%s\\n' "${options[@]}" --- "${COMPREPLY[@]}"
"""


def completed(line: str, *, at_equals: bool = True) -> tuple[list[str], list[str]]:
    """Return the options that the completion asks for, and what it puts in the place of the last word."""
    breaks = "" if at_equals else "COMP_WORDBREAKS=${COMP_WORDBREAKS//=}"
    ran = subprocess.run(
        ["bash", "--norc", "-c", breaks + BASH, "bash", line],
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr == ""
    options, words = ran.stdout.split("---\n")
    return options.split(), words.split()


@pytest.mark.parametrize(
    ("line", "options", "words"),
    [
        ("neardup-stream run --set redis.durab", ["nospace"], ["redis.durability="]),
        ("neardup-stream run --set redis.durability=", [], ["master", "replica"]),
        ("neardup-stream run --set redis.durability=re", [], ["replica"]),
        ("neardup-stream run --set=redis.durability=re", [], ["replica"]),
        ("neardup-stream freeze --with archive,pas", [], ["archive,passages"]),
        ("neardup-stream dedup --events=ev", ["default"], []),
    ],
)
def test_the_last_word_is_completed(line: str, options: list[str], words: list[str]) -> None:
    assert completed(line) == (options, words)


def test_a_setting_is_completed_where_bash_does_not_split_words_at_equals_signs() -> None:
    assert completed("neardup-stream run --set redis.durability=re", at_equals=False) == (
        [],
        ["redis.durability=replica"],
    )
