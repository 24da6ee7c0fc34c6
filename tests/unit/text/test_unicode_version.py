"""Every Python that is installed makes the same tokens of the same text."""

import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from neardup_stream.text.unicode_version import UNICODE_VERSION, without_later_characters

ROOT = Path(__file__).parents[3]
LAST_POINT = 0x3FFFF

DIGEST = f"""
import hashlib, sys, unicodedata
from neardup_stream.text.canonical import fold_characters
from neardup_stream.text.unicode_version import without_later_characters
digest = hashlib.sha256()
for point in range({LAST_POINT} + 1):
    if not 0xD800 <= point < 0xE000:
        # Between letters, so that what joins its neighbors shows; what separates words becomes a space.
        text = fold_characters(f"e{{chr(point)}}e\u0301")
        kinds = (unicodedata.category(without_later_characters(each))[0] in "LNM" for each in text)
        digest.update("".join(each if letter else " " for each, letter in zip(text, kinds)).encode())
print(unicodedata.unidata_version, digest.hexdigest())
"""


OF_VERSION_14 = "0ba59fdc20cbdfa44ea00d2297589c7d0b04a33eb3e495b470bf15882ef32920"
"""What Python 3.11 makes of them without any help."""


def interpreters() -> Iterator[Path]:
    """This Python, and those of 3.11 and later that are installed beside it."""
    yield Path(sys.executable)
    for home in sorted(Path(sys.base_prefix).parent.glob("3.1[1-9]*")):
        if (home / "bin" / "python3").exists() and home != Path(sys.base_prefix):
            yield home / "bin" / "python3"


def digest(interpreter: Path) -> tuple[str, str]:
    """Return the Unicode version that an interpreter knows, and what it makes of every character."""
    done = subprocess.run(
        [str(interpreter), "-c", DIGEST], cwd=ROOT, capture_output=True, text=True, check=True
    )
    version, value = done.stdout.split()
    return version, value


def test_every_installed_python_folds_every_character_alike() -> None:
    digests = [digest(interpreter) for interpreter in interpreters()]

    assert {value for _, value in digests} == {OF_VERSION_14}


@pytest.mark.parametrize("point", [0x0378, 0x1F774, 0x2EBF0, 0x31350, 0x3FFFF])
def test_a_character_that_version_14_does_not_know_separates_words(point: int) -> None:
    assert unicodedata.category(without_later_characters(chr(point))) == "Cn"


@pytest.mark.parametrize("character", ["a", "é", "ß", "漢", "\u0301", "😀", " ", "\u2065"])
def test_other_characters_stay(character: str) -> None:
    assert without_later_characters(f"x{character}y") == f"x{character}y"


def test_the_version_is_that_of_the_oldest_python_we_support() -> None:
    assert UNICODE_VERSION == "14.0.0"
