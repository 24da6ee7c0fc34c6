"""Evaluate queries: three-valued over bitmaps of terms that pages may have, two-valued over a text. Pure.

term            possible: its bitmap           certain: the same for an exact slice, else no page
phrase          possible: all of its words     certain: no page, before its text is read
NOT x           possible: not certainly x      certain: not possibly x
AND, OR         of both
"""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup_stream.archive.search_tiles import Bitmap
from neardup_stream.errors import ConfigError
from neardup_stream.fingerprints.simhash import fingerprint_lines
from neardup_stream.indexes.queries import (
    MAX_QUERY_TERMS,
    And,
    Not,
    Query,
    Words,
    leaves,
    parse_query,
)
from neardup_stream.text.arguments import require_text

__all__ = ["BoundQuery", "Bounds", "bind_query", "bounds", "evaluate", "holds", "required_terms"]


class BoundQuery(NamedTuple):
    """A query with the terms of its words.

    Attributes:
        query: as it was parsed.
        terms: hashes of the tokens of each word or phrase; at least one.
    """

    query: Query
    terms: Mapping[Words, tuple[int, ...]]

    @property
    def distinct(self) -> tuple[int, ...]:
        """Return all terms, each once, in the order of the query."""
        return tuple(dict.fromkeys(term for own in self.terms.values() for term in own))


class Bounds(NamedTuple):
    """The pages that fulfil a query, as far as their bitmaps decide.

    Attributes:
        possible: a superset of the pages that fulfil it.
        certain: a subset of the pages that fulfil it.
    """

    possible: Bitmap
    certain: Bitmap


def bind_query(query: Query | str) -> BoundQuery:
    """Convert the words of a query to terms, by the rules that split pages into tokens.

    A word of several tokens, such as "don't" or "東京", is a phrase.

    Raises:
        ConfigError: the query has a syntax error, one of its words has no letter or digit, or it has too
            many words; the message names the position.
        TypeError: it is no string and no query.
    """
    if not isinstance(query, Query):
        require_text(query)
    parsed = parse_query(query) if isinstance(query, str) else query
    words = list(leaves(parsed))
    terms: dict[Words, tuple[int, ...]] = {}
    count = 0
    _, lines = fingerprint_lines([each.text for each in words])
    for each, line in zip(words, lines, strict=True):
        count += line.tokens.size
        if not line.tokens.size:
            raise ConfigError(f"query, character {each.position}: {str(each)!r} has no letter and no digit")
        if count > MAX_QUERY_TERMS:
            raise ConfigError(
                f"query, character {each.position}: more than {MAX_QUERY_TERMS} words: use fewer"
            )
        terms[each] = tuple(line.tokens.tolist())
    return BoundQuery(parsed, terms)


def bounds(bound: BoundQuery, bitmaps: Mapping[int, Bitmap], exact: AbstractSet[int]) -> Bounds:
    """Return which pages possibly and which certainly fulfil a query.

    Args:
        bound: the query.
        bitmaps: of each term, the pages that may have it.
        exact: the terms whose bitmaps are exact.
    """

    def of(query: Query) -> Bounds:
        if isinstance(query, Words):
            terms = bound.terms[query]
            possible = _all(bitmaps[term] for term in terms)
            is_exact = len(terms) == 1 and terms[0] in exact
            return Bounds(possible, possible if is_exact else np.zeros_like(possible))
        if isinstance(query, Not):
            part = of(query.part)
            return Bounds(~part.certain, ~part.possible)
        join = _all if isinstance(query, And) else _any
        parts = [of(part) for part in query.parts]
        return Bounds(join(part.possible for part in parts), join(part.certain for part in parts))

    return of(bound.query)


def evaluate(bound: BoundQuery, bitmaps: Mapping[int, Bitmap]) -> Bitmap:
    """Return the pages that fulfil a query if every bitmap is exact, and a phrase means all of its words."""

    def of(query: Query) -> Bitmap:
        if isinstance(query, Words):
            return _all(bitmaps[term] for term in bound.terms[query])
        if isinstance(query, Not):
            return ~of(query.part)
        return (_all if isinstance(query, And) else _any)(of(part) for part in query.parts)

    return of(bound.query)


def required_terms(bound: BoundQuery) -> AbstractSet[int]:
    """Return the terms that every page has that fulfils the query."""
    parts = bound.query.parts if isinstance(bound.query, And) else (bound.query,)
    return {term for part in parts if isinstance(part, Words) for term in bound.terms[part]}


def holds(bound: BoundQuery, tokens: NDArray[np.uint64]) -> bool:
    """Return whether a text fulfils a query; the words of phrases must be adjacent.

    Args:
        bound: the query.
        tokens: hashes of the tokens of the text, in order.

    Cost: 10 µs a term for 1,000 tokens.
    """

    def of(query: Query) -> bool:
        if isinstance(query, Words):
            return _stands_in(bound.terms[query], tokens)
        if isinstance(query, Not):
            return not of(query.part)
        decide: Callable[[Iterable[bool]], bool] = all if isinstance(query, And) else any
        return decide(of(part) for part in query.parts)

    return of(bound.query)


def _stands_in(terms: tuple[int, ...], tokens: NDArray[np.uint64]) -> bool:
    places = np.flatnonzero(tokens[: max(0, tokens.size - len(terms) + 1)] == np.uint64(terms[0]))
    for distance, term in enumerate(terms[1:], start=1):
        places = places[tokens[places + distance] == np.uint64(term)]
    return places.size > 0


def _all(bitmaps: Iterable[Bitmap]) -> Bitmap:
    return reduce(np.bitwise_and, bitmaps)


def _any(bitmaps: Iterable[Bitmap]) -> Bitmap:
    return reduce(np.bitwise_or, bitmaps)
