"""Page records of texts without some of their lines, as the pipeline would write them."""

from collections.abc import Collection, Iterable, Sequence
from random import Random

import msgspec
import numpy as np

from neardup_stream.fingerprints.framed import SHORT_SHINGLES, pack_wholes
from neardup_stream.fingerprints.simhash import SimhashConfig, fingerprint_lines, view_lines
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.frames.table import LineHashes
from neardup_stream.page import Page
from neardup_stream.pipeline.classification import MIN_CONTENT_SHINGLES
from neardup_stream.pipeline.extract import Extract
from neardup_stream.stores.page_record import PageRecord

__all__ = ["SKETCH", "framed_record", "outside_landmarks", "prose"]

SKETCH = SketchConfig()


def outside_landmarks(page: Page) -> LineHashes:
    """Return the lines of a page outside its landmarks, read in this process."""
    _, (lines,) = fingerprint_lines([Extract("all_text").text_outside_landmarks(page)], SimhashConfig())
    return lines.hashes


def framed_record(content: Sequence[str], frame: Collection[str] = (), url: str = "page") -> PageRecord:
    """Return a page of these lines, each with a token; those of the frame come first, and are taken out."""
    lines = [*frame, *content]
    computed, (page_lines,) = fingerprint_lines(["\n".join(lines)], SimhashConfig(), SKETCH)
    whole = PageRecord(
        url=url,
        fingerprint=int(computed.fingerprints[0]),
        text_fingerprint=int(computed.text_fingerprints[0]),
        version=1,
        made_by=("pages", 0, 0),
        seen_seconds=0,
        sketch=computed.sketches[0].tobytes(),
        shingle_count=int(computed.shingle_counts[0]),
        bands=computed.bands[0].astype(">u4").tobytes(),
    )
    if not frame:
        return whole
    views = view_lines([page_lines], [np.arange(len(lines)) >= len(frame)], SKETCH)
    shingle_count = int(views.shingle_counts[0])
    bands = views.bands[0].astype(">u4").tobytes() if shingle_count >= MIN_CONTENT_SHINGLES else whole.bands
    is_short = whole.shingle_count <= SHORT_SHINGLES and bands != whole.bands
    return msgspec.structs.replace(
        whole,
        sketch=views.sketches[0].tobytes(),
        shingle_count=shingle_count,
        bands=bands,
        whole=pack_wholes(
            [whole.sketch], views.is_kept_sample, [whole.shingle_count <= SHORT_SHINGLES], SKETCH
        )[0],
        whole_count=whole.shingle_count,
        whole_bands=whole.bands if is_short else b"",
    )


def prose(random: Random, words: int, edited: Iterable[int] = ()) -> str:
    """Return one line of words that no other line has; those at some places are others again."""
    line = [f"w{random.getrandbits(60):x}" for _ in range(words)]
    for place in edited:
        line[place] = f"e{random.getrandbits(60):x}"
    return " ".join(line)
