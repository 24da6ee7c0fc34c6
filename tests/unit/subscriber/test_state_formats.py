"""A state file of another release is refused."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from neardup_stream.subscriber import Subscription
from neardup_stream.subscriber.storing import FORMAT


@pytest.mark.parametrize("found", [FORMAT - 1, FORMAT + 1])
def test_a_file_of_another_format_is_refused_and_keeps_it(tmp_path: Path, found: int) -> None:
    path = tmp_path / "state.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {found}")

    with pytest.raises(
        ValueError, match=f"has format {found}, and this release reads {FORMAT}: use the release"
    ):
        Subscription(path)

    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (found,)
