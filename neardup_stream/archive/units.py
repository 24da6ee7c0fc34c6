"""Say once what sizes the format of archives fixes, for compiled code and for other.

Compiled code freezes them, so this file is among the sources of each kernel that imports it.
"""

__all__ = ["CHECK_BITS", "PAGE_BITS", "PAGE_BYTES", "PAGE_WORDS", "RANKED_BITS", "RANKED_VERTICES"]

PAGE_BITS = 12
PAGE_BYTES = 1 << PAGE_BITS
"""Unit of the checksums and of the operating system's mapping."""

PAGE_WORDS = PAGE_BYTES // 8

CHECK_BITS = 16
"""Of a slot, by which it knows its key: one unknown key in 65,536 is taken for a known one."""

RANKED_BITS = 9
RANKED_VERTICES = 1 << RANKED_BITS
"""Vertices to a stored rank."""
