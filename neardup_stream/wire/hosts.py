"""International host names in ASCII: UTS 46, non-transitional, as browsers and registries read them."""

from unicodedata import normalize
from urllib.parse import quote

import idna

__all__ = ["ascii_host"]

_LONGEST_HOST = 253
"""Characters of the longest name in DNS; punycode takes quadratic time, so longer names do without."""

_DELIMITERS = frozenset("/?#@:[]\\")


def ascii_host(host: str) -> str:
    """Return the ASCII form of `host`; an ASCII name is returned as it is.

    Two names share a form only where UTS 46 maps them to one name: `ß` stays apart from `ss`, and a name that
    cannot be registered has a form of its own.

    >>> ascii_host("Faß.de")
    'xn--fa-hia.de'

    Raises:
        ValueError: the name holds half of a surrogate pair, or is more or less than a host name once mapped.
    """
    if host.isascii():
        return host
    if len(host) > _LONGEST_HOST:
        return quote(host.lower())
    host.encode()  # refuses half of a surrogate pair
    mapped = _mapped(host)
    if not mapped.strip(".") or not _DELIMITERS.isdisjoint(mapped):
        raise ValueError("the host is none once it is mapped by UTS 46")
    return ".".join(label if label.isascii() else _punycode(label) for label in mapped.split("."))


def _mapped(host: str) -> str:
    """UTS 46's mapping; characters that it refuses stay as they are."""
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
