"""The fingerprint of a text that comes in pieces, in memory that does not grow with it.

    text so far    " | opening run | ...tokens that are finished... | closing run | "

A run of letters at either edge may go on in the next piece, or in a piece before the first, so it is kept
as letters; everything between is a `TokenSequence`. While the text is one single run, that is the opening.
"""

import itertools
from typing import Self

from neardup_stream.errors import InvariantBroken
from neardup_stream.fingerprints.reference import Digest
from neardup_stream.fingerprints.simhash import SimhashConfig
from neardup_stream.fingerprints.token_sequence import TokenSequence
from neardup_stream.hashing.stable import token_hash
from neardup_stream.text.tokens import MAX_TOKEN_CHARACTERS, kind_of

__all__ = ["SimhashAccumulator"]


class SimhashAccumulator:
    """Fingerprints canonical text piece by piece; in use like the objects of `hashlib`.

    However the text is cut, also within a word, and however the parts are updated and merged in order, the
    digest is that of the whole. Memory is bounded by the window and RECENT_WINDOWS.

    Args:
        config: window and fewest tokens.
    """

    __slots__ = ("_closing", "_config", "_finished", "_is_one_run", "_opening")

    def __init__(self, config: SimhashConfig) -> None:
        self._config = config
        self._opening = ""
        self._is_one_run = True
        self._finished = TokenSequence(config.window_tokens)
        self._closing = ""

    def update(self, canonical_text: str) -> None:
        """Add a piece at the end. Cost: some milliseconds for 3.5 KB."""
        for kind, run in itertools.groupby(canonical_text, kind_of):
            if kind == "running":
                self._continue_run("".join(itertools.islice(run, MAX_TOKEN_CHARACTERS)))
            else:
                self._end_run()
                self._finished.extend([token_hash(token) for token in run] if kind == "solo" else [])

    def merge(self, other: Self) -> None:
        """Add at the end everything that the other has seen; the other stays as it is.

        Raises:
            InvariantBroken: the two were made with different configurations.
        """
        if other._config != self._config:
            raise InvariantBroken(f"accumulators of {self._config} and {other._config} cannot be merged")
        self._continue_run(other._opening)
        if not other._is_one_run:
            self._end_run()
            self._finished.merge(other._finished)
            self._closing = other._closing

    def copy(self) -> Self:
        """An independent accumulator that has seen the same."""
        twin = type(self)(self._config)
        twin.merge(self)
        return twin

    def digest(self) -> Digest | None:
        """The digest of the text so far; None when it has too few tokens to say anything.

        The text may go on afterwards.
        """
        whole = TokenSequence(self._config.window_tokens)
        whole.extend(_hashes(self._opening))
        whole.merge(self._finished)
        whole.extend(_hashes(self._closing))
        digest = whole.digest()
        return digest if digest.token_count >= self._config.min_tokens else None

    def _continue_run(self, letters: str) -> None:
        if self._is_one_run:
            self._opening = (self._opening + letters)[:MAX_TOKEN_CHARACTERS]
        else:
            self._closing = (self._closing + letters)[:MAX_TOKEN_CHARACTERS]

    def _end_run(self) -> None:
        self._is_one_run = False
        self._finished.extend(_hashes(self._closing))
        self._closing = ""


def _hashes(run: str) -> list[int]:
    """The hash of a run as a token, if there is any."""
    return [token_hash(run)] if run else []
