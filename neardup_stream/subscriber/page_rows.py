"""Keep a table of one row for each page in memory, and write its changed rows."""

import sqlite3
from collections.abc import Iterator
from typing import Any

__all__ = ["PageRows"]


class PageRows:
    """Rows by page id, in the order in which they were put.

    Args:
        database: with the table in it.
        table: its name; the first column is `page_id`, the second decides the order after loading.
    """

    def __init__(self, database: sqlite3.Connection, table: str) -> None:
        self._database = database
        self._table = table
        rows = database.execute(f"SELECT * FROM {table} ORDER BY 2")  # noqa: S608 - a name of ours
        self._rows: dict[str, tuple[Any, ...]] = {row[0]: row[1:] for row in rows}
        self._changed: set[str] = set()

    def __iter__(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        return iter(self._rows.items())

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, page_id: str) -> tuple[Any, ...] | None:
        """Return the row of a page; None if there is none."""
        return self._rows.get(page_id)

    @property
    def has_changes(self) -> bool:
        """Whether any row is to be written."""
        return bool(self._changed)

    def is_saved(self, page_id: str) -> bool:
        """Return whether the row of a page is in the file as it is here."""
        return page_id not in self._changed

    def put(self, page_id: str, *row: Any) -> None:
        """Set the row of a page."""
        self._rows[page_id] = row
        self._changed.add(page_id)

    def remove(self, page_id: str) -> None:
        """Remove the row of a page, if there is one."""
        if self._rows.pop(page_id, None) is not None:
            self._changed.add(page_id)

    def save(self) -> None:
        """Write the changed rows, as part of a transaction; `saved` follows once it is committed."""
        for page_id in self._changed:
            row = self._rows.get(page_id)
            if row is None:
                self._database.execute(f"DELETE FROM {self._table} WHERE page_id = ?", (page_id,))  # noqa: S608
            else:
                marks = ", ".join("?" * (1 + len(row)))
                statement = f"INSERT OR REPLACE INTO {self._table} VALUES ({marks})"  # noqa: S608
                self._database.execute(statement, (page_id, *row))

    def saved(self) -> None:
        """Note that the transaction was committed."""
        self._changed.clear()
