"""Fingerprint a text piece by piece, in bounded memory.

    text so far    " | opening run | ...tokens that are finished... | closing run | "

A run of letters at either end may continue in the next piece, or in a piece before the first, so it is kept
as letters; everything between is a `TokenSequence`. If the text is a single run, that is the opening run.
"""

import itertools
from typing import Self

from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.simhash import DEFAULT_WINDOW_TOKENS, SimhashConfig
from neardup_stream.fingerprints.token_sequence import SequenceDigest, TokenSequence
from neardup_stream.hashing.stable import token_hash
from neardup_stream.text.arguments import require_text
from neardup_stream.text.canonical import fold_characters
from neardup_stream.text.tokens import MAX_TOKEN_CHARACTERS, kind_of

__all__ = ["Simhash"]


class Simhash:
    """Compute the 64-bit simhash of a text piece by piece; used like the objects of `hashlib`.

    The digest is that of the whole text, however the text is cut, also within a word, and however the parts
    are updated and merged in order; the stream stores this digest for a page with this text. Memory is
    bounded. Do not cut between characters that Unicode composes into one, such as a letter and the accent
    after it: cut at white space if the text may contain any.

    Args:
        text: the first piece.
        window_tokens: consecutive tokens to a feature, 1 to MAX_WINDOW_TOKENS.

    Raises:
        ConfigError: window_tokens is out of its range.
        TypeError: text is no string.

    >>> whole, part = Simhash("four score and seven years"), Simhash("four score and se")
    >>> part.update("ven years")
    >>> part.digest() == whole.digest()
    True
    """

    __slots__ = ("_closing", "_finished", "_is_one_run", "_opening", "_window_tokens")

    def __init__(self, text: str = "", *, window_tokens: int = DEFAULT_WINDOW_TOKENS) -> None:
        SimhashConfig(window_tokens=window_tokens)
        self._window_tokens = window_tokens
        self._opening = ""
        self._is_one_run = True
        self._finished = TokenSequence(window_tokens)
        self._closing = ""
        self.update(text)

    def update(self, text: str) -> None:
        """Append a piece of visible text. Cost: some milliseconds for 3.5 KB.

        Raises:
            TypeError: it is no string.
        """
        require_text(text)
        for kind, run in itertools.groupby(fold_characters(text), kind_of):
            if kind == "running":
                self._continue_run("".join(itertools.islice(run, MAX_TOKEN_CHARACTERS)))
            else:
                self._end_run()
                self._finished.extend([token_hash(token) for token in run] if kind == "solo" else [])

    def merge(self, other: Self) -> None:
        """Append everything that another simhash, or this one, has processed; the other stays unchanged.

        Raises:
            ConfigError: the two have different windows.
            TypeError: the other is no Simhash.
        """
        if not isinstance(other, Simhash):
            raise TypeError(f"expected a Simhash, got {type(other).__name__}")
        if other._window_tokens != self._window_tokens:
            raise ConfigError(
                f"simhashes of {self._window_tokens} and {other._window_tokens} tokens to a window"
                " cannot be merged"
            )
        if other is self:
            self.merge(self.copy())
            return
        self._continue_run(other._opening)
        if not other._is_one_run:
            self._end_run()
            self._finished.merge(other._finished)
            self._closing = other._closing

    def copy(self) -> Self:
        """Return an independent copy with the same state."""
        twin = type(self)(window_tokens=self._window_tokens)
        twin.merge(self)
        return twin

    __copy__ = copy

    def digest(self) -> int:
        """Return the simhash of the text so far, in [0, 2**64); 0 before the first token.

        More text may follow.
        """
        return self._digest().fingerprint

    @property
    def token_count(self) -> int:
        """Return the number of tokens so far. The stream does not compare texts of fewer than 10."""
        return self._digest().token_count

    @property
    def text_fingerprint(self) -> int:
        """Return 64 bits that are equal for equal sequences of tokens, and otherwise only by chance."""
        return self._digest().text_fingerprint

    def _digest(self) -> SequenceDigest:
        whole = TokenSequence(self._window_tokens)
        whole.extend(_hashes(self._opening))
        whole.merge(self._finished)
        whole.extend(_hashes(self._closing))
        return whole.digest()

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
    """Return the hash of a run as a token in a list; empty if the run is empty."""
    return [token_hash(run)] if run else []
