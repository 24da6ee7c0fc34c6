"""`dedup` of what nearly holds no page: it ends with 2, and earlier outputs stay."""

import signal
from pathlib import Path

from tests.pipelines import essay, page_json
from tests.servers.process import wait_until
from tests.servers.program import piped_program
from tests.system.conftest import call

PAGES = b"".join(page_json(name, essay(topic)) + b"\n" for name, topic in (("a", 1), ("b", 2), ("c", 1)))


def test_an_input_of_which_nothing_is_a_page_ends_with_2_and_a_hint(tmp_path: Path) -> None:
    letters = tmp_path / "dead.jsonl"
    foreign = [b'{"address": "http://a.example/%d", "content": "words"}' % number for number in range(20)]

    run = call("dedup", "-", "--dead-letters", str(letters), stdin=b"\n".join(foreign))

    assert run.returncode == 2
    assert "20 of 20 records are dead letters" in run.stderr.decode()
    assert "[page.fields]" in run.stderr.decode()
    assert len(letters.read_bytes().splitlines()) == 20


def test_outputs_of_an_earlier_run_outlive_one_of_which_nothing_is_a_page(tmp_path: Path) -> None:
    pages, names = (
        tmp_path / "pages.jsonl",
        ("events", "clusters", "report", "keep-representatives", "dead-letters"),
    )
    pages.write_bytes(PAGES)
    files = [tmp_path / f"{name}.jsonl" for name in names]
    options = [word for name, file in zip(names, files, strict=True) for word in (f"--{name}", str(file))]
    assert call("dedup", str(pages), *options).returncode == 0
    before = [file.read_bytes() for file in files]

    run = call("dedup", str(pages), *options, "--set", "page.fields.url=URI")

    assert run.returncode == 2
    assert [file.read_bytes() for file in files[:-1]] == before[:-1]
    assert files[-1].read_bytes().count(b"\n") == PAGES.count(b"\n")
    assert sorted(tmp_path.iterdir()) == sorted([pages, *files])


def test_they_outlive_such_a_run_that_is_stopped_too(tmp_path: Path) -> None:
    events, letters = tmp_path / "events.jsonl", tmp_path / "letters.jsonl"
    events.write_bytes(b"of an earlier run\n")

    def dead_letter_count() -> int:
        return sum(file.read_bytes().count(b"\n") for file in tmp_path.glob("letters*.partial"))

    with piped_program(["dedup", "-", "--events", str(events), "--dead-letters", str(letters)]) as run:
        run.stdin.write(b"rubbish\n" * 70)
        run.stdin.flush()
        wait_until(lambda: dead_letter_count() == 70, 60)
        run.child.send_signal(signal.SIGTERM)
        code, errors = run.child.wait(60), run.stderr.read()

    assert code == 2
    assert b"70 of 70 records are dead letters" in errors
    assert events.read_bytes() == b"of an earlier run\n"
    assert sorted(tmp_path.iterdir()) == [events, letters]
