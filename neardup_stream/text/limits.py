"""Limit what the text of one page may cost.

Separate from the code that enforces the limits, which is slow to import.
"""

from dataclasses import dataclass

__all__ = ["MarkupLimits", "TextLimits"]

_MAX_TEXT_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class MarkupLimits:
    """Limits on markup that is slow to parse, in the order in which they are counted.

    Attributes:
        max_nodes: elements and attributes, plus the unclosed formatting elements (`b`, `font` and the
            like) that a parser repeats in every block.
        max_depth: nested elements.
        max_attributes: of one element.
        max_names: distinct names of elements and attributes.
        max_formatting: formatting elements that are open at once, of equal ones three at most.
        max_options: options of all selection lists.
        max_steps: open elements that a parser passes at tags: at each tag, as many as are open.
        max_text_bytes: indentation before the items of nested lists, which is part of the text.
        max_copied_bytes: text that a parser copies because it appends to one text repeatedly: around tags
            that it ignores, comments after the end of the body, and the cells of a table.
    """

    max_nodes: int = 1 << 19
    max_depth: int = 1024
    max_attributes: int = 1024
    max_names: int = 4096
    max_formatting: int = 256
    max_options: int = 8192
    max_steps: int = 1 << 28
    max_text_bytes: int = _MAX_TEXT_BYTES
    max_copied_bytes: int = 64 << 20


@dataclass(frozen=True, slots=True)
class TextLimits:
    """Limits on the text of one page.

    Attributes:
        markup: limits on what is slow to parse.
        max_text_bytes: of the visible text, in UTF-8, as extracted and as canonicalized.
    """

    markup: MarkupLimits = MarkupLimits()
    max_text_bytes: int = _MAX_TEXT_BYTES
