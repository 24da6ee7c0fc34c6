from html import unescape

import pytest

from neardup_stream.text.markup import MAIN_CONTENT_LIMITS, Extraction, visible_text

VISIBLE = {
    "blocks-separate": ("<p>a</p><p>b</p><div>c</div>d", "a b c d"),
    "inline-does-not": ("<p>b<b>o</b>l<i>d</i></p>", "bold"),
    "line-break-separates": ("a<br>b", "a b"),
    "table-cells-separate": ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</table>", "a b c"),
    "list-items-without-bullets": ("<ol><li>a</li><li>b</li></ol><ul><li>c</ul>", "a b c"),
    "script-style-template-comment": (
        "a<script>x</script><style>x</style><template>x</template><!-- x --><noscript>x</noscript>b",
        "ab",
    ),
    "entities": ("&lt;p&gt; &amp; caf&eacute; &#x6771;&nbsp;x", "<p> & café 東 x"),
    "half-a-surrogate-as-entity": ("a&#xD800;b", "a\ufffdb"),
    "half-a-surrogate-itself": ("a \ud800 b", "a ? b"),
    "no-markup-at-all": ("plain text", "plain text"),
    "cut-off-inside-a-tag": ("<p>a</p><p cla", "a"),
    "empty": ("", ""),
    "head-is-not-the-page": ("<head><title>x</title></head><body>a</body>", "a"),
    "alternative-text-is-not-seen": ("a <img alt=x> b", "a b"),
}


@pytest.mark.parametrize(("html", "words"), VISIBLE.values(), ids=VISIBLE)
def test_all_text_is_what_a_reader_sees(html: str, words: str) -> None:
    assert visible_text(html).split() == words.split()


@pytest.mark.parametrize(
    ("cells", "lines"),
    [
        (["1", "2", "3"], ["1 2 3"]),
        (["x" * 39, "y" * 39], ["x" * 39 + " " + "y" * 39]),
        (["x" * 40, "y"], ["x" * 40, "y"]),
        (["1", "2", "x" * 40, "y" * 41, "3", "4"], ["1 2", "x" * 40, "y" * 41, "3 4"]),
        (["Contact", "<p>" + "x" * 9 + "</p>", "y" * 40], ["Contact", "x" * 9, "y" * 40]),
    ],
)
def test_a_long_cell_is_a_line_and_short_cells_side_by_side_are_one(
    cells: list[str], lines: list[str]
) -> None:
    html = f"<table><tr><td>{'<td>'.join(cells)}</table>"

    found = visible_text(html).split("\n")

    assert [" ".join(line.split()) for line in found if line.strip()] == lines


def test_main_content_leaves_the_frame_out() -> None:
    article = "<p>" + "A sentence of the article itself, long enough to be one. " * 5 + "</p>"
    html = f"<body><nav><a href=/>Home</a></nav><main><article>{article}</article></main></body>"

    assert "Home" in visible_text(html, "all_text")
    assert "Home" not in visible_text(html, "main_content")
    assert "article itself" in visible_text(html, "main_content")


@pytest.mark.parametrize(
    "depth",
    [MAIN_CONTENT_LIMITS.max_depth - 2, MAIN_CONTENT_LIMITS.max_depth - 1, MAIN_CONTENT_LIMITS.max_depth],
)
def test_too_deep_pages_give_all_their_text(depth: int) -> None:
    html = "<nav>x</nav>" + "</b>" * 9 + "<div>" * (depth + 1) + "y"

    has_frame = "x" in visible_text(html, "main_content")

    assert has_frame is (depth + 1 > MAIN_CONTENT_LIMITS.max_depth)


@pytest.mark.parametrize("extraction", ["all_text", "main_content"])
@pytest.mark.parametrize(
    "opening",
    [
        *("<div>", "<b><p>", "<table>", "<a>", "<ul><li>", "<template>", "</p><font>"),
        *("<figure>", "<svg>", "<svg><desc>", "<metadata>", "<g>", "<label>", "<select>"),
    ],
)
def test_100000_nested_elements_are_read_in_time(opening: str, extraction: Extraction) -> None:
    """Quadratic work would run into the test's time limit: another parser took minutes."""
    assert visible_text("x" + opening * 100_000, extraction).strip() == "x"


@pytest.mark.parametrize("reference", ["&nGt;", "&nLt;"])
def test_references_that_mean_more_bytes_than_they_have_do_not_overflow(reference: str) -> None:
    meaning = unescape(reference)

    assert visible_text("x" * 5 + reference * 30_000) == "x" * 5 + meaning * 30_000
    assert visible_text(f"<p title='{reference}'>&amp;{reference[1:]}") == reference
