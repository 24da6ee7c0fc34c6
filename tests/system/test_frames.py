"""`frames`, and the commands that take the frames of sites out of pages."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.pages_of_sites import framed_page, framed_site
from tests.servers.process import is_paused, wait_until
from tests.servers.program import piped_program
from tests.system.conftest import StoredIndex, call

SITE = "shop.example"
SMALL = ("--set", "index.expected_pages=1000")


def file_of(folder: Path, *pages: bytes) -> str:
    crawl = folder / "crawl.jsonl"
    crawl.write_bytes(b"".join(page + b"\n" for page in pages))
    return str(crawl)


def renamed(page: bytes, path: str) -> bytes:
    """Return the same page under another path."""
    return json.dumps(json.loads(page) | {"url": f"https://{SITE}/{path}"}).encode()


def test_a_signal_ends_learning_with_its_exit_code(tmp_path: Path) -> None:
    state = str(tmp_path / "state")

    with piped_program(["frames", "learn", "-", "--state", state, *SMALL]) as run:
        assert any(b"embedded_server_started" in line for line in run.stderr)
        run.child.send_signal(signal.SIGINT)

        assert run.child.wait(60) == 130, run.stderr.read()


def test_a_signal_after_every_page_was_counted_changes_nothing(tmp_path: Path, index: StoredIndex) -> None:
    crawl = file_of(tmp_path, *framed_site(SITE, 0, 20))
    settings = (*index.settings, "failpoints.stop=after frames.replace")
    overrides = [word for setting in settings for word in ("--set", setting)]

    with piped_program(["frames", "learn", crawl, *overrides]) as run:
        wait_until(lambda: is_paused(run.child.pid), 60)
        run.child.send_signal(signal.SIGTERM)
        run.child.send_signal(signal.SIGCONT)

        assert run.child.wait(60) == 0, run.stderr.read()
        assert b"20 pages of 1 site: 20 learned from" in run.stdout.read()


def json_lines(*words: str, stdin: bytes = b"") -> list[Any]:
    run = call(*words, *SMALL, stdin=stdin)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_frames_are_learned_shown_and_forgotten_without_storing_a_page(tmp_path: Path) -> None:
    state = ("--state", str(tmp_path / "state"))
    pages = framed_site(SITE, 0, 20)
    crawl = file_of(
        tmp_path, *pages, renamed(pages[3], "copy"), b"no page", framed_page(SITE, "tiny", words=1)
    )

    run = call("frames", "learn", crawl, *state, *SMALL)

    assert run.returncode == 0, run.stderr
    assert run.stdout.decode() == (
        "22 pages of 1 site: 21 learned from, 1 near-copies, 0 too short or of no site;"
        " frames have 18 lines now\n"
    )
    assert b"no pages: 1 record" in run.stderr
    assert b"at most 10 seconds" in run.stderr

    (shown,) = json_lines("frames", "show", SITE, *state)
    assert (shown["pages"], shown["lines"], shown["markup"], shown["landmark"]) == (21, 39, 18, 18)

    forgets = [call("frames", "forget", SITE, *state, *SMALL) for _ in range(2)]
    assert [run.returncode for run in forgets] == [0, 0]
    assert b"forgotten; daemons that run keep their copy for at most 10 seconds" in forgets[0].stdout
    assert b"nothing was stored" in forgets[1].stdout
    unknown = call("frames", "show", SITE, *state, *SMALL)
    assert (unknown.returncode, unknown.stdout) == (2, b"")
    assert f"no frame of '{SITE}' is stored".encode() in unknown.stderr


def test_the_lines_of_given_pages_are_shown_with_their_frame_marked(tmp_path: Path) -> None:
    state = ("--state", str(tmp_path / "state"))
    published_pages = [framed_page(SITE, "one"), framed_page("other.example", "two")]
    assert (
        call("frames", "learn", file_of(tmp_path, *framed_site(SITE, 0, 20)), *state, *SMALL).returncode == 0
    )

    site, page = json_lines(
        "frames", "show", f"https://{SITE}/", "-", *state, stdin=b"\n".join(published_pages)
    )

    assert site["site"] == SITE
    assert page["id"] == f"https://{SITE}/one"
    assert [line["is_frame"] for line in page["lines"]] == [True] * 12 + [False] + [True] * 6
    assert {line["count"] for line in page["lines"]} == {0, 20}
    assert page["lines"][0]["text"] == f"menu entry 0 leads to section 0 of this shop of {SITE}"


def test_a_second_run_over_a_state_directory_knows_the_frame_of_the_first(tmp_path: Path) -> None:
    """A single page does not show what its frame is."""
    crawl = file_of(tmp_path, *framed_site(SITE, 20, 1))
    state = ("--state", str(tmp_path / "state"))

    (alone,) = json_lines("dedup", "--events-unique", crawl)
    json_lines("dedup", "-", *state, stdin=b"\n".join(framed_site(SITE, 0, 20)))
    (after,) = json_lines("dedup", "--events-unique", crawl, *state)

    assert [event["data"]["page"].get("frame_share") for event in (alone, after)] == [None, 0.8]
    assert after["type"] == "io.neardup.unique.v1"


def test_dedup_reports_the_view_that_decided() -> None:
    """Pages of one site, the copy of one of them, and its mirror, of whose site nothing is known."""
    pages = framed_site(SITE, 0, 20)
    mirror = framed_page(SITE, "page5x").replace(b'"https://shop', b'"https://mirror')

    events = json_lines(
        "dedup",
        "-",
        stdin=b"\n".join([*pages, renamed(framed_page(SITE, "page7x", edits=2), "copy"), mirror]),
    )

    matches = {event["data"]["page"]["id"]: event["data"]["matches"] for event in events}
    assert [(match["id"], match["view"]) for match in matches[f"https://{SITE}/copy"]] == [
        (f"https://{SITE}/page7x", "content")
    ]
    assert [(match["id"], match["view"]) for match in matches["https://mirror.example/page5x"]] == [
        (f"https://{SITE}/page5x", "whole")
    ]


def test_given_pages_are_viewed_with_the_stored_frames(index: StoredIndex, tmp_path: Path) -> None:
    index.hold(*framed_site(SITE, 0, 20))
    copy = renamed(framed_page(SITE, "page7x", edits=2), "copy")
    (tmp_path / "copy.json").write_bytes(copy)
    (tmp_path / "other.json").write_bytes(framed_page(SITE, "elsewhere"))

    answer = index.json_of("query", "-", stdin=copy)
    stored = index.json_of("explain", str(tmp_path / "copy.json"), f"https://{SITE}/page7x")
    given = index.json_of(
        "explain", str(tmp_path / "copy.json"), str(tmp_path / "other.json"), "--with-index"
    )
    whole = index.json_of("explain", str(tmp_path / "copy.json"), str(tmp_path / "other.json"))

    assert answer["page"]["frame_share"] == 0.8
    assert [(match["id"], match["view"]) for match in answer["matches"]] == [
        (f"https://{SITE}/page7x", "content")
    ]
    assert (stored["verdict"], stored["view"], stored["is_match"]) == ("near", "content", True)
    assert (stored["second"]["frame_share"], stored["second"]["is_stored"]) == (0.8, True)
    assert (given["verdict"], given["frames_unknown"]) == ("unlike", False)
    assert whole["frames_unknown"]
    assert "frame_share" not in whole["first"]


def test_frames_are_learned_into_a_redis_that_daemons_use(index: StoredIndex, tmp_path: Path) -> None:
    crawl = file_of(tmp_path, *framed_site(SITE, 0, 20))

    assert index.call("frames", "learn", crawl).returncode == 0

    assert index.json_of("frames", "show", SITE)["pages"] == 20
    run = index.call("dedup", "-", "--redis", "--events-unique", stdin=framed_page(SITE, "new"))
    assert json.loads(run.stdout)["data"]["page"]["frame_share"] == 0.8


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        pytest.param(["show", SITE], "nothing is stored under", id="no-index"),
        pytest.param(["forget", SITE], "nothing is stored under", id="nothing-to-forget"),
        pytest.param(["show", "-", "--set", "frames.scope=off"], "frames.scope = off", id="off"),
        pytest.param(["learn", "nowhere.jsonl"], "nowhere.jsonl: no such file", id="no-file"),
        pytest.param(["learn"], "FILE", id="no-file-named"),
        pytest.param(
            ["learn", "-", "--set", "verdict.scheme=simhash"], "verdict.scheme = simhash", id="simhash"
        ),
    ],
)
def test_what_cannot_be_is_reported_in_one_line(index: StoredIndex, words: list[str], complaint: str) -> None:
    run = index.call("frames", *words)

    assert (run.returncode, run.stdout) == (2, b"")
    assert complaint in run.stderr.decode()
    assert run.stderr.count(b"\n") == 1


def test_a_crawl_of_nothing_but_dead_letters_teaches_nothing_and_is_an_error(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl.jsonl"
    crawl.write_bytes(b'{"target": "http://a.example/", "content": "words"}\n' * 20)

    run = call("frames", "learn", str(crawl), "--state", str(tmp_path / "index"))

    assert run.returncode == 2
    assert b"20 of 20 records are dead letters" in run.stderr
    assert b"page.preset=scrapy|browsertrix|nutch|stormcrawler" in run.stderr
