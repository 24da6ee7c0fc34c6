"""The texts of a report are read within the limits of the run."""

import json
from contextvars import copy_context
from pathlib import Path

import pytest
from neardup_daemon.reports.texts import read_texts
from neardup_daemon.settings.settings import Settings

from neardup_stream.cut_short import _CHECK
from neardup_stream.streams.files.source import read_again
from tests.pipelines import essay, page_json

SLOW_MARKUP = "<select>" + "<option>x" * 40_000


def test_only_the_records_asked_for_are_read_and_one_beyond_the_limits_has_no_text(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = tmp_path / "crawl.jsonl"
    slow = json.dumps({"url": "https://example.com/a", "html": SLOW_MARKUP}).encode()
    source.write_bytes(b"\n".join([page_json("a", essay(1)), slow, page_json("a", essay(3))]))
    settings = Settings.load(overrides=["limits.page_seconds=0.3", "limits.max_options=100000"])
    paths = [str(source)]
    first, refused, _ = [
        record.position for block in read_again(paths, settings.limits.max_page_bytes) for record in block
    ]

    assert read_texts(paths, {first, refused}, settings) == {first: essay(1)}
    assert "page_refused" in caplog.messages


class Cut(Exception):  # noqa: N818 - no error: it was asked for
    """The work is to end."""


def test_the_preparation_of_texts_can_be_cut_short_between_pages(tmp_path: Path) -> None:
    source = tmp_path / "crawl.jsonl"
    source.write_bytes(b"\n".join(page_json(str(number), essay(number)) for number in range(3)))
    settings = Settings.load()
    positions = {record.position for block in read_again([str(source)], 1 << 20) for record in block}
    checks = iter([None, None, Cut()])  # of the one block, of the first page, of the second

    def check() -> None:
        if (cut := next(checks)) is not None:
            raise cut

    of_work = copy_context()
    of_work.run(_CHECK.set, check)
    with pytest.raises(Cut):
        of_work.run(read_texts, [str(source)], positions, settings)
