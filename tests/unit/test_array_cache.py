from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from neardup_stream.array_cache import cached_array

NOWHERE = "/dev/null/nothing-can-be-made-here"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "source.py"
    file.write_text("x = 1\n")
    return file


class Maker:
    """Makes 0, 1, 2 and counts how often."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> NDArray[np.int32]:
        self.calls += 1
        return np.arange(3, dtype=np.int32)


def read(source: Path, make: Maker, name: str = "numbers") -> list[int]:
    found = cached_array(name, [source], make)
    assert found.dtype == np.int32
    numbers: list[int] = found.tolist()
    return numbers


def test_an_array_is_made_once(source: Path) -> None:
    make = Maker()

    assert read(source, make) == read(source, make) == [0, 1, 2]
    assert make.calls == 1


def test_only_whole_files_are_left_and_everyone_may_read_them(source: Path, cache: Path) -> None:
    read(source, Maker())

    (file,) = (path for path in cache.rglob("*") if path.is_file())
    assert file.name == "numbers.int32"
    assert file.stat().st_mode & 0o444 == 0o444


def test_another_source_or_name_has_an_array_of_its_own(source: Path) -> None:
    make = Maker()
    read(source, make)

    read(source, make, name="others")
    source.write_text("x = 2\n")
    read(source, make)

    assert make.calls == 3


@pytest.mark.parametrize("content", [b"", bytes(28), b"PK rubbish"], ids=["empty", "zeroed", "foreign"])
def test_a_damaged_file_is_made_anew(source: Path, cache: Path, content: bytes) -> None:
    make = Maker()
    read(source, make)
    (file,) = cache.rglob("*.int32")
    file.write_bytes(content)

    assert read(source, make) == read(source, make) == [0, 1, 2]
    assert make.calls == 2


def test_where_nothing_is_writable_it_is_made_each_time(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", NOWHERE)
    make = Maker()

    assert read(source, make) == read(source, make) == [0, 1, 2]
    assert make.calls == 2
