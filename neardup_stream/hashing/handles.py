"""Handles: what the index stores for a page id.

A handle is a keyed hash, so that nobody who can choose page ids can make two pages share one. Clashes by
chance are still possible: the page record holds the full id, and on a clash the next handle is taken.
"""

from hashlib import blake2b

from neardup_stream.page import Handle, PageId

__all__ = ["KEY_BYTES", "handle_of", "next_handle"]

KEY_BYTES = 16
"""Length of the secret key of one index."""


def handle_of(page_id: PageId, key: bytes) -> Handle:
    """The handle of a page under the key of its index, in [0, 2**64)."""
    return Handle(int.from_bytes(blake2b(page_id.encode(), digest_size=8, key=key).digest(), "big"))


def next_handle(handle: Handle) -> Handle:
    """Where a page goes whose handle is taken by another page."""
    return Handle((handle + 1) % (1 << 64))
