"""Verdicts of pages whose texts differ in one element of HTML."""

from collections.abc import Callable

import pytest

from neardup_stream import Detector, Page, PageId
from tests.pipelines import essay

INTRO = "<h1>Prices</h1><p>What each of them costs, for a day and a week, with all that belongs to it.</p>"


def table(words: list[str]) -> str:
    rows = "".join(f"<tr><td>{word}<td>each" for word in words)
    return f'<figure class="wp-block-table"><table>{rows}</table></figure>'


def code(words: list[str]) -> str:
    lines = "<br>".join(f'<span class="line">{word}();</span>' for word in words)
    return f'<figure class="highlight"><table><tr><td class="code"><pre>{lines}</pre></table></figure>'


def questions(words: list[str]) -> str:
    return "".join(f"<button>What is {word}?</button>" for word in words)


def choices(words: list[str]) -> str:
    return "".join(f"<label><input type=radio> {word}</label><br>" for word in words)


def drawing(words: list[str]) -> str:
    return f"<svg>{' '.join(f'<text>{word}</text>' for word in words)}</svg>"


@pytest.mark.parametrize("content", [table, code, questions, choices, drawing])
async def test_pages_that_differ_inside_one_element_are_no_duplicates(
    content: Callable[[list[str]], str],
) -> None:
    pages = [
        Page(
            id=PageId(name),
            url=f"https://{name}.example/",
            fetched_at_seconds=0,
            html=INTRO + content(essay(topic).split()),
        )
        for name, topic in (("first", 1), ("other", 2), ("copy", 1))
    ]

    found = await Detector().add_pages(pages)

    assert [each.kind for each in found] == ["unique", "unique", "exact"]
