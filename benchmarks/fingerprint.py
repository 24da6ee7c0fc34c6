"""How many pages a second does one core fingerprint and sketch, and where does the time go?

    python -m benchmarks.fingerprint [--pages 400] [--runs 7] [--json]

Texts are generated from a seed. Before anything is timed, the kernel's fingerprints and sketches of a sample
are compared with the plain reference. Best of the runs, one thread; a page of text weighs 3.5 KB, of HTML
some 13 KB.
"""

import argparse
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter

from rich.console import Console
from rich.table import Table

from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_texts, load_kernel
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.text.canonical import canonicalize
from neardup_stream.text.markup import visible_text
from tests.reference import fingerprint_page, sketch_page

CONFIG = SimhashConfig()
SKETCH = SketchConfig()
PAGE_BYTES = 3500
HTML_BYTES = 13_000
SAMPLE_PAGES = 20


@dataclass(frozen=True)
class Figure:
    """The cost of one stage for one kind of page."""

    pages: str
    stage: str
    bytes_per_page: int
    microseconds_per_page: float
    pages_per_second: float


def main() -> None:
    """Check, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="one line of JSON instead of a table")
    arguments = parser.parse_args()

    start = perf_counter()
    load_kernel()
    load_seconds = perf_counter() - start
    figures = measure(arguments.pages, arguments.runs)
    if arguments.json:
        rows = [asdict(figure) for figure in figures]
        print(json.dumps({"kernel_load_seconds": load_seconds, "figures": rows}))
    else:
        print_table(figures, load_seconds)


def measure(pages: int, runs: int) -> list[Figure]:
    """Measure all stages with all kinds of pages."""
    rng = random.Random(1)
    latin = [latin_text(rng, PAGE_BYTES) for _ in range(pages)]
    quoted = [text.replace(",", "\u2019\u2014").replace("e", "\u00e9") for text in latin]
    joined = [text.replace("e", "e\u0301") for text in latin]
    han = ["".join(han_characters(rng, PAGE_BYTES // 3)) for _ in range(pages)]
    html = [html_page(rng, HTML_BYTES) for _ in range(pages)]
    visible = [visible_text(page) for page in html]
    check([*latin, *quoted, *joined, *han, *visible])

    def kernel(texts: Sequence[str]) -> None:
        fingerprint_texts(texts, CONFIG)

    def sketching(texts: Sequence[str]) -> None:
        fingerprint_texts(texts, CONFIG, SKETCH)

    def canonical(texts: Sequence[str]) -> None:
        for text in texts:
            canonicalize(text)

    def markup(texts: Sequence[str]) -> None:
        for text in texts:
            visible_text(text)

    def main_content(texts: Sequence[str]) -> None:
        for text in texts:
            visible_text(text, "main_content")

    cases: list[tuple[str, str, Callable[[Sequence[str]], None], list[str]]] = [
        ("Latin, ASCII", "fingerprint", kernel, latin),
        ("Latin, ASCII", "fingerprint and sketch", sketching, latin),
        ("Latin, ASCII", "canonical text alone", canonical, latin),
        ("Latin, accents and quotes", "fingerprint", kernel, quoted),
        ("Latin, decomposed accents", "fingerprint, canonicalized first", kernel, joined),
        ("Latin, decomposed accents", "canonical text alone", canonical, joined),
        ("Han", "fingerprint", kernel, han),
        ("Han", "fingerprint and sketch", sketching, han),
        ("HTML", "markup, all text", markup, html),
        ("HTML", "markup, main content", main_content, html),
        ("HTML", "fingerprint", kernel, visible),
    ]
    return [timed(name, stage, work, texts, runs) for name, stage, work, texts in cases]


def timed(
    name: str, stage: str, work: Callable[[Sequence[str]], None], texts: Sequence[str], runs: int
) -> Figure:
    """Return the best of several runs over all texts."""
    seconds = []
    for _ in range(runs):
        start = perf_counter()
        work(texts)
        seconds.append(perf_counter() - start)
    best = min(seconds) / len(texts)
    size = sum(len(text.encode()) for text in texts) // len(texts)
    return Figure(name, stage, size, round(best * 1e6, 1), round(1 / best))


def check(texts: list[str]) -> None:
    """Compare a sample with the reference."""
    sample = random.Random(2).sample(texts, min(SAMPLE_PAGES, len(texts)))
    computed = fingerprint_texts(sample, CONFIG, SKETCH)
    for row, text in enumerate(sample):
        assert tuple(int(values[row]) for values in computed[:3]) == fingerprint_page(text, CONFIG)
        sketch = (
            computed.sketches[row].tobytes(),
            computed.shingle_counts[row],
            computed.bands[row].tolist(),
        )
        assert sketch == sketch_page(text, SKETCH)


def latin_text(rng: random.Random, size_bytes: int) -> str:
    """Words of a made-up language whose lengths are those of English, with capitals and punctuation."""
    words = []
    length = 0
    while length < size_bytes:
        letters = max(1, round(rng.gauss(4.7, 2.3)))
        word = "".join(rng.choices("etaoinshrdlucmfwyp", k=letters))
        word = word.capitalize() if rng.random() < 0.1 else word
        word += rng.choices(("", ",", "."), (85, 8, 7))[0]
        words.append(word)
        length += len(word) + 1
    return " ".join(words)


def han_characters(rng: random.Random, count: int) -> list[str]:
    """Han characters with a punctuation mark now and then."""
    return [chr(rng.randrange(0x4E00, 0x9FA5)) if rng.random() > 0.08 else "\uff0c" for _ in range(count)]


def html_page(rng: random.Random, size_bytes: int) -> str:
    """Navigation, an article of paragraphs with inline markup, a script, a footer."""
    links = "".join(f'<li><a href="/s/{number}">{latin_text(rng, 10)}</a></li>' for number in range(30))
    body: list[str] = []
    while sum(map(len, body)) < size_bytes - 4500:
        words = latin_text(rng, 300).split(" ")
        words[3] = f'<a href="/p/{rng.random()}" class="ref"><b>{words[3]}</b></a>'
        body.append(f'<div class="row"><p id="p{len(body)}">{" ".join(words)}</p></div>')
    script = "<script>" + "var a = function (b) { return b + 1; };\n" * 40 + "</script>"
    head = f"<!doctype html><html><head><title>{latin_text(rng, 30)}</title>{script}</head>"
    return (
        f"{head}<body><nav><ul>{links}</ul></nav><main>{''.join(body)}</main><footer>x</footer></body></html>"
    )


def print_table(figures: Sequence[Figure], load_seconds: float) -> None:
    """For a person."""
    table = Table("pages", "stage", title=f"kernel loaded in {load_seconds:.2f} s")
    for heading in ("bytes/page", "µs/page", "pages/s"):
        table.add_column(heading, justify="right")
    for figure in figures:
        table.add_row(
            figure.pages,
            figure.stage,
            f"{figure.bytes_per_page:,}",
            f"{figure.microseconds_per_page:,.1f}",
            f"{figure.pages_per_second:,}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
