"""What an archive says of itself."""

from pathlib import Path

from neardup_daemon.inspect.archive_facts import archive_facts

from tests.archives import build_archive


def test_an_archive_without_pages_has_no_keys_and_no_bits_for_them(tmp_path: Path) -> None:
    build_archive(tmp_path / "none.nda", [])

    facts = archive_facts(tmp_path / "none.nda")

    assert (facts.pages, facts.keys, facts.bits_per_key) == (0, 0, 0.0)
