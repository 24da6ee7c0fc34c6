import io
import json
import logging
import sys
from pathlib import Path

import click
import msgspec
import pytest
from neardup_daemon.cli import main
from neardup_daemon.demo.clusters import ClusterReport, Member, print_clusters
from neardup_daemon.inspect.following import readable as readable_event
from neardup_daemon.inspect.page_facts import MatchFacts, PageFacts
from neardup_daemon.inspect.querying import Answer, readable
from neardup_daemon.logs import LogFormat, configure_logs, log_event
from neardup_daemon.terminal import print_json, printable, printable_json, running_program, wrapped
from rich.console import Console

from neardup_stream.event_parts import EventCluster, EventMatch, Representative
from neardup_stream.events import EventName
from neardup_stream.wire.events import CloudEvent, from_message, to_message
from tests.unit.wire.example_events import EXAMPLES, about

SCHEMAS = Path(__file__).parents[3] / "docs" / "schemas"
CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]
DIRECTIONS = [chr(code) for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))]
HOSTILE = "".join(["http://a.example/\x1b]0;owned\x07", *CONTROLS, *DIRECTIONS, "\u2028\u2029", "é日"])


def is_harmless(text: str) -> bool:
    """Return whether a terminal shows all of it, line by line."""
    plain = click.unstyle(text).replace("\n", "")
    return not any(character in plain for character in (*CONTROLS, *DIRECTIONS, "\u2028", "\u2029"))


@pytest.mark.parametrize("character", [*CONTROLS, *DIRECTIONS], ids=ascii)
def test_a_control_character_is_shown_and_not_obeyed(character: str) -> None:
    assert printable(f"a{character}b").isprintable()
    assert len(printable(character)) == (4 if ord(character) < 0x100 else 6)


def test_other_text_stays_as_it_is() -> None:
    assert printable("https://bücher.example/日本?q=1 \\x1b") == "https://bücher.example/日本?q=1 \\x1b"


def test_json_keeps_its_meaning() -> None:
    shown = printable_json(msgspec.json.encode({"url": HOSTILE}).decode())

    assert is_harmless(shown)
    assert json.loads(shown) == {"url": HOSTILE}


def test_query_shows_hostile_ids_and_urls() -> None:
    page = PageFacts(
        id=HOSTILE, url=HOSTILE, version=1, is_stored=True, state="live", fingerprint="1", scope=""
    )
    match = MatchFacts(
        id=HOSTILE,
        url=HOSTILE,
        version=1,
        kind="near",
        distance_bits=7,
        resemblance=0.8,
        containment=0.9,
        contained_in=0.9,
        scheme="sketch",
    )
    representative = Representative(id=HOSTILE, url=HOSTILE, version=1)
    cluster = EventCluster(id="1.1", epoch=1, size=2, representative=representative)

    shown = readable(
        Answer(page=page, matches=(match,), containers=(match,), is_truncated=False, cluster=cluster)
    )

    assert len(shown.split("\n")) == 5
    assert is_harmless(shown)


def test_tail_shows_hostile_events() -> None:
    data = {
        "page": {"url": HOSTILE},
        "kind": HOSTILE,
        "matches": [{"distance_bits": HOSTILE, "url": HOSTILE}],
        "matches_total": 1,
    }
    event = CloudEvent(
        specversion="1.0",
        datacontenttype="application/json",
        id="1",
        source="/neardup/nd/t",
        type=f"io.neardup.{HOSTILE}.v1",
        subject="a",
        time="2024-05-01T12:00:00Z",
        data=msgspec.Raw(msgspec.json.encode(data)),
    )

    shown = readable_event(event)

    assert len(shown.split("\n")) == 2
    assert is_harmless(shown)


@pytest.mark.parametrize(
    ("name", "shown"),
    {
        "duplicate": "duplicate (near)  http://example.com/é",
        "unique": "unique  http://example.com/é",
        "gone": "gone  http://example.com/é",
        "contained": "contained  http://example.com/é",
        "archived": "archived (near)  http://example.com/é",
        "undecided": "undecided  http://example.com/é",
        "cluster-merge": "cluster-merge  c2 absorbed into c1; c1 keeps http://example.com/0",
        "representative-changed": "representative-changed  http://example.com/0 → http://example.com/1",
    }.items(),
)
def test_tail_shows_what_every_event_is_about(name: EventName, shown: str) -> None:
    event = from_message(to_message(about(name, EXAMPLES[name])))

    assert click.unstyle(readable_event(event)).split("\n")[0] == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    {
        "duplicate": "83.0% alike, 9 bits  http://example.com/0",
        "contained": "97.0% of it, 31.0% of  http://example.com/0",
    }.items(),
)
def test_tail_shows_the_figures_that_decided_a_verdict(name: EventName, shown: str) -> None:
    match = EventMatch(
        id="page-0",
        url="http://example.com/0",
        version=1,
        distance_bits=9,
        resemblance=0.83,
        containment=0.97,
        contained_in=0.31,
    )
    field = "containers" if name == "contained" else "matches"
    data = msgspec.structs.replace(EXAMPLES[name], **{field: (match,)})

    _, line = click.unstyle(readable_event(from_message(to_message(about(name, data))))).split("\n")

    assert line == f"  {shown}"


def test_tail_names_one_bit_in_the_singular() -> None:
    match = EventMatch(id="page-0", url="http://example.com/0", version=1, distance_bits=1)
    data = msgspec.structs.replace(EXAMPLES["duplicate"], matches=(match,))

    _, line = click.unstyle(readable_event(from_message(to_message(about("duplicate", data))))).split("\n")

    assert line == "  1 bit  http://example.com/0"


def test_every_schema_of_an_event_has_an_example() -> None:
    schemas = {path.stem for path in SCHEMAS.glob("*.json")}

    assert schemas - {"page", "dead-letter"} == set(EXAMPLES)


def test_the_demo_shows_hostile_members() -> None:
    stream = io.StringIO()

    print_clusters(
        ClusterReport({2: 1}, 1, 1, HOSTILE, (Member(HOSTILE, None),)), Console(file=stream, width=200)
    )

    assert is_harmless(stream.getvalue())


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_a_log_line_shows_hostile_fields(log_format: LogFormat) -> None:
    stream = io.StringIO()
    configure_logs("info", log_format, stream)

    log_event(logging.getLogger("neardup"), "page_read", url=HOSTILE)

    assert stream.getvalue().count("\n") == 1
    assert is_harmless(stream.getvalue())


def test_a_refusal_shows_a_hostile_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dedup", "a\x1b[2J\u202e\x9b.jsonl"]) == 2

    assert is_harmless(capsys.readouterr().err)


def test_the_running_program_is_called_by_a_path_unless_the_shell_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "neardup-stream"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)

    monkeypatch.setenv("PATH", str(tmp_path))
    assert running_program(str(program)) == "neardup-stream"
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    assert running_program(str(program)) == str(program)
    assert running_program("/lib/neardup_daemon/__main__.py").endswith(" -m neardup_daemon")


def test_a_line_is_wrapped_between_words_and_a_long_word_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    url = "https://a.example/a-long-path"

    assert wrapped("      a few words, more words") == "      a few words,\n      more words"
    assert wrapped(f"  12.5% of {url}  twice") == f"  12.5% of\n  {url}\n  twice"
    assert wrapped("short") == "short"
    assert click.unstyle(wrapped(click.style("six words of which four fit", fg="green"))).count("\n") == 1


def test_json_is_printed_in_utf_8_whatever_the_encoding_of_standard_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="latin-1"))

    print_json('{"url":"http://a.example/é中😀\u0085"}'.encode())

    assert json.loads(raw.getvalue()) == {"url": "http://a.example/é中😀\u0085"}
