import numpy as np
import pytest

from neardup_stream.frames.table import FrameTable
from neardup_stream.pipeline.frame_reading import SETTLED_SITE_PAGES
from neardup_stream.pipeline.known_tables import KnownTable, KnownTables


def known(line_count: int, page_count: int = 1, seconds: float = 0.0) -> KnownTable:
    lines = np.arange(line_count, dtype=np.uint32)
    return KnownTable(b"", FrameTable.empty().learn([lines] * page_count, 1 << 20), seconds)


@pytest.mark.parametrize(
    ("line_count", "kept"), [(10, ["b", "c"]), (11, ["c"])], ids=["at the bound", "above"]
)
def test_tables_of_more_lines_than_are_kept_go_those_used_longest_ago_first(
    line_count: int, kept: list[str]
) -> None:
    tables = KnownTables(1024, most_lines=20)
    tables.keep({"b": known(10), "a": known(10)})
    tables.use("b")

    tables.keep({"c": known(line_count)})

    gone = list(tables.forget_oldest())
    assert gone == [site for site in ("a", "b") if site not in kept]
    assert [site for site in ("a", "b", "c") if site in tables] == kept
    assert len(tables) == len(kept)


def test_sites_beyond_those_that_are_kept_go() -> None:
    tables = KnownTables(1024, most_sites=2)

    tables.keep({site: known(1) for site in ("a", "b", "c")})

    assert list(tables.forget_oldest()) == ["a"]


def test_sites_that_are_used_stay_however_large_their_tables_are() -> None:
    tables = KnownTables(1024, most_lines=20)
    tables.keep({site: known(15) for site in ("a", "b", "c")})

    assert list(tables.forget_oldest(used={"b", "c"})) == ["a"]
    assert len(tables) == 2


def test_lines_of_a_table_that_was_replaced_count_no_more() -> None:
    tables = KnownTables(1024, most_lines=20)

    for line_count in (20, 15, 20):
        tables.keep({"a": known(line_count)})

    assert list(tables.forget_oldest()) == []


def test_a_table_that_was_read_later_stays() -> None:
    tables, later = KnownTables(1024), known(2, seconds=5.0)
    tables.keep({"a": later})

    tables.keep({"a": known(1, seconds=4.0)})

    assert tables["a"] is tables.get("a") is later


def test_sites_are_counted_by_what_is_known_of_them() -> None:
    tables = KnownTables(full_lines=5, most_sites=2)

    tables.keep({"a": known(4, SETTLED_SITE_PAGES), "b": known(4, SETTLED_SITE_PAGES - 1), "c": known(5)})
    assert tables.counts == {"settled": 1, "young": 1, "full": 1}

    assert list(tables.forget_oldest()) == ["a"]
    assert tables.counts["settled"] == 0
