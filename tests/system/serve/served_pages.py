"""The pages of the index that is served."""

from tests.pipelines import essay, page_json

__all__ = ["COPIES", "PAGES", "A", "B", "C"]

A, B, C = (f"https://example.com/{name}" for name in "abc")
COPIES = tuple(f"https://copies.example/{n}" for n in range(7))
PAGES = (
    page_json("a", essay(1)),
    page_json("b", essay(1, edits=[50])),
    page_json("c", essay(2)),
    page_json("d", essay(3), id="page d"),
    page_json("short", "too short"),
    *(page_json("x", essay(4), url=url) for url in COPIES),
)
