"""`find-all` and `find-clusters`: find close hashes in memory, from text to JSON lines.

Options and output are those of the tools for the same jobs in Moz's simhash-cpp, so that either can take
the other's place. Where those insist on a path, `-` is the default here; blocks need not be stated; distance
0 is allowed; the order of the output is fixed; and a line that is not a hash stops the command.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import IO, Any

import click

from neardup_daemon.commands.completion import FILE_NAME
from neardup_daemon.progress import working
from neardup_stream.bits.decimal_lines import read_words
from neardup_stream.bits.words import WORD_BITS, Words
from neardup_stream.errors import ConfigError
from neardup_stream.indexes.components import clusters
from neardup_stream.indexes.pairs import sorted_pairs
from neardup_stream.streams.files.outputs import buffered_output

__all__ = ["find_all", "find_clusters"]

_BATCH_LINES = 10_000


def _with_options(command: Callable[..., None]) -> Callable[..., None]:
    options: list[Callable[[Any], Any]] = [
        click.option(
            "-i",
            "--input",
            "source",
            default="-",
            metavar="FILE",
            type=FILE_NAME,
            help="Hashes.  [default: stdin]",
        ),
        click.option(
            "-o",
            "--output",
            "target",
            default="-",
            metavar="FILE",
            type=FILE_NAME,
            help="Arrays.  [default: stdout]",
        ),
        click.option(
            "-b",
            "--blocks",
            type=int,
            default=WORD_BITS,
            show_default=True,
            help="More than the distance, at most 64. Only checked: what is found does not depend on it, and"
            " the blocks that are fastest for the input are worked out.",
        ),
        click.option(
            "-d", "--distance", type=int, required=True, help="Bits in which a match may differ, 0 to 63."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command("find-all")
@_with_options
def find_all(source: str, target: str, blocks: int, distance: int) -> None:
    """Print all pairs of hashes within a distance of each other.

    Input is a set of unsigned 64-bit hashes in decimal, one a line; a repeated line counts once. Output is
    one JSON array of two hashes a line, in ascending order.

        neardup-stream find-all -d 3 -i hashes.txt
    """
    _find(source, target, blocks, distance, _pair_lines)


@click.command("find-clusters")
@_with_options
def find_clusters(source: str, target: str, blocks: int, distance: int) -> None:
    """Print the clusters of hashes that a chain of pairs within a distance connects.

    Input is as for find-all. Output is one JSON array a line, of two or more hashes in ascending order;
    the members of a cluster need not all be within the distance of each other.

        neardup-stream find-clusters -d 3 -i hashes.txt
    """
    _find(source, target, blocks, distance, _cluster_lines)


def _find(
    source: str, target: str, blocks: int, distance: int, answer: Callable[[Words, int], Iterable[str]]
) -> None:
    if not 0 <= distance < WORD_BITS:
        raise ConfigError(f"--distance ({distance}) must be 0 to {WORD_BITS - 1}")
    if not distance < blocks <= WORD_BITS:
        raise ConfigError(
            f"--blocks ({blocks}) must be greater than --distance ({distance}), and at most {WORD_BITS}"
        )
    with working("reading hashes"):
        words = _read(source)
    with _written(target) as output, working(f"comparing {words.size:,} hashes"):
        answers = iter(answer(words, distance))
        while batch := "".join(islice(answers, _BATCH_LINES)):
            output.write(batch.encode("ascii"))
        output.flush()


def _pair_lines(words: Words, distance_bits: int) -> Iterator[str]:
    left, right = sorted_pairs(words, distance_bits)
    for start in range(0, left.size, _BATCH_LINES):
        batch = slice(start, start + _BATCH_LINES)
        for one, other in zip(left[batch].tolist(), right[batch].tolist(), strict=True):
            yield f"[{one}, {other}]\n"


def _cluster_lines(words: Words, distance_bits: int) -> Iterator[str]:
    return (f"{members}\n" for members in clusters(words, distance_bits))


def _read(path: str) -> Words:
    if path == "-":
        return read_words(sys.stdin.buffer)
    try:
        file = open(path, "rb")  # noqa: PTH123, SIM115 - closed by the next with, outside of this try
    except OSError as error:
        raise ConfigError(f"cannot open {path!r}: {error.strerror}") from error
    with file:
        return read_words(file)


@contextmanager
def _written(path: str) -> Iterator[IO[bytes]]:
    if path == "-":
        yield sys.stdout.buffer
        return
    with buffered_output(path) as file:
        yield file
