"""How many noisy copies of pages are found, by how much of the text is left.

    python -m benchmarks.quality.noisy [--frames on|off] [--as html|text] [--json] [--cache DIR] [PAGES...]

A copy is noisy as scanned text is: characters are misread, words are split and joined. Pages and their copies
go through `dedup` together; the truth is the exact similarity of the two texts. Pages come from the manuals,
or from files of JSON lines with `id` and `html` or `text`; all are on one site. Everything is seeded.
"""

import argparse
import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args

from rapidfuzz.distance import Indel

from benchmarks.quality.dedup import Duplicate, InputPage, find_duplicates
from benchmarks.quality.labelled_set import LEAST_TOKENS, Pair, pair
from benchmarks.quality.manuals import MANUALS, read_manual
from benchmarks.quality.scores import pairs_within
from benchmarks.quality.similarity import page_tokens
from neardup_stream.text.markup import visible_text

__all__ = ["NoisyRecall", "add_noise", "measure"]

ROOT = Path(__file__).parents[2]
SIMILARITIES = (0.80, 0.85, 0.90, 0.925, 0.95, 1.0)
NOISY_WORDS = (0.02, 0.13)
"""Least and most share of the words of a page that are noisy; each page draws its own."""
MOST_TOKENS = 6_000
MISREAD = {
    "l": "1",
    "o": "0",
    "e": "c",
    "c": "e",
    "n": "u",
    "u": "n",
    "h": "b",
    "a": "o",
    "t": "f",
    "m": "rn",
}
COPY_PREFIX = "noisy/"
SITE = "https://pages.example"
SETTINGS = ("verdict.matches_limit=10000", "index.expected_pages=10000", "log.level=warning")

Form = Literal["html", "text"]
"""How pages are sent: as text, or as HTML that shows the text as it stands."""


@dataclass(frozen=True)
class NoisyRecall:
    """What was found of the pairs of one range of similarity.

    Attributes:
        least: of the similarity.
        below: the similarity is less.
        pairs: how many there are.
        direct: share of them that events name.
        clusters: share of them that are in one cluster.
    """

    least: float
    below: float
    pairs: int
    direct: float
    clusters: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path, help="JSON lines, perhaps .gz; else the manuals")
    parser.add_argument(
        "--cache", type=Path, default=ROOT / ".cache" / "quality", help="where packages are kept"
    )
    parser.add_argument("--rule", default="linked", help="of the clusters")
    parser.add_argument("--frames", choices=("on", "off"), default="on", help="off: frames.scope = off")
    parser.add_argument(
        "--as", choices=get_args(Form), default="html", dest="form", help="how pages are sent"
    )
    parser.add_argument("--json", action="store_true", help="one line of JSON instead of a table")
    arguments = parser.parse_args()
    texts = dict(_read_files(arguments.pages) if arguments.pages else _read_manuals(arguments.cache))
    settings = [f"clusters.rule={arguments.rule}", *(["frames.scope=off"] * (arguments.frames == "off"))]
    recalls = measure(texts, arguments.form, settings)
    if arguments.json:
        print(json.dumps([asdict(recall) for recall in recalls]))
        return
    print("| similarity | pairs | direct matches | one cluster |\n| --- | --- | --- | --- |")
    for each in recalls:
        print(
            f"| {each.least:g} to {each.below:g} | {each.pairs:,} | {each.direct:.4f} | {each.clusters:.4f} |"
        )


def measure(texts: dict[str, str], form: Form, settings: Sequence[str]) -> list[NoisyRecall]:
    """Add a noisy copy of every text, deduplicate them all, and count what is found.

    Args:
        texts: by page id; those with less than LEAST_TOKENS or more than MOST_TOKENS tokens are left out.
        form: how pages are sent.
        settings: `section.key=value` each.
    """
    rng = random.Random(1)
    pages: list[InputPage] = []
    similarities: dict[Pair, float] = {}
    for name, text in texts.items():
        noisy = add_noise(text, rng.uniform(*NOISY_WORDS), rng)
        tokens, noisy_tokens = page_tokens(_html(text)), page_tokens(_html(noisy))
        if LEAST_TOKENS <= len(tokens) <= MOST_TOKENS:
            page, copy = _page(name, text, form), _page(COPY_PREFIX + name, noisy, form)
            pages += [page, copy]
            similarities[pair(page.id, copy.id)] = Indel.normalized_similarity(tokens, noisy_tokens)
    matches: set[Pair] = set()

    def take(duplicate: Duplicate) -> None:
        matches.update(pair(duplicate.page, match) for match in duplicate.matches)

    clusters = find_duplicates(pages, (*SETTINGS, *settings), take)
    within = pairs_within(clusters)
    return [_recall(least, below, similarities, matches, within) for least, below in pairwise(SIMILARITIES)]


def add_noise(text: str, share: float, rng: random.Random) -> str:
    """Return the text with this share of its words noisy: of five, three are misread, one split, one joined.

    Args:
        text: visible text; what stands between its words stays, but where words are joined.
        share: of the words, 0 to 1.
        rng: draws the words and what becomes of them.
    """
    parts = re.split(r"(\w+)", text)
    for at in range(1, len(parts), 2):
        if rng.random() < share:
            kind = rng.choice(("misread", "misread", "misread", "split", "join"))
            if kind == "join" and at + 2 < len(parts):
                parts[at + 1] = ""
            elif kind == "split" and len(parts[at]) > 1:
                cut = rng.randrange(1, len(parts[at]))
                parts[at] = f"{parts[at][:cut]} {parts[at][cut:]}"
            else:
                parts[at] = _misread(parts[at], rng)
    return "".join(parts)


def _misread(word: str, rng: random.Random) -> str:
    at = rng.randrange(len(word))
    letter = word[at].lower()
    return word[:at] + MISREAD.get(letter, "q" if letter != "q" else "g") + word[at + 1 :]


def _recall(
    least: float, below: float, similarities: dict[Pair, float], matches: set[Pair], within: set[Pair]
) -> NoisyRecall:
    pairs = {both for both, similarity in similarities.items() if least <= similarity < below}
    count = max(len(pairs), 1)
    return NoisyRecall(least, below, len(pairs), len(pairs & matches) / count, len(pairs & within) / count)


def _page(page_id: str, text: str, form: Form) -> InputPage:
    url = f"{SITE}/{page_id}"
    return InputPage(page_id, url, text=text) if form == "text" else InputPage(page_id, url, html=_html(text))


def _html(text: str) -> str:
    return f"<!doctype html><body><pre>{escape(text)}</pre></body>"


def _read_manuals(cache: Path) -> Iterator[tuple[str, str]]:
    """Yield the pages of the later version of each manual: of two versions a copy would be like both."""
    for manual in MANUALS:
        pages = read_manual(manual, cache)
        later = [page for page in pages if manual.versions[1] in page.id]
        yield from ((page.id, visible_text(page.html)) for page in later)


def _read_files(files: Sequence[Path]) -> Iterator[tuple[str, str]]:
    for file in files:
        content = file.read_bytes()
        for line in (gzip.decompress(content) if file.suffix == ".gz" else content).splitlines():
            page = json.loads(line)
            yield page["id"], page.get("text") or visible_text(page["html"])


if __name__ == "__main__":
    main()
