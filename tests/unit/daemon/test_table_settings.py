"""Which settings a layout of the tables has."""

import pytest
from neardup_daemon.settings.settings import Settings
from neardup_daemon.table_settings import StoredLayouts

from neardup_stream.errors import InvariantBroken
from neardup_stream.stores.redis.layouts import TableSettings

SETTINGS = Settings()
FIRST = TableSettings(SETTINGS.index.expected_pages, SETTINGS.index.blocks, SETTINGS.index.substrings)
SECOND = FIRST._replace(expected_pages=2 * FIRST.expected_pages)


def test_tables_that_were_never_laid_out_again_have_the_layout_of_the_creation() -> None:
    assert StoredLayouts(SETTINGS, {}).tables(0) == FIRST


def test_a_layout_that_is_stored_has_its_own_settings() -> None:
    layouts = StoredLayouts(SETTINGS, {0: FIRST, 1: SECOND})

    assert (layouts.tables(0), layouts.tables(1)) == (FIRST, SECOND)
    assert layouts.settings(1).index.expected_pages == SECOND.expected_pages


def test_a_layout_that_is_not_known_is_not_taken_for_that_of_the_creation() -> None:
    with pytest.raises(InvariantBroken, match="layout 2 of the tables is in use"):
        StoredLayouts(SETTINGS, {0: FIRST, 1: SECOND}).tables(2)
