"""Convert international host names to ASCII: UTS 46, non-transitional, as browsers and registries do."""

from unicodedata import normalize
from urllib.parse import quote

import idna

__all__ = ["ascii_host"]

_LONGEST_HOST = 253
"""Characters of the longest DNS name. Punycode takes quadratic time, so longer names are not converted."""

_DELIMITERS = frozenset("/?#@:[]\\")


def ascii_host(host: str) -> str:
    """Return the ASCII form of `host`; returns an ASCII name unchanged.

    Two names have equal forms only if UTS 46 maps them to one name: `ß` differs from `ss`, and a name that
    cannot be registered has a form of its own.

    >>> ascii_host("Faß.de")
    'xn--fa-hia.de'

    Raises:
        ValueError: the name contains a lone surrogate, or is no host name after the mapping.
    """
    if host.isascii():
        return host
    if len(host) > _LONGEST_HOST:
        return quote(host.lower())
    host.encode()  # raises for a lone surrogate
    mapped = _mapped(host)
    if not mapped.strip(".") or not _DELIMITERS.isdisjoint(mapped):
        raise ValueError("UTS 46 does not map the host to a valid name")
    return ".".join(label if label.isascii() else _punycode(label) for label in mapped.split("."))


def _mapped(host: str) -> str:
    """Return UTS 46's mapping of a name; characters that it rejects stay unchanged."""
    try:
        return idna.uts46_remap(host, std3_rules=False)
    except idna.IDNAError:
        return normalize("NFC", "".join(map(_mapped_or_kept, host)))


def _mapped_or_kept(character: str) -> str:
    try:
        return idna.uts46_remap(character, std3_rules=False)
    except idna.IDNAError:
        return character


def _punycode(label: str) -> str:
    return f"xn--{label.encode('punycode').decode()}"
