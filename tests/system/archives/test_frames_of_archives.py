"""An archive finds with frames what the live index finds, whichever view of a page is alike."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from tests.system.conftest import call

SITES = ("shop.example", "news.example")
PAGES = 90
"""Of each site: more than make it well known."""

MIRROR = "mirror.example"
FIGURES = ("distance_bits", "resemblance", "containment", "contained_in", "view")

Matches = Mapping[str, Mapping[str, tuple[Any, ...]]]
"""The figures of each match, by the URLs of both pages."""


def frame(site: str, design: int) -> list[str]:
    """Return the lines that all pages of a site have in one design."""
    return [
        f"{site} design {design} menu line {line} leads to part {line} of this site" for line in range(14)
    ]


def content(name: str, lines: int, edited: int = 0) -> list[str]:
    """Return lines of words that no other page has, in some of which a word is another."""
    return [
        " ".join(f"{name}x{line}y{word}" + ("z" if line < edited and word == 7 else "") for word in range(18))
        for line in range(lines)
    ]


def page(site: str, name: str, lines: list[str]) -> bytes:
    return msgspec.json.encode({"url": f"https://{site}/{name}", "text": "\n".join(lines)}) + b"\n"


def first_crawl() -> bytes:
    """Pages of two sites; every third is short."""
    return b"".join(
        page(site, f"first{number}", frame(site, 1) + content(f"{site}{number}", length(number)))
        for number in range(PAGES)
        for site in SITES
    )


def length(number: int) -> int:
    return 3 if number % 3 == 0 else 9


def second_crawl() -> bytes:
    """Copies, edited copies, pages in a new design, other pages; copies on sites without a known frame."""
    pages = []
    for number in range(0, PAGES, 2):
        for site in SITES:
            name, lines = f"{site}{number}", length(number)
            pages += [
                page(site, f"moved{number}", frame(site, 1) + content(name, lines)),
                page(site, f"edited{number}", frame(site, 1) + content(name, lines, edited=1)),
                page(site, f"redesigned{number}", frame(site, 2) + content(name, lines)),
                page(site, f"other{number}", frame(site, 1) + content(f"other{name}", lines)),
            ]
        whole = frame(SITES[0], 1) + content(f"{SITES[0]}{number}", length(number))
        pages.append(page(f"{number}.{MIRROR}", "copy", whole))
        pages.append(page(f"{number}.{MIRROR}", "extended", [*whole[:-1], whole[-1] + " corrected"]))
    return b"".join(pages)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Matches]:
    """What the archive and the live index say of each page of the second crawl."""
    folder = tmp_path_factory.mktemp("framed")
    first, second = folder / "first.jsonl", folder / "second.jsonl"
    first.write_bytes(first_crawl())
    second.write_bytes(second_crawl())
    limits = [word for name in ("verdict", "archive") for word in ("--set", f"{name}.matches_limit=1000")]
    frozen = call("freeze", str(first), "-o", str(folder / "first.nda"), *limits)
    assert frozen.returncode == 0, frozen.stderr
    run = call("dedup", str(first), str(second), "--archive", str(folder / "first.nda"), *limits)
    assert run.returncode == 0, run.stderr
    return {name: matches_of(run.stdout.splitlines(), name) for name in ("archived", "duplicate")}


def matches_of(lines: Sequence[bytes], event_type: str) -> Matches:
    """Return the matches between pages of the second crawl and pages of the first one."""
    matches: dict[str, dict[str, tuple[Any, ...]]] = {}
    for event in map(json.loads, lines):
        if event["type"] != f"io.neardup.{event_type}.v1" or "/first" in event["data"]["page"]["url"]:
            continue
        for match in event["data"]["matches"]:
            if "/first" in match["url"]:
                figures = tuple(match[name] for name in FIGURES)
                matches.setdefault(event["data"]["page"]["url"], {})[match["url"]] = figures
    return matches


def of_kinds(matches: Matches, *kinds: str) -> Matches:
    return {url: found for url, found in matches.items() if kind_of(url) in kinds}


def kind_of(url: str) -> str:
    return url.rpartition("/")[2].rstrip("0123456789")


def test_copies_and_edited_copies_match_as_in_the_live_index(found: Mapping[str, Matches]) -> None:
    archived, live = (of_kinds(found[name], "moved", "edited", "copy") for name in ("archived", "duplicate"))

    assert archived == live
    assert len(live) == 5 * PAGES // 2


def test_an_archive_has_every_match_of_the_live_index_with_its_figures(found: Mapping[str, Matches]) -> None:
    for url, matches in found["duplicate"].items():
        assert matches.items() <= found["archived"][url].items()


def test_both_views_of_frozen_pages_are_compared(found: Mapping[str, Matches]) -> None:
    views = Counter(figures[-1] for matches in found["archived"].values() for figures in matches.values())

    assert min(views["content"], views["whole"]) > PAGES // 2


def test_pages_that_have_only_their_frame_in_common_do_not_match(found: Mapping[str, Matches]) -> None:
    assert not of_kinds(found["archived"], "other")
    assert not of_kinds(found["duplicate"], "other")


def test_what_only_the_archive_finds_are_whole_texts(found: Mapping[str, Matches]) -> None:
    """Of a site that is being learned an archive has the whole texts of long pages too."""
    for url, matches in found["archived"].items():
        more = matches.keys() - found["duplicate"].get(url, {}).keys()
        assert {matches[other][-1] for other in more} <= {"whole"}
