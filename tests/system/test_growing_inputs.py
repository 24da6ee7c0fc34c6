"""`dedup` reads some inputs twice: one that has grown meanwhile is another input."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pipelines import essay, page_json
from tests.servers.program import environment
from tests.unit.streams.archives import response

PAGES = 300
"""Pages that are alike, with more events than a pipe holds."""


def archived(number: int) -> bytes:
    return response(f"https://a.example/{number}", b"<p>" + essay(1).encode())


def line(number: int) -> bytes:
    return page_json(str(number), essay(1)) + b"\n"


@pytest.mark.parametrize(
    ("names", "option", "record"),
    [
        (("crawl.warc", "out.warc.gz"), "--write-warc", archived),
        (("crawl.jsonl", "out.jsonl"), "--keep-representatives", line),
    ],
)
def test_an_input_that_grows_is_refused_and_the_earlier_output_stays(
    names: tuple[str, str], option: str, record: Callable[[int], bytes], tmp_path: Path
) -> None:
    source, output = (tmp_path / name for name in names)
    source.write_bytes(b"".join(map(record, range(PAGES))))
    output.write_bytes(b"of an earlier run")
    command = [sys.executable, "-m", "neardup_daemon", "dedup", str(source), option, str(output)]

    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment({})
    ) as run:
        assert run.stdout
        try:
            assert run.stdout.read(1)
            with source.open("ab") as growing:
                growing.write(record(PAGES))
            _, errors = run.communicate(timeout=90)
        finally:
            run.kill()

    assert run.returncode == 4
    assert b"an input has changed while it was read; run again" in errors
    assert output.read_bytes() == b"of an earlier run"
