"""Parse and print queries of the term search: words, phrases, AND, OR, NOT and parentheses. Pure.

    cold AND (war OR peace) AND NOT "press release"

Adjacent words mean AND. Operators are upper case; OR binds less than AND, NOT more.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, NoReturn

from neardup_stream.errors import ConfigError

__all__ = [
    "MAX_DEPTH",
    "MAX_QUERY_TERMS",
    "OPERATORS",
    "And",
    "Not",
    "Or",
    "Query",
    "Words",
    "leaves",
    "parse_query",
]

MAX_QUERY_TERMS: Final = 64
"""The most words of a query, including those of its phrases."""

MAX_DEPTH: Final = 64
"""The most nested parentheses and NOTs."""

_TOKEN: Final = re.compile(r'\s*(?:([()])|"([^"]*)"|([^\s()"]+)|(.))', re.DOTALL)
OPERATORS: Final = ("AND", "OR", "NOT")
"""Words that are operators where they are written in capitals and outside of quotation marks."""


@dataclass(frozen=True, slots=True)
class Words:
    """A word, or the words of a phrase, which must be adjacent.

    Attributes:
        text: as it was written.
        is_quoted: whether it was written between quotation marks.
        position: in the query, in characters from 1; 0 for a query that was not parsed. Comparisons ignore
            the position.
    """

    text: str
    is_quoted: bool
    position: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return f'"{self.text}"' if self.is_quoted else self.text


@dataclass(frozen=True, slots=True)
class Not:
    """The part of a query that a page must not fulfil."""

    part: "Query"

    def __str__(self) -> str:
        return f"NOT {_in_parentheses(self.part, And, Or)}"


@dataclass(frozen=True, slots=True)
class And:
    """Parts of a query that a page must all fulfil: two or more, none of them an And."""

    parts: "tuple[Query, ...]"

    def __str__(self) -> str:
        return " AND ".join(_in_parentheses(part, Or) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    """Parts of a query of which a page must fulfil one: two or more, none of them an Or."""

    parts: "tuple[Query, ...]"

    def __str__(self) -> str:
        return " OR ".join(str(part) for part in self.parts)


Query = Words | Not | And | Or


class _Token(NamedTuple):
    """A token of a query.

    Attributes:
        kind: "(", ")", an operator, "words", or "end".
        text: of a word, or between quotation marks.
        position: in characters from 1.
        is_quoted: whether it was between quotation marks.
    """

    kind: str
    text: str
    position: int
    is_quoted: bool = False


def parse_query(text: str) -> Query:
    """Parse a query.

    Raises:
        ConfigError: the query is empty or has a syntax error; the message names the position.
    """
    if alien := _SURROGATE.search(text):
        _fail(_Token("", "", 1 + alien.start()), "this is not UTF-8: type the query in UTF-8")
    return _Parser(text).parse()


def leaves(query: Query) -> Iterator[Words]:
    """Yield the words and phrases of a query, from left to right."""
    if isinstance(query, Words):
        yield query
    else:
        for part in (query.part,) if isinstance(query, Not) else query.parts:
            yield from leaves(part)


_SURROGATE = re.compile("[\ud800-\udfff]")
"""Represents a byte of the command line that is not UTF-8."""


class _Parser:
    """A recursive descent parser of one query."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._depth = 0

    def parse(self) -> Query:
        if self._next.kind == "end":
            _fail(self._next, "the query is empty: name at least one word")
        query = self._any_of()
        if self._next.kind == ")":
            _fail(self._next, "a ) closes nothing: remove it, or open it before")
        return query

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._next
        self._at += 1
        return token

    def _any_of(self) -> Query:
        parts = [self._all_of()]
        while self._next.kind == "OR":
            self._take()
            parts.append(self._all_of())
        flat = [each for part in parts for each in (part.parts if isinstance(part, Or) else (part,))]
        return flat[0] if len(flat) == 1 else Or(tuple(flat))

    def _all_of(self) -> Query:
        parts = [self._one()]
        while self._next.kind not in ("OR", ")", "end"):
            if self._next.kind == "AND":
                self._take()
            parts.append(self._one())
        flat = [each for part in parts for each in (part.parts if isinstance(part, And) else (part,))]
        return flat[0] if len(flat) == 1 else And(tuple(flat))

    def _one(self) -> Query:
        token = self._take()
        if token.kind == "words":
            return Words(token.text, token.is_quoted, token.position)
        if token.kind not in ("NOT", "("):
            found = "the query ends" if token.kind == "end" else f"there is {token.text!r}"
            _fail(token, f"{found} where a word, a phrase, NOT or ( is expected")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            _fail(token, f"parentheses and NOTs are nested more than {MAX_DEPTH} deep")
        inner = Not(self._one()) if token.kind == "NOT" else self._closed(token)
        self._depth -= 1
        return inner

    def _closed(self, opening: _Token) -> Query:
        inner = self._any_of()
        if self._next.kind != ")":
            _fail(opening, "this ( is not closed")
        self._take()
        return inner


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    end = len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        assert found is not None  # noqa: S101 - the last alternative matches any character
        parenthesis, phrase, word, _ = found.groups()
        at = found.end()
        position = 1 + found.start() + len(found[0]) - len(found[0].lstrip())
        if parenthesis:
            yield _Token(parenthesis, parenthesis, position)
        elif phrase is not None:
            yield _Token("words", phrase, position, is_quoted=True)
        elif word:
            yield _Token(word if word in OPERATORS else "words", word, position)
        else:
            _fail(_Token("", "", position), "this quotation mark is not closed")
    yield _Token("end", "", end + 1)


def _in_parentheses(query: Query, *kinds: type) -> str:
    return f"({query})" if isinstance(query, kinds) else str(query)


def _fail(token: _Token, complaint: str) -> NoReturn:
    raise ConfigError(f"query, character {token.position}: {complaint}")
