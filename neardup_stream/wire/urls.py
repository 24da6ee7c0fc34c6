"""Canonicalize URLs: the canonical URL is the identity of a page without an id.

Scheme and host are lower case, without the default port and the fragment; the query is sorted, percent
escapes are upper case and only where needed, dot segments are resolved, international host names are in ASCII
by UTS 46. Credentials, a trailing dot of the host and other ports stay: they may name another page. A URL
that is not `http`, `https` or `ftp` with a host (relative, `mailto:`, `data:`) stays unchanged.
"""

import re
from urllib.parse import urlsplit

from w3lib.url import canonicalize_url

from neardup_stream.errors import BadPage
from neardup_stream.wire.hosts import ascii_host

__all__ = ["canonical_url"]

# Matched instead of parsed: plain host, plain path without dot segments, at most plain `key=value` pairs.
_PLAIN = re.compile(
    r"""https?:// [a-z0-9-]++ (?:\.[a-z0-9-]++)*+
        (?: / (?!\.) [A-Za-z0-9_.~!$&'()*+,=:@-]*+ )++
        (?: \? ( [\w.-]++=[\w.-]*+ (?: & [\w.-]++=[\w.-]*+ )*+ ) )?""",
    re.VERBOSE | re.ASCII,
)
_HAS_HOST = re.compile(r"(?:https?|ftp)://[^/?#]")
_DEFAULT_PORT = re.compile(r"(http://[^/?#]+):80(?=[/?#]|$) | (https://[^/?#]+):443(?=[/?#]|$)", re.VERBOSE)
_STRIPPED = str.maketrans("", "", "\t\r\n")
_HOST = re.compile(
    r"[\x00-\x20]*+ (?:https?|ftp):// (?:[^/?#]*@)? ([^/?#@]*?) (?: :[0-9]*)? (?:[/?#]|\Z)",
    re.VERBOSE | re.IGNORECASE,
)
_AUTHORITY = re.compile(r"[\x00-\x20]*+ (?:[A-Za-z][A-Za-z0-9+.-]*+:)? [/\\]{2} ([^/\\?#]*+)", re.VERBOSE)
_MAX_AUTHORITY_CHARACTERS = 2_000
"""Of a URL that is not ASCII: to normalize marks takes time with the square of their number."""

_MAX_PASSES = 8


def canonical_url(url: str) -> str:
    """Return the canonical form of `url`; returns a canonical URL unchanged.

    >>> canonical_url("HTTP://Example.com:80/a/../b?y=2&x=1#top")
    'http://example.com/b?x=1&y=2'

    Raises:
        BadPage: `bad_url`, if the URL is empty or cannot be parsed.

    Cost: under 1 µs for a URL that the fast path recognizes, else 10 to 50 µs.
    """
    if _is_plainly_canonical(url):
        return url
    if not url.strip():
        raise BadPage("bad_url", "the URL is empty")
    try:
        return _spelled_canonically(url)
    except ValueError as error:
        raise BadPage("bad_url", f"{error}: {url[:200]!a}") from error


def _is_plainly_canonical(url: str) -> bool:
    """Return True only if the slow path would change nothing."""
    plain = _PLAIN.fullmatch(url)
    if plain is None:
        return False
    query = plain[1]
    if query is None or "&" not in query:
        return True
    pairs = [pair.split("=") for pair in query.split("&")]
    return pairs == sorted(pairs)


def _spelled_canonically(url: str) -> str:
    """Return the canonical form by the slow path; raises ValueError if `url` cannot be parsed.

    A pass may expose another escape or port (`%%34%31`, `:80:80`), so it repeats until nothing changes.
    """
    current = _with_ascii_host(url)
    for _ in range(_MAX_PASSES):
        canonical: str = canonicalize_url(current)
        if not _HAS_HOST.match(canonical):
            return url
        canonical = _DEFAULT_PORT.sub(r"\1\2", canonical)
        if canonical == current or _is_plainly_canonical(canonical):
            return canonical
        current = canonical
    raise ValueError(f"the URL still changes after {_MAX_PASSES} passes")


def _with_ascii_host(url: str) -> str:
    """Return `url` with its host in ASCII, without the characters that every parser ignores."""
    if url.isascii():
        return url
    stripped = url.translate(_STRIPPED)
    found, authority = _HOST.match(stripped), _AUTHORITY.match(stripped)
    if found is None or len(found[1]) <= _MAX_AUTHORITY_CHARACTERS:  # a longer host is quoted
        if authority is not None and len(authority[1]) > _MAX_AUTHORITY_CHARACTERS:
            raise ValueError(f"the authority has more than {_MAX_AUTHORITY_CHARACTERS} characters")
        urlsplit(url)  # raises for hosts that normalize to another part of a URL
    if found is None:
        return url
    start, end = found.span(1)
    return stripped[:start] + ascii_host(found[1]) + stripped[end:]
