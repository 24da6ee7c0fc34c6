"""Archives of the settings: those that do not fit are refused by name, forgets hold for all readers."""

import fcntl
import logging
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace
from neardup_daemon.archives import archive_schema, open_archive
from neardup_daemon.inspect.archive_asking import query_archives
from neardup_daemon.repair.archive_forgetting import rewrite_without
from neardup_daemon.settings.settings import Settings
from neardup_daemon.settings.verdicts import Sketch, Verdict

from neardup_stream.archive.gone import gone_path, read_gone, write_gone
from neardup_stream.archive.logged import LoggedArchive
from neardup_stream.archive.writing import ArchiveWriter
from neardup_stream.errors import ConfigError, CorruptData
from tests.archives import frozen_page
from tests.unit.daemon.frozen_archives import SETTINGS, freeze, reloading


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "old.nda"
    freeze(path, frozen_page(1), frozen_page(2))
    return path


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (replace(SETTINGS, sketch=Sketch(bins=128)), "sketch.bins is 128, the archive has 160"),
        (replace(SETTINGS, verdict=Verdict(min_tokens=5)), "verdict.min_tokens is 5, the archive has 10"),
        (
            replace(SETTINGS, verdict=Verdict(scope="host")),
            "verdict.scope is 'host', the archive has 'everything'",
        ),
    ],
)
def test_settings_that_do_not_fit_are_named(path: Path, settings: Settings, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        open_archive(path, settings)


def test_another_unicode_is_only_warned_of(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    freeze(path, frozen_page(1), unicode="1.1")

    with caplog.at_level(logging.WARNING):
        open_archive(path, SETTINGS)

    assert "archive_unicode_differs" in caplog.text


def test_an_archive_its_link_its_copy_and_its_rewrite_are_asked_once(path: Path, tmp_path: Path) -> None:
    link, copy, rewritten = (tmp_path / name for name in ("link.nda", "copy.nda", "rewritten.nda"))
    link.symlink_to(path)
    shutil.copyfile(path, copy)
    rewrite_without(path, rewritten, replaces=False)
    page = frozen_page(1).logged.id

    answer = query_archives(page, [path, link, copy, rewritten], SETTINGS)

    assert [entry.archive for entry in answer.entries] == [path.name]


def test_without_sketches_there_are_no_archives() -> None:
    with pytest.raises(ConfigError, match=r"verdict\.scheme"):
        archive_schema(replace(SETTINGS, verdict=Verdict(scheme="simhash")))


def test_forgets_are_seen_and_undone(path: Path) -> None:
    archives = reloading(path)
    (archive,) = archives.current()

    write_gone(path, archive.index.header, [1])
    assert archives.current()[0].gone.tolist() == [False, True]

    gone_path(path).unlink()
    assert archives.current()[0].gone.tolist() == [False, False]


def test_forgets_through_a_link_hold_for_the_archive_itself_and_the_other_way_round(
    path: Path, tmp_path: Path
) -> None:
    link = tmp_path / "current.nda"
    link.symlink_to(path)
    by_link, by_name = reloading(link), reloading(path)
    header = by_name.current()[0].index.header

    write_gone(link, header, [1])
    assert by_name.current()[0].gone.tolist() == [False, True]

    write_gone(path, header, [0])
    assert by_link.current()[0].gone.tolist() == [True, True]


def test_an_archive_that_is_rewritten_over_itself_through_a_link_keeps_the_link(
    path: Path, tmp_path: Path
) -> None:
    link = tmp_path / "current.nda"
    link.symlink_to(path)
    write_gone(link, LoggedArchive(path).header, [1])

    assert rewrite_without(link, link, replaces=True) == 1

    assert link.is_symlink()
    write_gone(link, LoggedArchive(path).header, [0])
    assert reloading(path).current()[0].gone.tolist() == [True, True]


def test_a_new_archive_under_a_link_replaces_the_file_that_it_leads_to(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "links" / "current.nda"
    link.parent.mkdir()
    link.symlink_to(path)

    freeze(link, frozen_page(3), frozen_page(4), frozen_page(5))

    assert link.is_symlink()
    assert LoggedArchive(path).header.page_count == 3
    assert list(link.parent.iterdir()) == [link]


@pytest.mark.parametrize("place", ["of the file", "of the link"])
def test_an_archive_with_forgets_is_not_replaced_through_a_link(
    path: Path, tmp_path: Path, place: str
) -> None:
    other, link = tmp_path / "other.nda", tmp_path / "current.nda"
    freeze(other, frozen_page(7))
    link.symlink_to(path)
    write_gone(path, LoggedArchive(path).header, [1])
    forgets = (
        gone_path(path).rename(tmp_path / "current.nda.gone") if place == "of the link" else gone_path(path)
    )
    former = path.read_bytes()

    with pytest.raises(ConfigError, match=f"{forgets.name} notes 1 forgotten pages"):
        freeze(link, frozen_page(3))
    with pytest.raises(ConfigError, match=f"{forgets.name} notes 1 forgotten pages"):
        rewrite_without(other, link, replaces=True)

    assert link.is_symlink()
    assert path.read_bytes() == former
    assert forgets.exists()


def test_forgets_beside_a_link_are_refused_until_they_are_moved(path: Path, tmp_path: Path) -> None:
    """Earlier releases wrote them there."""
    link = tmp_path / "current.nda"
    link.symlink_to(path)
    header = LoggedArchive(path).header
    write_gone(path, header, [1])
    gone_path(path).rename(tmp_path / "current.nda.gone")

    with pytest.raises(ConfigError, match=r"current\.nda\.gone stands beside a link .* move it to"):
        read_gone(link, header)


def test_forgets_made_at_the_same_time_are_all_kept(path: Path) -> None:
    freeze(path, *(frozen_page(n) for n in range(24)))
    header = LoggedArchive(path).header

    with ThreadPoolExecutor(8) as threads:
        added = list(threads.map(lambda row: write_gone(path, header, [row]), range(24)))

    assert added == [1] * 24
    assert read_gone(path, header).all()


def test_a_forget_waits_for_one_that_another_process_makes(path: Path) -> None:
    header = LoggedArchive(path).header
    write_gone(path, header, [0])
    with path.with_name(f".{gone_path(path).name}.lock").open("rb+") as lock, ThreadPoolExecutor(1) as thread:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = thread.submit(write_gone, path, header, [1])
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.05)
        fcntl.flock(lock, fcntl.LOCK_UN)

        assert waiting.result() == 1
    assert read_gone(path, header).all()


def test_a_forget_of_nothing_new_writes_nothing(path: Path) -> None:
    assert write_gone(path, LoggedArchive(path).header, []) == 0
    assert not gone_path(path).exists()


def test_an_archive_with_forgets_is_not_replaced(path: Path) -> None:
    freeze(path, *(frozen_page(n) for n in range(12)))
    write_gone(path, LoggedArchive(path).header, [1, 9])
    former = path.read_bytes()

    with pytest.raises(
        ConfigError, match=r"old\.nda\.gone notes 2 forgotten pages.*remove old\.nda\.gone first"
    ):
        freeze(path, frozen_page(3))
    assert path.read_bytes() == former

    gone_path(path).unlink()
    freeze(path, frozen_page(3))
    assert LoggedArchive(path).header.page_count == 1


@pytest.mark.parametrize("name", ["old.nda", "link.nda"])
def test_a_forget_while_a_replacement_is_written_keeps_the_archive(path: Path, name: str) -> None:
    path.with_name("link.nda").symlink_to(path)
    former = path.read_bytes()

    with ArchiveWriter(path.with_name(name), replaces=True) as writer:
        write_gone(path, LoggedArchive(path).header, [1])
        with pytest.raises(ConfigError, match="notes 1 forgotten pages"):
            writer.finish(0, 0, 0, {})

    assert path.read_bytes() == former
    assert not list(path.parent.glob("*.tmp"))


def test_forgets_of_another_archive_are_refused(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.nda"
    freeze(other, frozen_page(7), frozen_page(8))
    write_gone(other, open_archive(other, SETTINGS).index.header, [0])
    gone_path(other).rename(gone_path(path))

    with pytest.raises(CorruptData, match="belongs to another archive"):
        open_archive(path, SETTINGS)


def test_a_file_in_the_place_of_a_page_is_not_read_and_the_message_says_how_it_is(
    path: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.json"
    page.write_text("{}")

    with pytest.raises(ConfigError, match=r"is not read: give its page to - instead; .*old\.nda has no page"):
        query_archives(str(page), [path], SETTINGS)
    with pytest.raises(ConfigError, match=r"^[^;]*old\.nda has no page 'http://a\.example/page\.json'"):
        query_archives("http://a.example/page.json", [path], SETTINGS)
