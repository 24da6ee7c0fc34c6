"""What do archives take and find, by the kinds of their keys?

    python -m benchmarks.archive_keys [--cache DIR] [--json]

Pages of manuals (benchmarks/quality/manuals.py), the same as in `benchmarks.fuzzy`, are frozen by the program
with `--keys bands`, `fuzzy` and `bands,fuzzy`, and each archive is asked about all of them. A match is a pair
of two pages that the rule of the live index holds for alike; recall is the share of the pairs that any of the
archives finds. `key bytes` are those of the perfect hash, slots, lists and reference.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import msgspec
from neardup_daemon.archives import open_archive
from neardup_daemon.preparing import build_preparation, verdict_config
from neardup_daemon.settings.settings import Settings

from benchmarks.fuzzy import ROOT, pages
from neardup_stream.meters import NoMeters
from neardup_stream.pipeline.archive_lookup import consult_keyed
from neardup_stream.pipeline.first_record import arrival_record
from neardup_stream.pipeline.freezing import keyed_arrival
from neardup_stream.pipeline.kept_text import PREFIXES, TextParts
from neardup_stream.streams.memory.streams import numbered

KINDS: Final = ("bands", "fuzzy", "bands,fuzzy")
BATCH = 256
MOST_MATCHES = 1 << 20


@dataclass(frozen=True)
class Figures:
    """Of one kind of keys."""

    keys: str
    bytes_a_page: float
    key_bytes_a_page: float
    candidates_a_page: float
    matches_a_page: float
    recall: float
    ask_us_a_page: float
    prepare_us_a_page: float


def main() -> None:
    """Freeze, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache" / "quality")
    parser.add_argument("--json", action="store_true", help="one line of JSON instead of the table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        figures = measure(pages(arguments.cache), Path(directory))
    if arguments.json:
        print(json.dumps([asdict(each) for each in figures]))
        return
    print(
        "| keys | bytes a page | of these keys | candidates | matches | recall | asking, µs | preparing, µs |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for each in figures:
        print(
            f"| {each.keys} | {each.bytes_a_page:.0f} | {each.key_bytes_a_page:.1f} |"
            f" {each.candidates_a_page:.1f} | {each.matches_a_page:.2f} | {each.recall:.3f} |"
            f" {each.ask_us_a_page:.0f} | {each.prepare_us_a_page:.0f} |"
        )


def measure(texts: list[str], directory: Path) -> list[Figures]:
    """Measure each of KINDS, and return its figures."""
    values = [
        msgspec.json.encode({"url": f"https://example.com/{n}", "text": text}) for n, text in enumerate(texts)
    ]
    crawl = directory / "crawl.jsonl"
    crawl.write_bytes(b"\n".join(values) + b"\n")
    found = {kinds: asked(kinds, crawl, values) for kinds in KINDS}
    everything = set().union(*(pairs for _, pairs in found.values()))
    if not found["bands"][1] <= found["bands,fuzzy"][1]:
        raise SystemExit("bands with fuzzy keys miss what bands alone find")
    return [
        Figures(**{**asdict(figures), "recall": len(pairs) / max(len(everything), 1)})
        for figures, pairs in found.values()
    ]


def asked(kinds: str, crawl: Path, values: list[bytes]) -> tuple[Figures, set[tuple[str, str]]]:
    """Return what an archive takes, and the pairs that it finds."""
    settings, path = Settings(), crawl.with_name(f"{kinds}.nda")
    words = ["freeze", str(crawl), "-o", str(path), "--keys", kinds, "--set", "frames.scope=off"]
    subprocess.run([sys.executable, "-m", "neardup_daemon", *words], check=True, capture_output=True)
    archive = open_archive(path, settings)
    parts: TextParts = frozenset({PREFIXES}) if "fuzzy" in kinds else frozenset()
    preparation = build_preparation(settings, NoMeters(), parts)
    preparation.prepare(list(numbered(values[:1])))
    pairs: set[tuple[str, str]] = set()
    candidates = ask_seconds = prepare_seconds = 0.0
    for start in range(0, len(values), BATCH):
        begin = time.process_time()
        prepared = preparation.prepare(list(numbered(values[start : start + BATCH])))
        middle = time.process_time()
        arrivals = prepared.arrivals
        consulted = consult_keyed(
            [keyed_arrival(arrival) for arrival in arrivals],
            [arrival_record(arrival) for arrival in arrivals].__getitem__,
            [archive],
            verdict_config(settings),
            MOST_MATCHES,
        )
        ask_seconds += time.process_time() - middle
        prepare_seconds += middle - begin
        candidates += consulted.candidate_count
        for arrival, found in zip(prepared.arrivals, consulted.answers, strict=True):
            pairs |= {(arrival.page.id, each.match.id) for each in found.matches}
    apart = {pair for pair in pairs if pair[0] != pair[1]}
    count = len(values)
    sections = archive.index.header.sections
    keys = sum(each.size_bytes for each in sections if each.name.partition(".")[0] in {"key", "fuzzy"})
    figures = Figures(
        keys=kinds,
        bytes_a_page=archive.index.header.file_bytes / count,
        key_bytes_a_page=keys / count,
        candidates_a_page=candidates / count - 1,
        matches_a_page=len(apart) / count,
        recall=0.0,
        ask_us_a_page=1e6 * ask_seconds / count,
        prepare_us_a_page=1e6 * prepare_seconds / count,
    )
    return figures, apart


if __name__ == "__main__":
    main()
