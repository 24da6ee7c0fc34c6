"""Writes what a fold knows into SQLite, and reads it back."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from typing import Final

from .fold import Account, Knowledge, Place

__all__ = ["FORMAT", "create_tables", "load_knowledge", "save_knowledge"]

FORMAT: Final = 2
"""Raised when tables change; a file of another format is refused."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS places (
  page_id TEXT PRIMARY KEY, version INTEGER NOT NULL, has_left INTEGER NOT NULL, is_gone INTEGER NOT NULL,
  cluster_id TEXT NOT NULL, url TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS former_urls (page_id TEXT PRIMARY KEY, url TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS accounts (
  cluster_id TEXT PRIMARY KEY, epoch INTEGER NOT NULL, page_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS absorbed (cluster_id TEXT PRIMARY KEY, survivor_id TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS due (
  page_id TEXT PRIMARY KEY, cluster_id TEXT, duplicate_of TEXT, is_gone INTEGER NOT NULL,
  is_needed INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS deletions (page_id TEXT PRIMARY KEY, time REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS redirects (page_id TEXT PRIMARY KEY, url TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS offsets (
  topic TEXT, partition INTEGER, next INTEGER NOT NULL, PRIMARY KEY (topic, partition)
) WITHOUT ROWID;
"""


def create_tables(database: sqlite3.Connection) -> None:
    """Create the tables of an empty file.

    Raises:
        ValueError: the file is of another format.
    """
    found = database.execute("PRAGMA user_version").fetchone()[0]
    if found not in (0, FORMAT):
        raise ValueError(
            f"the state file has format {found}, and this release reads {FORMAT}: use the release that wrote"
            " it, or delete the file and read the topic from its beginning"
        )
    database.executescript(f"BEGIN;{_SCHEMA}PRAGMA user_version = {FORMAT};COMMIT;")


def load_knowledge(database: sqlite3.Connection) -> Knowledge:
    """Return what was saved."""
    knowledge = Knowledge()
    with closing(database.execute("SELECT value FROM facts WHERE name = 'index'")) as rows:
        knowledge.index = next((value for (value,) in rows), "")
    with closing(database.execute("SELECT * FROM former_urls")) as rows:
        knowledge.urls = dict(rows)
    with closing(database.execute("SELECT * FROM places")) as rows:
        for page_id, version, has_left, is_gone, cluster_id, url in rows:
            knowledge.places[page_id] = Place(version, bool(has_left), bool(is_gone), cluster_id)
            if url is not None:
                knowledge.urls[page_id] = url
            else:
                knowledge.urls.pop(page_id, None)
    with closing(database.execute("SELECT * FROM accounts")) as rows:
        knowledge.accounts = {cluster_id: Account(epoch, page_id) for cluster_id, epoch, page_id in rows}
    with closing(database.execute("SELECT * FROM absorbed")) as rows:
        knowledge.absorbed_by = dict(rows)
    return knowledge


def save_knowledge(
    database: sqlite3.Connection,
    knowledge: Knowledge,
    page_ids: Iterable[str],
    cluster_ids: Iterable[str],
    *,
    is_new_index: bool,
) -> None:
    """Write what is known of these pages and clusters, as part of a transaction.

    Args:
        database: with `create_tables` done.
        knowledge: of the fold.
        page_ids: pages that may have changed since the last time.
        cluster_ids: the same for clusters, absorbed ones too.
        is_new_index: what was known before no longer holds: tables are emptied first.
    """
    if is_new_index:
        for table in ("places", "accounts", "absorbed", "former_urls"):
            database.execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours
        former_urls = (each for each in knowledge.urls.items() if each[0] not in knowledge.places)
        database.executemany("INSERT INTO former_urls VALUES (?, ?)", former_urls)
    database.execute("INSERT OR REPLACE INTO facts VALUES ('index', ?)", (knowledge.index,))
    known = [(page_id, knowledge.places[page_id]) for page_id in page_ids if page_id in knowledge.places]
    database.executemany(
        "INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?, ?, ?)",
        (
            (page_id, each.version, each.has_left, each.is_gone, each.cluster_id, knowledge.urls.get(page_id))
            for page_id, each in known
        ),
    )
    for cluster_id in cluster_ids:
        account = knowledge.accounts.get(cluster_id)
        survivor_id = knowledge.absorbed_by.get(cluster_id)
        if account is not None:
            row = (cluster_id, account.epoch, account.page_id)
            database.execute("INSERT OR REPLACE INTO accounts VALUES (?, ?, ?)", row)
        elif survivor_id is not None:
            database.execute("DELETE FROM accounts WHERE cluster_id = ?", (cluster_id,))
            database.execute("INSERT OR REPLACE INTO absorbed VALUES (?, ?)", (cluster_id, survivor_id))
