"""Drop characters from long text by a table of code points.

Separate from `canonical`, which does not import NumPy.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["code_points", "shorten_runs", "without"]


def code_points(text: str) -> NDArray[np.uint32]:
    """Return the code points of a text, including surrogates."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.dtype("<u4"))


def without(text: str, table: bytes) -> str:
    """Return the text without the characters whose entry in the table is 1."""
    points = code_points(text)
    is_dropped = np.frombuffer(table, np.bool_)[points]
    return _text(points[~is_dropped]) if is_dropped.any() else text


def shorten_runs(text: str, table: bytes, most: int) -> str:
    """Return the text with at most `most` consecutive characters whose entry in the table is 1.

    Cost: where no run is that long, reads only one character in `most`.
    """
    points = code_points(text)
    in_table = np.frombuffer(table, np.bool_)
    if not in_table[points[most :: most + 1]].any():
        return text
    starts, ends = np.flatnonzero(np.diff(in_table[points], prepend=False, append=False)).reshape(-1, 2).T
    is_kept = np.ones(points.size, np.bool_)
    for run in np.flatnonzero(ends - starts > most).tolist():
        is_kept[starts[run] + most : ends[run]] = False
    return text if is_kept.all() else _text(points[is_kept])


def _text(points: NDArray[np.uint32]) -> str:
    return points.tobytes().decode("utf-32-le", "surrogatepass")
