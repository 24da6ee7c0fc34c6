"""Estimate what markup would cost a parser, before parsing it.

Parsers follow the HTML standard, under which some markup takes quadratic time or more memory than a machine
has. One cheap pass counts what such pages have in common.
"""

import functools
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Final, cast

import numpy as np

from neardup_stream.errors import BadPage, LimitName
from neardup_stream.kernel_cache import load_compiled
from neardup_stream.text.limits import MarkupLimits

__all__ = ["check_markup", "is_over", "load_markup_kernel"]

_KERNEL_MODULE = "neardup_stream.text.markup_kernel"
_LIMITS: Final = cast("Sequence[LimitName]", [each.name for each in fields(MarkupLimits)])


@functools.cache
def load_markup_kernel() -> ModuleType:
    """Load the compiled scan: 0.2 s, or some 2 s when it must be compiled."""
    sources = [
        Path(__file__).with_name(f"markup_{name}.py") for name in ("kernel", "stack", "tokens", "names")
    ]
    return load_compiled("markup", _KERNEL_MODULE, sources)


def check_markup(html: str, limits: MarkupLimits) -> None:
    """Raise unless a parser can handle the markup within the limits of time and memory.

    Raises:
        BadPage: a limit is exceeded; the error names it.

    Cost: 2 ns a byte.
    """
    kernel = load_markup_kernel()
    for name, what, count in zip(_LIMITS, kernel.COUNTS, _counts(html, limits), strict=True):
        if count > (limit := getattr(limits, name)):
            detail = f"the markup has {what} of at least {count}, the limit is limits.{name} = {limit}"
            raise BadPage("over_limit", detail, name)


def is_over(html: str, limits: MarkupLimits) -> bool:
    """Return whether `check_markup` would raise."""
    counts = _counts(html, limits)
    return any(count > getattr(limits, name) for name, count in zip(_LIMITS, counts, strict=True))


def _counts(html: str, limits: MarkupLimits) -> Sequence[int]:
    kernel = load_markup_kernel()
    allowed = np.array([getattr(limits, name) for name in _LIMITS], np.int64)
    counts = np.zeros(len(kernel.COUNTS), np.int64)
    kernel.scan_markup(np.frombuffer(html.encode("utf-8", "replace"), np.uint8), allowed, counts)
    found: list[int] = counts.tolist()
    return found
