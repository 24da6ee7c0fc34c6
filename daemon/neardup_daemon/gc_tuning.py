"""Tune how often Python collects cyclic garbage while pages are processed.

A batch makes some 100,000 tuples and lists that die with it, without a cycle among them. By default Python
walks the young ones every 700 allocations, and everything that lives ever so often: over a tenth of the time.
"""

import gc
from typing import Final

__all__ = ["collect_rarely"]

_THRESHOLDS: Final = (100_000, 50, 100)
"""About once a batch; the oldest generation once in some thousand batches."""


def collect_rarely() -> None:
    """Call it once everything that lives as long as the process is loaded; that is never looked at again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
