"""Near-duplicate detection for streams of web pages.

The names of this module are the public API of the library. Each is loaded at its first use, so the import
itself is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from neardup_stream.version import __version__

if TYPE_CHECKING:
    from neardup_stream.api import (
        containment,
        find_all,
        find_clusters,
        hamming_distance,
        resemblance,
        simhash,
        sketch,
    )
    from neardup_stream.detector.config import DetectorConfig
    from neardup_stream.detector.detector import Detector
    from neardup_stream.detector.page_verdict import PageVerdict
    from neardup_stream.fingerprints.incremental import Simhash
    from neardup_stream.fingerprints.min_sketch import MinSketch
    from neardup_stream.fingerprints.mod_sketch import ModSketch
    from neardup_stream.fingerprints.simhash import SimhashConfig
    from neardup_stream.fingerprints.sketch import SketchConfig
    from neardup_stream.fold import Fold
    from neardup_stream.page import Page, PageId
    from neardup_stream.pipeline.classification import VerdictConfig

__all__ = [
    "Detector",
    "DetectorConfig",
    "Fold",
    "MinSketch",
    "ModSketch",
    "Page",
    "PageId",
    "PageVerdict",
    "Simhash",
    "SimhashConfig",
    "SketchConfig",
    "VerdictConfig",
    "__version__",
    "containment",
    "find_all",
    "find_clusters",
    "hamming_distance",
    "resemblance",
    "simhash",
    "sketch",
]

_HOMES = {
    "Detector": "detector.detector",
    "DetectorConfig": "detector.config",
    "Fold": "fold",
    "MinSketch": "fingerprints.min_sketch",
    "ModSketch": "fingerprints.mod_sketch",
    "Page": "page",
    "PageId": "page",
    "PageVerdict": "detector.page_verdict",
    "Simhash": "fingerprints.incremental",
    "SimhashConfig": "fingerprints.simhash",
    "SketchConfig": "fingerprints.sketch",
    "VerdictConfig": "pipeline.classification",
    "containment": "api",
    "find_all": "api",
    "find_clusters": "api",
    "hamming_distance": "api",
    "resemblance": "api",
    "simhash": "api",
    "sketch": "api",
}


def __dir__() -> list[str]:
    """Name the public API, also what was not used yet."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import a name of the public API at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"{__name__}.{_HOMES[name]}")
    value = getattr(home, name)
    globals()[name] = value
    return value
