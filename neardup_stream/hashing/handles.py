"""Compute handles: the keyed hashes that an index stores instead of page ids.

The key is secret, so an attacker who chooses page ids cannot construct two that share a handle. Handles can
still collide by chance: the page record holds the full id, and on a collision the page gets the next handle.
"""

from hashlib import blake2b

from neardup_stream.page import Handle, PageId

__all__ = ["KEY_BYTES", "handle_of", "next_handle"]

KEY_BYTES = 16
"""Length of an index's secret key."""


def handle_of(page_id: PageId, key: bytes) -> Handle:
    """Return the handle of a page under the key of its index, in [0, 2**64)."""
    return Handle(int.from_bytes(blake2b(page_id.encode(), digest_size=8, key=key).digest(), "big"))


def next_handle(handle: Handle) -> Handle:
    """Return the handle that a page gets when another page has this one."""
    return Handle((handle + 1) % (1 << 64))
