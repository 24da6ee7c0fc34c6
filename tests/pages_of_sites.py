"""Pages of sites whose frame is most of their text."""

import msgspec

__all__ = ["framed_page", "framed_site"]

MENU = [f"menu entry {number} leads to section {number} of this shop" for number in range(12)]
FOOTER = [f"footer line {number} names imprint privacy and terms {number}" for number in range(6)]


def framed_page(site: str, name: str, words: int = 60, edits: int = 0) -> bytes:
    """Return a page of HTML with a frame of some 220 words, and content of its own name, perhaps edited."""
    content = [f"{name}word{number}" for number in range(words)]
    content[:edits] = [f"{name}edited{number}" for number in range(edits)]
    menu = "".join(f"<li>{line} of {site}</li>" for line in MENU)
    footer = "".join(f"<p>{line} of {site}</p>" for line in FOOTER)
    html = f"<nav><ul>{menu}</ul></nav><main><p>{' '.join(content)}</p></main><footer>{footer}</footer>"
    return msgspec.json.encode({"url": f"https://{site}/{name}", "html": html})


def framed_site(site: str, first: int, count: int) -> list[bytes]:
    """Different pages of one site, by number."""
    return [framed_page(site, f"page{number}x") for number in range(first, first + count)]
