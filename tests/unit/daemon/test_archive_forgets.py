"""Forgets beside replacements of their archive: whichever comes first, none is lost without an error."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from neardup_daemon.repair.archive_forgetting import forget_in_archive, rewrite_without

from neardup_stream.archive.gone import (
    ReplacedMeanwhile,
    forgets_locked,
    gone_path,
    read_gone,
    write_gone,
)
from neardup_stream.archive.layout import Header
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.errors import ConfigError
from tests.archives import build_archive, frozen_page


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "old.nda"
    build_archive(path, [frozen_page(1), frozen_page(2)])
    return path


def header_of(path: Path) -> Header:
    return LoggedArchive(path).header


def forgotten(path: Path) -> list[str]:
    archive = LoggedArchive(path)
    return [archive.log.page(row).url for row in np.flatnonzero(read_gone(path, archive.header)).tolist()]


def test_a_forget_of_an_archive_that_was_replaced_meanwhile_is_refused(path: Path) -> None:
    former = header_of(path)
    build_archive(path, [frozen_page(3), frozen_page(4)], replaces=True)

    with pytest.raises(ReplacedMeanwhile, match="forget them again"):
        write_gone(path, former, [1])

    assert not gone_path(path).exists()


def test_a_forget_that_waits_while_the_archive_is_replaced_holds_for_the_new_one(path: Path) -> None:
    url, other = frozen_page(2).logged.url, path.with_name("other.nda")
    build_archive(other, [frozen_page(0), frozen_page(2), frozen_page(5)])

    with ThreadPoolExecutor(1) as thread:
        with forgets_locked(gone_path(path)):
            waiting = thread.submit(forget_in_archive, [url], path)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.05)
            other.replace(path)
        assert waiting.result() == (1, 0, [])

    assert forgotten(path) == [url]


def test_a_directory_that_we_may_not_write_is_refused() -> None:
    with (
        pytest.raises(ConfigError, match=r"cannot write /sys/\.old\.nda\.gone\.lock: "),
        forgets_locked(gone_path(Path("/sys/old.nda"))),
    ):
        pass


def test_of_a_forget_and_a_replacement_at_the_same_time_one_is_refused(path: Path) -> None:
    former = header_of(path)

    with ThreadPoolExecutor(2) as threads:
        with forgets_locked(gone_path(path)):
            replacement = threads.submit(build_archive, path, [frozen_page(3)], replaces=True)
            forget = threads.submit(write_gone, path, former, [1])
            with pytest.raises(TimeoutError):
                replacement.result(timeout=0.05)
        failed = [isinstance(each.exception(), ConfigError) for each in (replacement, forget)]

    assert sorted(failed) == [False, True]
    is_former = header_of(path) == former
    assert failed == [is_former, not is_former]
    assert forgotten(path) == ([frozen_page(2).logged.url] if is_former else [])


@pytest.mark.parametrize("step", ["forget", "forgotten"])
@pytest.mark.parametrize("has_forgets", [False, True])
def test_a_forget_leaves_nothing_where_its_archive_is_moved_over_meanwhile(
    path: Path, step: str, *, has_forgets: bool
) -> None:
    """`mv` waits for no lock, so this is found out when the forget is written."""
    former, other = header_of(path), path.with_name("other.nda")
    build_archive(other, [frozen_page(3), frozen_page(4)])
    if has_forgets:
        write_gone(path, former, [0])
    before = gone_path(path).read_bytes() if has_forgets else None

    def move(at: str) -> None:
        if at == step and other.exists():
            other.replace(path)

    with pytest.raises(ReplacedMeanwhile, match="forget them again"):
        write_gone(path, former, [1], move)

    assert (gone_path(path).read_bytes() if gone_path(path).exists() else None) == before


def test_a_page_of_the_archive_that_was_moved_over_another_is_forgotten_all_the_same(path: Path) -> None:
    url, other = frozen_page(2).logged.url, path.with_name("other.nda")
    build_archive(other, [frozen_page(0), frozen_page(2), frozen_page(5)])

    def move(_: str) -> None:
        if other.exists():
            other.replace(path)

    assert forget_in_archive([url], path, move) == (1, 0, [])
    assert forgotten(path) == [url]


def test_forgets_that_were_moved_beside_the_new_archive_meanwhile_stay(path: Path) -> None:
    former, other = header_of(path), path.with_name("other.nda")
    build_archive(other, [frozen_page(3), frozen_page(4)])
    write_gone(other, header_of(other), [0])

    def move(at: str) -> None:
        if at == "forgotten":
            other.replace(path)
            gone_path(other).replace(gone_path(path))

    with pytest.raises(ReplacedMeanwhile):
        write_gone(path, former, [1], move)

    assert forgotten(path) == [frozen_page(3).logged.url]


def test_forgets_made_while_an_archive_is_rewritten_hold_for_the_rewritten_one(path: Path) -> None:
    rewritten = path.with_name("rewritten.nda")
    write_gone(path, header_of(path), [0])

    assert rewrite_without(path, rewritten, replaces=False) == 1
    write_gone(path, header_of(path), [1])
    rewritten.replace(path)

    assert read_gone(path, header_of(path)).tolist() == [True, True]
    assert rewrite_without(path, path, replaces=True) == 2
    assert [page.url for page in LoggedArchive(path).log.all_pages()] == ["", ""]
    assert read_gone(path, header_of(path)).tolist() == [True, True]
