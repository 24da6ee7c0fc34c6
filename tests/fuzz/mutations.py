"""From good input to bad: bytes changed, pieces cut, joined, and repeated until something grows."""

import random
from collections.abc import Callable, Sequence

__all__ = ["MAX_INPUT_BYTES", "mutated"]

MAX_INPUT_BYTES = 4 << 20
_MOST_CHANGES = 6
_MOST_REPEATS = 100_000

_Mutation = Callable[[random.Random, bytes, Sequence[bytes]], bytes]


def mutated(rng: random.Random, corpus: Sequence[bytes], dictionary: Sequence[bytes]) -> bytes:
    """Return one input of the corpus, changed a few times.

    Args:
        rng: decides everything.
        corpus: inputs as they should be, and former finds.
        dictionary: pieces that mean something in this language.
    """
    content = rng.choice(corpus)
    for _ in range(rng.randint(1, _MOST_CHANGES)):
        content = rng.choice(_MUTATIONS)(rng, content, dictionary)[:MAX_INPUT_BYTES]
    return content


def _place(rng: random.Random, content: bytes) -> int:
    return rng.randint(0, len(content))


def _piece(rng: random.Random, content: bytes) -> bytes:
    start = _place(rng, content)
    return content[start : start + rng.choice((1, 4, 16, 64, 1024))]


def _flip(rng: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    if not content:
        return b"\0"
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]


def _put(rng: random.Random, content: bytes, dictionary: Sequence[bytes]) -> bytes:
    at = _place(rng, content)
    return content[:at] + rng.choice(dictionary) + content[at:]


def _replace(rng: random.Random, content: bytes, dictionary: Sequence[bytes]) -> bytes:
    word = rng.choice(dictionary)
    at = _place(rng, content)
    return content[:at] + word + content[at + len(word) :]


def _cut(rng: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    start = _place(rng, content)
    return content[:start] + content[start + len(_piece(rng, content)) :]


def _end(rng: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    return content[: _place(rng, content)]


def _double(rng: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(rng, content)
    return content[:at] + _piece(rng, content) + content[at:]


def _repeat(rng: random.Random, content: bytes, dictionary: Sequence[bytes]) -> bytes:
    """What takes more than linear time shows when a piece comes often, also with another number each time."""
    at = _place(rng, content)
    words = [
        rng.choice(dictionary) if rng.random() < 0.7 else _piece(rng, content)
        for _ in range(rng.randint(1, 4))
    ]
    piece = b"".join(words) or b"a"
    count = min(int(_MOST_REPEATS ** rng.random()), MAX_INPUT_BYTES // len(piece))
    if b"%d" in piece:
        repeated = b"".join(piece.replace(b"%d", b"%d" % number) for number in range(count))
    else:
        repeated = piece * count
    return content[:at] + repeated + content[at:]


_MUTATIONS: Sequence[_Mutation] = (_flip, _put, _put, _replace, _cut, _end, _double, _repeat, _repeat)
