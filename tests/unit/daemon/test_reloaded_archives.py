"""Archives of a daemon whose files are replaced: new ones are asked, bad ones refused."""

import logging
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from msgspec.structs import replace
from neardup_daemon.archives import open_archive
from neardup_daemon.loop_wiring import build_consultation
from neardup_daemon.policy import policy
from neardup_daemon.reloaded_archives import ReloadedArchives
from neardup_daemon.repair.archive_forgetting import rewrite_without

from neardup_stream.archive.gone import gone_path, write_gone
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.errors import ConfigError, CorruptData
from neardup_stream.meters import NoMeters
from tests.archives import frozen_page
from tests.servers.process import wait_until
from tests.unit.daemon.frozen_archives import SETTINGS, freeze, reloading

RELOAD_SECONDS = 30


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "old.nda"
    freeze(path, frozen_page(1), frozen_page(2))
    return path


def page_counts(archives: ReloadedArchives) -> list[int]:
    return [archive.index.header.page_count for archive in archives.current()]


def wait_for_refusal(archives: ReloadedArchives, caplog: pytest.LogCaptureFixture) -> None:
    """Look until the file under the name of an archive is refused."""

    def is_refused() -> bool:
        archives.current()
        return "archive_reload_failed" in caplog.text

    with caplog.at_level(logging.WARNING):
        wait_until(is_refused, RELOAD_SECONDS)


def damage(path: Path) -> None:
    """Put a file in its place that differs in one byte."""
    content = bytearray(path.read_bytes())
    content[LoggedArchive(path).header.by_name["sketch"].offset] ^= 1
    path.unlink()
    path.write_bytes(content)


def test_a_replaced_archive_is_asked_anew(path: Path) -> None:
    archives = reloading(path)
    assert page_counts(archives) == [2]

    freeze(path, frozen_page(3))

    assert page_counts(archives) == [2]  # while the new one is verified, in a thread
    wait_until(lambda: page_counts(archives) == [1], RELOAD_SECONDS)


def test_an_archive_that_is_named_twice_is_asked_once_until_its_second_name_has_another(path: Path) -> None:
    copy = path.with_name("copy.nda")
    shutil.copyfile(path, copy)
    archives = reloading(path, other=copy)
    assert page_counts(archives) == [2]

    freeze(copy, frozen_page(3))

    wait_until(lambda: page_counts(archives) == [2, 1], RELOAD_SECONDS)


def test_where_a_match_decides_forgets_are_seen_and_another_archive_is_refused(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    archives = reloading(path, "skip")
    write_gone(path, archives.current()[0].index.header, [1])
    assert archives.current()[0].gone.tolist() == [False, True]

    gone_path(path).unlink()
    freeze(path, frozen_page(3))

    wait_for_refusal(archives, caplog)
    assert page_counts(archives) == [2]
    record = caplog.records[0]
    assert "raise verdict.policy" in str(record.__dict__["fields"])


def test_where_a_match_decides_an_archive_that_is_rewritten_over_itself_is_asked_with_its_later_forgets(
    path: Path,
) -> None:
    archives = reloading(path, "skip")
    settings = replace(SETTINGS, archive=replace(SETTINGS.archive, files=(str(path),), on_match="skip"))
    agreed = policy(settings)
    former = archives.current()[0].index.header
    write_gone(path, former, [1])

    rewrite_without(path, path, replaces=True)
    write_gone(path, LoggedArchive(path).header, [0])

    wait_until(lambda: archives.current()[0].index.header.archive_id != former.archive_id, RELOAD_SECONDS)
    assert archives.current()[0].gone.tolist() == [True, True]
    assert policy(settings) == agreed
    assert build_consultation(settings, NoMeters(), agreed) is not None


def test_an_archive_that_is_replaced_after_the_policy_was_compared_is_refused(path: Path) -> None:
    archive = replace(SETTINGS.archive, files=(str(path),), on_match="skip")
    settings = replace(SETTINGS, archive=archive)
    agreed = policy(settings)
    assert build_consultation(settings, NoMeters(), agreed) is not None

    path.unlink()
    freeze(path, frozen_page(3))

    with pytest.raises(ConfigError, match=r"old\.nda is archive .* was replaced meanwhile"):
        build_consultation(settings, NoMeters(), agreed)
    assert build_consultation(settings, NoMeters(), policy(settings)) is not None


def test_a_damaged_replacement_is_refused_and_the_former_archive_asked_on(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    archives = reloading(path)
    damage(path)

    wait_for_refusal(archives, caplog)

    assert len(archives.current()[0].index.sketches(np.arange(2))) == 2


@pytest.mark.parametrize("content", [b"", b"no archive at all"])
def test_a_bad_replacement_is_logged_and_the_former_archive_asked_on(
    path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    archives = reloading(path)

    path.unlink()
    path.write_bytes(content)

    wait_for_refusal(archives, caplog)
    assert page_counts(archives) == [2]


def test_what_is_forgotten_counts_though_a_damaged_file_stands_in_the_place_of_the_archive(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    archives = reloading(path)
    header = open_archive(path, SETTINGS).index.header
    damage(path)
    wait_for_refusal(archives, caplog)

    write_gone(path, header, [0])

    wait_until(lambda: archives.current()[0].gone.tolist() == [True, False], RELOAD_SECONDS)


class Refusals(NoMeters):
    """Notes how many archives are not the file under their name."""

    count = 0

    def refused_archives(self, count: int) -> None:
        self.count = count


def test_a_refused_file_is_logged_once_for_each_change_and_counted_while_it_stands_there(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    refusals = Refusals()
    archives = reloading(path, meters=refusals)

    def look_until(line_count: int, refused_count: int) -> None:
        wanted = [[2], line_count, refused_count]
        wait_until(
            lambda: [page_counts(archives), len(caplog.records), refusals.count] == wanted, RELOAD_SECONDS
        )

    former = path.rename(path.with_name("former.nda"))
    with caplog.at_level(logging.WARNING):
        look_until(1, 1)
        assert [page_counts(archives) for _ in range(3)] == [[2]] * 3
        assert len(caplog.records) == 1

        path.write_bytes(b"no archive")
        look_until(2, 1)

        former.rename(path)
        look_until(2, 0)


def test_three_readers_beside_replacements_and_forgets_get_the_answer_of_one_state(path: Path) -> None:
    archives = reloading(path)
    is_over = Event()

    def read() -> set[tuple[str, ...]]:
        answers, is_last = set(), False
        while not is_last:
            is_last = is_over.is_set()
            (archive,) = archives.current()
            pages = zip(archive.index.log.all_pages(), archive.gone.tolist(), strict=True)
            answers.add(tuple(page.id.rpartition("/")[2] for page, is_gone in pages if not is_gone))
        return answers

    with ThreadPoolExecutor(3) as threads:
        readers = [threads.submit(read) for _ in range(3)]
        for number in range(20):
            gone_path(path).unlink(missing_ok=True)
            freeze(path, *map(frozen_page, (3, 6) if number % 2 else (1, 4, 7)))
            write_gone(path, open_archive(path, SETTINGS).index.header, [0])
        gone_path(path).unlink()
        freeze(path, frozen_page(9))
        wait_until(lambda: page_counts(archives) == [1], RELOAD_SECONDS)
        is_over.set()
        answers = set().union(*(reader.result() for reader in readers))

    assert ("9",) in answers
    assert answers <= {("1", "2"), ("1", "4", "7"), ("4", "7"), ("3", "6"), ("6",), ("2", "1"), ("9",)}


def test_a_damaged_byte_anywhere_is_found_at_start(path: Path) -> None:
    damage(path)

    with pytest.raises(CorruptData):
        reloading(path)
