"""Does an archive find what the live index finds, and what labels say that it should?

    python -m benchmarks.archive_matches [PAGES --pairs PAIRS] [--set section.key=value]… [--json]

Pages are frozen by the program, and `dedup` reads them again with that archive: `archived` events are its
matches, `duplicate` events those of the live index. PAGES is JSON Lines; PAIRS is JSON Lines with the ids `a`
and `b` and a `label` each: a pair is positive if its label is exact, exact_text, near or probable, negative
if it is non or the pair is not listed, and otherwise not scored. Without files the pages are manuals
(benchmarks/quality/labelled_set.py).

With `--set frames.scope=off` it is checked that live matches which the archive lacks are of pages that have
no key in common, so that only the simhash tables found them, or of pages of a key of which an archive lists a
sample.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
from neardup_daemon.preparing import build_preparation
from neardup_daemon.settings.settings import Settings

from benchmarks.quality.labelled_set import Pair, build_labelled_set, pair
from neardup_stream.archive.keys import page_keys
from neardup_stream.archive.post_lists import MOST_POSTS
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.freezing import keyed_arrival
from neardup_stream.streams.memory.streams import numbered

ROOT = Path(__file__).parents[1]
POSITIVE: Final = ("exact", "exact_text", "near", "probable")
NEGATIVE: Final = "non"
UNFRAMED: Final = "frames.scope=off"
LIMITS: Final = ("verdict.matches_limit=10000", "archive.matches_limit=10000", "log.level=warning")
EVENTS: Final = {"io.neardup.archived.v1": "archive", "io.neardup.duplicate.v1": "live index"}


@dataclass(frozen=True)
class Figures:
    """Of the archive or of the live index; shares of pairs of pages."""

    pairs: int
    recall: float
    precision: float
    pairs_the_other_lacks: int


def main() -> None:
    """Freeze, ask, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pages", type=Path, nargs="?")
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="section.key=value")
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache" / "quality")
    parser.add_argument("--json", action="store_true", help="one line of JSON instead of the table")
    arguments = parser.parse_args()
    if (arguments.pages is None) != (arguments.pairs is None):
        parser.error("PAGES and --pairs belong together")
    with tempfile.TemporaryDirectory() as directory:
        if arguments.pages is None:
            pages, labels = written_manuals(arguments.cache, Path(directory))
        else:
            pages, labels = arguments.pages, read_labels(arguments.pairs)
        figures = measure(pages, labels, arguments.settings, Path(directory))
    if arguments.json:
        print(json.dumps({name: asdict(each) for name, each in figures.items()}))
        return
    print("| | pairs | recall | precision | pairs the other lacks |")
    print("|---|---|---|---|---|")
    for name, each in figures.items():
        shares = f"{each.recall:.4f} | {each.precision:.4f}"
        print(f"| {name} | {each.pairs:,} | {shares} | {each.pairs_the_other_lacks:,} |")


def written_manuals(cache: Path, directory: Path) -> tuple[Path, Mapping[Pair, str]]:
    """Write the manuals as a file of pages; return it and their labels."""
    truth, path = build_labelled_set(cache), directory / "manuals.jsonl"
    with path.open("wb") as file:
        for page in truth.pages:
            url = f"https://manuals.example/{page.id}"
            file.write(msgspec.json.encode({"id": page.id, "url": url, "html": page.html}) + b"\n")
    return path, truth.labels


def read_labels(path: Path) -> dict[Pair, str]:
    """Return the labels of pairs that are not negative."""
    rows = [json.loads(line) for line in lines(path)]
    return {pair(row["a"], row["b"]): row["label"] for row in rows if row["label"] != NEGATIVE}


def lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, compressed or not."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        yield from file


def measure(
    pages: Path, labels: Mapping[Pair, str], settings: Sequence[str], directory: Path
) -> dict[str, Figures]:
    """The figures of both."""
    archive, events = directory / "pages.nda", directory / "events.jsonl"
    chosen = [word for setting in (*LIMITS, *settings) for word in ("--set", setting)]
    run("freeze", str(pages), "-o", str(archive), *chosen)
    run("dedup", str(pages), "--archive", str(archive), "--events", str(events), *chosen)
    found = matches(events)
    if UNFRAMED in settings:
        check_keys(found["live index"] - found["archive"], pages)
    return {
        name: figures(pairs, labels, set().union(*found.values()) - pairs) for name, pairs in found.items()
    }


def run(*words: str) -> None:
    """Run the program, to a good end."""
    subprocess.run([sys.executable, "-m", "neardup_daemon", *words], check=True, stderr=subprocess.DEVNULL)


def matches(events: Path) -> dict[str, set[Pair]]:
    """Return the pairs of different pages that events name, of the archive and of the live index."""
    found: dict[str, set[Pair]] = {name: set() for name in EVENTS.values()}
    for line in lines(events):
        event = json.loads(line)
        if event["type"] in EVENTS:
            page, data = event["data"]["page"]["id"], event["data"]
            assert data["matches_total"] == len(data["matches"])
            others = {match["id"] for match in data["matches"]} - {page}
            found[EVENTS[event["type"]]] |= {pair(page, other) for other in others}
    return found


def figures(found: set[Pair], labels: Mapping[Pair, str], lacked: set[Pair]) -> Figures:
    """Score pairs."""
    positives = {both for both, label in labels.items() if label in POSITIVE}
    right, wrong = len(found & positives), sum(both not in labels for both in found)
    return Figures(len(found), right / len(positives), right / max(right + wrong, 1), len(lacked))


def check_keys(lacked: set[Pair], pages: Path) -> None:
    """Hold that pages of these pairs have no key in common that finds all of its pages."""
    settings = msgspec.structs.replace(
        Settings(), frames=msgspec.structs.replace(Settings().frames, scope="off")
    )
    arrivals = build_preparation(settings, NoMeters()).prepare(list(numbered(list(lines(pages))))).arrivals
    keys, places = page_keys([keyed_arrival(arrival) for arrival in arrivals])
    counts: Counter[int] = Counter(keys.tolist())
    of_page: dict[Any, set[int]] = {}
    for key, place in zip(keys.tolist(), places.tolist(), strict=True):
        if counts[key] <= MOST_POSTS:
            of_page.setdefault(arrivals[place].page.id, set()).add(key)
    shared = [(one, other) for one, other in lacked if of_page.get(one, set()) & of_page.get(other, set())]
    assert not shared, f"{len(shared)} pairs are missed that have a key in common: {shared[:3]}"


if __name__ == "__main__":
    main()
