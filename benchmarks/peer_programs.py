"""The peers of `benchmarks.peers`, as programs of their own environment: they import nothing of ours.

    python peer_programs.py NAME pages.jsonl pairs.txt

Each reads the pages, looks each one up among those before it, adds it, and writes the pairs of page numbers
that it found. All index three-word shingles, but for `rensa-words`.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

THRESHOLD = 0.55
"""The least resemblance, as `verdict.near_resemblance`."""

SHINGLE_WORDS = 3
PERMUTATIONS = 128

Pairs = Iterator[tuple[int, int]]


def _texts(path: str) -> Iterator[tuple[int, str]]:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - as in a usual script
        for number, line in enumerate(file):
            yield number, json.loads(line)["text"]


def _shingles(text: str) -> list[str]:
    words = text.split()
    return [" ".join(words[at : at + SHINGLE_WORDS]) for at in range(len(words) - SHINGLE_WORDS + 1)]


def _gaoya_index() -> Any:
    return import_module("gaoya.minhash").MinHashStringIndex(
        hash_size=32,
        jaccard_threshold=THRESHOLD,
        num_bands=25,
        band_size=5,
        analyzer="word",
        lowercase=True,
        ngram_range=(SHINGLE_WORDS, SHINGLE_WORDS),
        id_container="smallvec",
    )


def _gaoya(path: str) -> Pairs:
    index = _gaoya_index()
    for number, text in _texts(path):
        yield from ((number, other) for other in index.query(text))
        index.insert_document(number, text)


def _gaoya_bulk(path: str) -> Pairs:
    """Add all pages at once, on all cores; then ask every question."""
    index = _gaoya_index()
    numbers, texts = map(list, zip(*_texts(path), strict=True))
    index.par_bulk_insert_docs(numbers, texts)
    for number, found in zip(numbers, index.par_bulk_query(texts), strict=True):
        yield from ((number, other) for other in found if other < number)


def _rensa(path: str) -> Pairs:
    rensa = import_module("rensa")
    index = rensa.RMinHashLSH(THRESHOLD, PERMUTATIONS, 32)
    seen: list[Any] = []
    for number, text in _texts(path):
        page = rensa.RMinHash(PERMUTATIONS, 42)
        page.update(_shingles(text))
        yield from ((number, other) for other in index.query(page) if page.jaccard(seen[other]) >= THRESHOLD)
        index.insert(number, page)
        seen.append(page)


def _rensa_words(path: str) -> Pairs:
    """Single words, as in rensa's own examples: other pages, and far fewer things to hash."""
    rensa = import_module("rensa")
    index = rensa.RMinHashLSH(THRESHOLD, PERMUTATIONS, 16)
    for number, text in _texts(path):
        page = rensa.RMinHash(PERMUTATIONS, 42)
        page.update(text.split())
        yield from ((number, other) for other in index.query(page))
        index.insert(number, page)


def _datasketch(path: str) -> Pairs:
    datasketch = import_module("datasketch")
    index = datasketch.MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    for number, text in _texts(path):
        page = datasketch.MinHash(PERMUTATIONS)
        page.update_batch([shingle.encode() for shingle in _shingles(text)])
        yield from ((number, other) for other in index.query(page))
        index.insert(number, page)


_PROGRAMS = {
    "gaoya": _gaoya,
    "gaoya-bulk": _gaoya_bulk,
    "rensa": _rensa,
    "rensa-words": _rensa_words,
    "datasketch": _datasketch,
}


def main(arguments: Sequence[str]) -> None:
    """Run one program."""
    name, pages, pairs = arguments
    with open(pairs, "w", encoding="ascii") as file:  # noqa: PTH123 - as above
        file.writelines(f"{one} {other}\n" for one, other in _PROGRAMS[name](pages))


if __name__ == "__main__":
    main(sys.argv[1:])
