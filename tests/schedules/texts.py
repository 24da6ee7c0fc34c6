"""Texts of which those of one family are alike."""

__all__ = ["text_of"]

_WORDS = 100


def text_of(topic: int, edits: int) -> str:
    """Return a text of a family; a few edits apart they are alike, by their fingerprints alone."""
    words = [f"t{topic}w{number}" for number in range(_WORDS)]
    for place in range(edits):
        words[place] = f"t{topic}e{place}"
    return " ".join(words)
