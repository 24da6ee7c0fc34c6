"""`dedup --write-warc`, read back by warcio, which is no code of ours."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from backports import zstd
from warcio.warcwriter import WARCWriter

from neardup_stream.streams.files.warc_revisits import IDENTICAL_PROFILE, NEAR_PROFILE
from tests.servers.process import HEARING_SIGNALS, wait_until
from tests.servers.program import environment
from tests.system.conftest import call
from tests.system.written_warc import HEAD, dedup, records, text, write

DATA = Path(__file__).parents[1] / "data" / "crawlers"


UNDECIDED = {
    "status": b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n",
    "type": b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n",
    "coding": b"HTTP/1.1 200 OK\r\nContent-Encoding: " + b"gzip," * 20 + b"gzip\r\n\r\n",
    "depth": HEAD,
}
"""Heads of captures that are skipped, or become dead letters."""

ORIGINAL = text(1)
PAGES = {
    "https://a.example/": ORIGINAL,
    "https://b.example/same": ORIGINAL,
    "https://a.example/other": text(2),
    "https://c.example/alike": f"{ORIGINAL} and a word more",
    "https://d.example/short": "too short",
}


@pytest.mark.parametrize("name", ["crawl.warc.gz", "crawl.warc"])
def test_duplicates_are_revisits_that_warcio_reads_and_that_lead_to_what_is_kept(
    name: str, tmp_path: Path
) -> None:
    source, output, events = tmp_path / name, tmp_path / "out.warc.gz", tmp_path / "events.jsonl"
    write(source, list(PAGES.items()), is_gzip=name.endswith(".gz"))

    summary = dedup(str(source), "--events", str(events), "--write-warc", str(output))

    before = {each.id: each for each in records(source)}
    after = list(records(output))
    by_id = {each.id: each for each in after}
    revisits = {each.headers["WARC-Target-URI"]: each for each in after if each.type == "revisit"}
    assert b"1 revisits of equal payloads, 1 of near-duplicates, 0 damaged" in summary
    assert after[0].type == "warcinfo"
    assert [each.id for each in after[1:]] == list(before)
    assert {url: each.headers["WARC-Profile"] for url, each in revisits.items()} == {
        "https://b.example/same": IDENTICAL_PROFILE,
        "https://c.example/alike": NEAR_PROFILE,
    }
    for each in after[1:]:
        if each.type == "revisit":
            kept = by_id[each.headers["WARC-Refers-To"]]
            assert kept.type == "response"
            assert kept.headers["WARC-Target-URI"] == each.headers["WARC-Refers-To-Target-URI"]
            assert kept.headers["WARC-Date"] == each.headers["WARC-Refers-To-Date"]
            assert each.http == "200 OK"
            assert each.headers["WARC-Payload-Digest"] == before[each.id].headers["WARC-Payload-Digest"]
            same = kept.payload == before[each.id].payload
            assert same == (each.headers["WARC-Profile"] == IDENTICAL_PROFILE)
        else:
            assert each == before[each.id]
    written = {json.loads(line)["id"] for line in events.read_text().splitlines()}
    assert {each.headers["Neardup-Event-ID"] for each in revisits.values()} <= written


@pytest.mark.parametrize("is_cut", [False, True], ids=["one signal", "two signals"])
def test_a_second_signal_ends_the_writing_of_the_warc_and_the_first_does_not(
    tmp_path: Path, *, is_cut: bool
) -> None:
    source, output = tmp_path / "crawl.warc", tmp_path / "out.warc.gz"
    write(source, [(f"https://a.example/{number}", text(number, 10_000)) for number in range(200)])
    output.write_bytes(b"of an earlier run")
    command = [sys.executable, "-m", "neardup_daemon", "dedup", str(source)]
    outputs = ["--events", str(tmp_path / "events.jsonl"), "--write-warc", str(output)]

    with subprocess.Popen(
        [*HEARING_SIGNALS, *command, *outputs], stderr=subprocess.PIPE, env=environment({})
    ) as run:
        assert run.stderr
        try:
            wait_until(lambda: any(path.stat().st_size for path in tmp_path.glob("out*.partial")), 60)
            for number in (signal.SIGSTOP, *(signal.SIGTERM, signal.SIGINT)[: 1 + is_cut], signal.SIGCONT):
                run.send_signal(number)
            ended, errors = run.wait(60), run.stderr.read()
        finally:
            run.kill()

    if is_cut:
        (partial,) = tmp_path.glob("out*.partial")
        assert ended in {128 + signal.SIGTERM, 128 + signal.SIGINT}
        assert output.read_bytes() == b"of an earlier run"
        assert b"partial_output_kept" in errors
        assert bytes(partial) in errors
        assert b"stopped after the files were read: not complete are " in errors
        assert b"%s/events.jsonl, %s" % (bytes(tmp_path), bytes(output)) in errors
        assert b"before the files were read to their end" not in errors
    else:
        assert ended == 0
        assert sum(each.type in {"response", "revisit"} for each in records(output)) == 200


def test_pages_that_the_index_knows_already_are_written_in_full_and_counted(tmp_path: Path) -> None:
    source, output, state = tmp_path / "crawl.warc", tmp_path / "out.warc.gz", str(tmp_path / "state")
    same_pages = tmp_path / "again.warc.gz"
    write(source, list(PAGES.items()), is_gzip=False)
    write(same_pages, list(PAGES.items()), is_gzip=True)

    summaries = [
        dedup(str(each), "--state", state, "--write-warc", str(output))
        for each in (source, source, same_pages)
    ]

    assert b"warning" not in summaries[0]
    for summary in summaries[1:]:
        assert b"0 revisits of equal payloads, 0 of near-duplicates" in summary
        assert b"warning: %s holds 5 pages in full that this index knew already" % bytes(output) in summary


def test_what_a_damaged_file_kept_from_being_written_is_written_once_it_is_repaired(tmp_path: Path) -> None:
    first, second, output = (tmp_path / name for name in ("first.warc.gz", "second.warc.gz", "out.warc.gz"))
    write(first, list(PAGES.items()))
    write(second, [("https://e.example/", ORIGINAL), ("https://f.example/", ORIGINAL)])
    whole = second.read_bytes()
    second.write_bytes(whole[:20])
    command = ["dedup", str(first), str(second), "--state", str(tmp_path / "state")]
    command += ["--write-warc", str(output)]

    damaged = call(*command)
    assert damaged.returncode == 4
    assert b"output_not_written" in damaged.stderr
    assert b"input damaged" in damaged.stderr
    assert not output.exists()
    second.write_bytes(whole)
    repaired = call(*command)

    assert repaired.returncode == 0, repaired.stderr
    assert len(damaged.stdout.splitlines()) == 2
    assert len(repaired.stdout.splitlines()) == 4
    assert sum(each.type == "revisit" for each in records(output)) == 4


def test_a_capture_that_was_overwritten_is_kept_for_the_duplicates_of_its_time(tmp_path: Path) -> None:
    """A page changes after its copy was seen: the copy leads to the capture whose text it has."""
    source, output = tmp_path / "crawl.warc.gz", tmp_path / "out.warc.gz"
    pages = [
        ("https://a.example/", ORIGINAL),
        ("https://b.example/", ORIGINAL),
        ("https://a.example/", text(3)),
        ("https://c.example/", text(3)),
    ]
    write(source, pages)

    dedup(str(source), "--write-warc", str(output))

    dates = {
        each.headers["WARC-Target-URI"]: each.headers["WARC-Refers-To-Date"]
        for each in records(output)
        if each.type == "revisit"
    }
    assert dates == {
        "https://b.example/": "2026-01-01T00:00:00Z",
        "https://c.example/": "2026-01-01T00:00:02Z",
    }


def test_a_capture_that_was_not_decided_is_not_what_a_revisit_refers_to(tmp_path: Path) -> None:
    """A page, a later capture that is none, and a copy of the page: for each reason."""
    source, output = tmp_path / "crawl.warc.gz", tmp_path / "out.warc.gz"
    pages: list[tuple[str, str]] = []
    heads: dict[int, bytes] = {}
    for number, reason in enumerate(UNDECIDED):
        content = text(10 + number)
        again = "<div>" * 30 + text(20 + number) if reason == "depth" else text(20 + number)
        heads[len(pages) + 1] = UNDECIDED[reason]
        for site, written in (("first", content), ("first", again), ("copy", content)):
            pages.append((f"https://{site}.example/{reason}", written))
    write(source, pages, heads=heads)

    dedup(
        str(source),
        "--write-warc",
        str(output),
        "--set",
        "pages.status=[200]",
        "--set",
        "limits.max_depth=20",
    )

    refers_to = {
        each.headers["WARC-Target-URI"]: (
            each.headers["WARC-Refers-To-Target-URI"],
            each.headers["WARC-Refers-To-Date"],
        )
        for each in records(output)
        if each.type == "revisit"
    }
    assert refers_to == {
        f"https://copy.example/{reason}": (
            f"https://first.example/{reason}",
            f"2026-01-01T00:00:{3 * number:02}Z",
        )
        for number, reason in enumerate(UNDECIDED)
    }


def test_what_a_revisit_of_an_earlier_file_refers_to_is_copied(tmp_path: Path) -> None:
    revisits, source, output = (tmp_path / name for name in ("revisits.warc.gz", "crawl.warc.gz", "out.warc"))
    write(source, list(PAGES.items()))
    copy = next(each for each in records(source) if each.headers["WARC-Target-URI"].endswith("/same"))
    named = [copy.headers[name] for name in ("WARC-Payload-Digest", "WARC-Target-URI", "WARC-Date")]
    with revisits.open("wb") as file:
        writer = WARCWriter(file)
        writer.write_record(writer.create_revisit_record("https://e.example/", *named))

    summary = dedup(str(revisits), str(source), "--write-warc", str(output))

    after = list(records(output))
    assert b"0 revisits of equal payloads, 1 of near-duplicates, 0 damaged" in summary
    assert copy in after
    assert after[1] == next(records(revisits))


@pytest.mark.parametrize(
    "names", [("stormcrawler-1.warc", "stormcrawler-2.warc"), ("warcio-1.wacz", "warcio-2.wacz")]
)
def test_what_crawlers_wrote_is_written_anew(names: Sequence[str], tmp_path: Path) -> None:
    """`warcio` is what Browsertrix writes: a collection of archives."""
    output = tmp_path / "out.warc.gz"

    summary = dedup(*(str(DATA / name) for name in names), "--write-warc", str(output))

    after = list(records(output))
    by_id = {each.id: each for each in after}
    revisits = [each for each in after if each.type == "revisit"]
    assert b" 0 damaged records" in summary
    assert revisits
    assert all(by_id[each.headers["WARC-Refers-To"]].type == "response" for each in revisits)


def test_an_open_file_is_written_where_it_is(tmp_path: Path) -> None:
    source, output = tmp_path / "crawl.warc.gz", tmp_path / "out.warc"
    write(source, list(PAGES.items()))
    output.write_bytes(b"")
    command = [sys.executable, "-m", "neardup_daemon", "dedup", str(source), "--events", "/dev/null"]

    with output.open("ab") as ours:
        done = subprocess.run(
            [*command, "--write-warc", "/dev/stdout"],
            stdout=ours,
            stderr=subprocess.PIPE,
            env=environment({}),
            timeout=90,
            check=False,
        )

    assert done.returncode == 0, done.stderr
    assert sum(each.type in {"response", "revisit"} for each in records(output)) == len(PAGES)


def test_a_zstd_archive_is_written_anew_as_any_other(tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain.warc", tmp_path / "packed.warc.zst"
    write(plain, list(PAGES.items()), is_gzip=False)
    packed.write_bytes(zstd.compress(plain.read_bytes()))
    outputs = [tmp_path / f"{source.stem}.out.warc.gz" for source in (plain, packed)]

    for source, output in zip((plain, packed), outputs, strict=True):
        dedup(str(source), "--events", os.devnull, "--write-warc", str(output))

    expected, written = ([(each.type, each.payload) for each in records(output)][1:] for output in outputs)
    assert written == expected
    assert "revisit" in dict(written)


@pytest.mark.parametrize("name", ["pages.jsonl", "-"])
def test_inputs_that_are_no_warc_files_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_bytes(b"")
    path = name if name == "-" else str(tmp_path / name)

    run = call("dedup", path, "--write-warc", str(tmp_path / "out.warc.gz"))

    assert run.returncode == 2
    assert b"--write-warc reads its inputs again" in run.stderr
    assert not (tmp_path / "out.warc.gz").exists()
