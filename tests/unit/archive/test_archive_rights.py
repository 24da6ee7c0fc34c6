"""Who may read an archive and its forgets: the umask decides, or the file that was there before."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE

import pytest

from neardup_stream.archive.gone import gone_path, write_gone
from neardup_stream.archive.logged import LoggedArchive
from tests.archives import build_archive, frozen_page


@contextmanager
def umask(mask: int) -> Iterator[None]:
    former = os.umask(mask)
    try:
        yield
    finally:
        os.umask(former)


def rights(path: Path) -> int:
    return S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("mask", "expected"), [(0o000, 0o444), (0o022, 0o444), (0o027, 0o440), (0o077, 0o400)]
)
def test_an_archive_can_be_read_by_those_whom_the_umask_lets_and_written_by_none(
    tmp_path: Path, mask: int, expected: int
) -> None:
    path = tmp_path / "new.nda"

    with umask(mask):
        build_archive(path, [frozen_page(1)])

    assert rights(path) == expected


@pytest.mark.parametrize(("former", "expected"), [(0o600, 0o400), (0o640, 0o440), (0o444, 0o444)])
def test_an_archive_that_replaces_another_can_be_read_by_the_same_users(
    tmp_path: Path, former: int, expected: int
) -> None:
    path = tmp_path / "old.nda"
    build_archive(path, [frozen_page(1)])
    path.chmod(former)

    with umask(0o022):
        build_archive(path, [frozen_page(2)], replaces=True)

    assert rights(path) == expected


def test_an_archive_with_force_but_nothing_to_replace_can_be_read_as_the_umask_says(tmp_path: Path) -> None:
    path = tmp_path / "first.nda"

    with umask(0o027):
        build_archive(path, [frozen_page(1)], replaces=True)

    assert rights(path) == 0o440


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_further_forget_leaves_the_rights_of_the_file_of_forgets(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "old.nda"
    build_archive(path, [frozen_page(1), frozen_page(2)])
    header = LoggedArchive(path).header
    write_gone(path, header, [0])
    gone_path(path).chmod(mode)

    with umask(0o027):
        write_gone(path, header, [1])

    assert rights(gone_path(path)) == mode
