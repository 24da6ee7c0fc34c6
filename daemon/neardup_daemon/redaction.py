"""Remove secrets from anything that a person or a log collector may read."""

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import unquote

__all__ = ["HIDDEN", "PRIVATE_NAMES", "redact", "redact_setting"]

HIDDEN: Final = "***"

PRIVATE_NAMES: Final = "pass|pwd|secret|token|auth|cred"
"""A pattern of what stands, in whatever case, in names of settings and parameters that may be secret."""

_WORDS = re.compile(r"\S+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_QUOTED = r"""(?: "(?:[^"\\]|\\.)*+" | '(?:[^'\\]|\\.)*+' | [^&\s]++ )"""
_ASSIGNED = re.compile(
    rf"""( (?:password|passwd|pwd|secret|token) (?: ["']?\s?=\s? | ["']\s?:\s? ) ) {_QUOTED}""",
    re.VERBOSE | re.IGNORECASE,
)
_SECRET_NAME = re.compile(f"{PRIVATE_NAMES}|user", re.IGNORECASE)
_HARMLESS_PARAMETERS = frozenset(
    (
        "db",
        "health_check_interval",
        "max_connections",
        "protocol",
        "retry_on_timeout",
        "socket_connect_timeout",
        "socket_keepalive",
        "socket_timeout",
        "timeout",
    )
)


def redact(text: str) -> str:
    """Return `text` with user names and passwords inside URLs, and values of passwords, replaced by `***`.

    Everything in a word up to its last `@` is removed, because a password without percent-encoding may
    hold any character. Harmless text that looks the same is removed too.

    >>> redact("redis://user:p@ss@cache:6379/0")
    'redis://***@cache:6379/0'
    >>> redact("unix:///run/redis.sock?password=secret&db=1")
    'unix:///run/redis.sock?password=***&db=1'

    Cost: linear in the text.
    """
    if "://" in text:
        text = _WORDS.sub(lambda word: _redact_word(word[0]), text)
    return _ASSIGNED.sub(rf"\1{HIDDEN}", text)


def redact_setting(value: str) -> str:
    """Return the value of a setting that may be a URL, in whatever spelling, without what may be secret.

    White space does not end it, it needs no scheme; only known parameters are shown, and no fragment.

    >>> redact_setting("redis://user:p ss@cache:6379/0?d%62=1&username=x")
    'redis://***@cache:6379/0?d%62=1&username=***'
    """
    scheme = _SCHEME.match(value)
    start = scheme.end() if scheme else 0
    userinfo, at, rest = value[start:].rpartition("@")
    rest, fragment, _ = rest.partition("#")
    hidden = f"{fragment}{HIDDEN}" if fragment else ""
    shown = f"{HIDDEN}@" if at else userinfo
    return _ASSIGNED.sub(
        rf"\1{HIDDEN}", value[:start] + shown + _redact_query(rest, _is_unknown_parameter) + hidden
    )


def _redact_word(word: str) -> str:
    head, separator, rest = word.partition("://")
    if not separator:
        return word
    userinfo, at, rest = rest.rpartition("@")
    return head + separator + (f"{HIDDEN}@" if at else userinfo) + _redact_query(rest, _is_secret_parameter)


def _redact_query(url: str, is_secret: Callable[[str], bool]) -> str:
    address, mark, query = url.partition("?")
    if not mark:
        return url
    parts = (part.partition("=") for part in query.split("&"))
    return (
        address
        + mark
        + "&".join(
            f"{name}={HIDDEN}" if equals and is_secret(unquote(name)) else f"{name}{equals}{value}"
            for name, equals, value in parts
        )
    )


def _is_secret_parameter(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def _is_unknown_parameter(name: str) -> bool:
    return name.lower() not in _HARMLESS_PARAMETERS
