import pytest

from benchmarks.quality.frames.article import ArticleElement, article_tokens

MAIN = ArticleElement("class", "main")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("<nav>no</nav><div class='main'>a<br>b</div><p>no", id="what stands around it"),
        pytest.param("<div class='wide main'><div>a</div>b</div>no", id="one word of several, nested tags"),
        pytest.param("<div class='mainly'>no</div><div class='main'>a b</div>", id="not a part of a word"),
        pytest.param("<div id='main'>no</div><p class='main'>a b</p>", id="not another attribute"),
        pytest.param("<p class='main'>a b</p><p class='main'>no</p>", id="only the first one"),
        pytest.param("<p class='main'>a<script>no</script> b</p>", id="nothing that is not shown"),
    ],
)
def test_an_article_is_the_visible_words_of_its_element(page: str) -> None:
    assert article_tokens(f"<body>{page}</body>", MAIN) == ["a", "b"]


def test_a_page_without_the_element_has_no_article() -> None:
    assert article_tokens("<body><div>a b</div></body>", MAIN) is None
    assert article_tokens("<body><div class='main'></div></body>", MAIN) == []
