"""How much the text of one page may cost; apart from what enforces it, which takes long to import."""

from dataclasses import dataclass

__all__ = ["MarkupLimits", "TextLimits"]


@dataclass(frozen=True, slots=True)
class MarkupLimits:
    """How much of what is slow to parse one page may have, in the order in which it is counted.

    Attributes:
        max_nodes: elements and attributes, and the formatting elements (`b`, `font` and their like) that a
            parser repeats in every block because they were left open.
        max_depth: elements inside each other.
        max_attributes: of one element.
        max_names: different names of elements and attributes.
        max_formatting: formatting elements that are open at once.
        max_options: options of all lists to choose from.
        max_steps: open elements that a parser passes at tags: at each tag, as many as are open.
        max_text_bytes: here of the spaces in front of the items of nested lists, which are part of the text.
        max_copied_bytes: text that a parser copies because it adds to one text again and again: around tags
            that it ignores, comments behind the end of the body, and the cells of a table.
    """

    max_nodes: int = 1 << 19
    max_depth: int = 1024
    max_attributes: int = 1024
    max_names: int = 4096
    max_formatting: int = 256
    max_options: int = 8192
    max_steps: int = 1 << 28
    max_text_bytes: int = 4 << 20
    max_copied_bytes: int = 64 << 20


@dataclass(frozen=True, slots=True)
class TextLimits:
    """What the text of one page may cost.

    Attributes:
        markup: what is slow to parse.
        max_text_bytes: of the visible text, in UTF-8, as extracted and as canonicalized.
    """

    markup: MarkupLimits = MarkupLimits()
    max_text_bytes: int = 4 << 20
