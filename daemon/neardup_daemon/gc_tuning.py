"""Tune how often Python collects cyclic garbage, while modules are loaded and while pages are processed.

Loading makes some 100,000 objects that stay, and a batch as many tuples and lists that die with it, without a
cycle among them. By default Python walks the young ones every 700 allocations, and everything that lives
ever so often: a fifth of the time of loading, and over a tenth of that of pages.
"""

import gc
from typing import Final

__all__ = ["collect_rarely", "keep_what_is_loaded"]

_THRESHOLDS: Final = (100_000, 5, 20)
"""About once a batch; the oldest generation once in some hundred batches.

Connections are full of cycles. Clients that break off thousands a second leave what is alive at each turn to
the older generations, so few turns may pass between their walks: 50 made one of two seconds.
"""


def collect_rarely() -> None:
    """Call it at the start of a process."""
    gc.set_threshold(*_THRESHOLDS)


def keep_what_is_loaded() -> None:
    """Call it once everything that lives as long as the process is loaded; that is never looked at again.

    The garbage of loading, some thousand objects, is kept with it: to look for it takes 50 ms.
    """
    gc.freeze()
