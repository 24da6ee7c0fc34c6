"""Convert URLs to sort keys with reversed host labels, so that the pages of a domain are adjacent.

    https://www.example.com/a?b=1   ◄──►   com,example,www)/a?b=1 + TAB + https

As in the SURT order of web archives' indexes, but reversible: the scheme comes last, and what is no plain
http or https URL is kept as it is, behind a tab.
"""

import re

__all__ = ["surt_key", "url_of_key"]

_PLAIN = re.compile(r"(https?)://([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)(:[0-9]+)?((?:[/?#][^\t]*)?)", re.DOTALL)
_KEY = re.compile(r"([^\t)]*)\)(:[0-9]+)?([^\t]*)\t(https?)", re.DOTALL)
_OTHER = "\t"


def surt_key(url: str) -> bytes:
    r"""Return the key of a URL, or of any other string; distinct strings have distinct keys.

    >>> surt_key("https://www.example.com/a?b=1")
    b'com,example,www)/a?b=1\thttps'
    """
    plain = _PLAIN.fullmatch(url)
    if plain is None:
        return (_OTHER + url).encode("utf-8", "surrogatepass")
    scheme, host, port, rest = plain.groups()
    labels = ",".join(reversed(host.split(".")))
    return f"{labels}){port or ''}{rest}\t{scheme}".encode("utf-8", "surrogatepass")


def url_of_key(key: bytes) -> str:
    r"""Return the string that a key was made of.

    >>> url_of_key(b"com,example,www)/a?b=1\thttps")
    'https://www.example.com/a?b=1'
    """
    text = key.decode("utf-8", "surrogatepass")
    parts = None if text.startswith(_OTHER) else _KEY.fullmatch(text)
    if parts is None:
        return text.removeprefix(_OTHER)
    labels, port, rest, scheme = parts.groups()
    return f"{scheme}://{'.'.join(reversed(labels.split(',')))}{port or ''}{rest}"
