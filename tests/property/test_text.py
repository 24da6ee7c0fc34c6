"""Laws of text: decoding, extraction, canonical form, tokens."""

import unicodedata
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from neardup_stream.text.canonical import canonicalize, fold_characters, is_left_out
from neardup_stream.text.charset import decode_body
from neardup_stream.text.markup import visible_text
from neardup_stream.text.tokens import MAX_TOKEN_CHARACTERS, kind_of, split_tokens

any_text = st.text(st.characters(exclude_categories=()))
tricky_text = st.text(
    st.sampled_from(
        "aA \0\n\u00ad\u200d\u0301\u0327\u0345"
        "\u03b1\u00df\u0130\u0390\u03a3\u1112\u1161\u11ab\uff76\uff9e\u0e33東あ"
    )
)
pointed_text = st.text(
    st.sampled_from(
        "\u0627\u0647\u0648\u064a\u06cc\u06c0\u06c1\u06c2\u06d5\u0623\u0653\u0654\u0655\u064e\u0651\u0640\u0670\u200d\ufe71"
        "\ufcf2\ufba4 \u05d0\u05b7\u05c1\ufb2e\u0d28\u0d3c\u0d4d\u0d7b\u0d7ea\u0301"
    )
)
texts = any_text | tricky_text | pointed_text
markup = st.lists(
    st.sampled_from(
        [
            "<p>",
            "</p>",
            "<b>",
            "</div>",
            "<table>",
            "<td>",
            "<!--",
            "-->",
            "<script>",
            "</script>",
            "<",
            "&",
            "&#",
            ";",
            "x",
            "\0",
            "\ud800",
            "<svg>",
            "<template>",
            "]]>",
            "<textarea>",
            "'",
            '"',
            "=",
            "<a href",
        ]
    )
).map("".join)


@given(texts)
def test_canonicalizing_twice_is_canonicalizing_once(text: str) -> None:
    once = canonicalize(text)

    assert canonicalize(once) == once


@given(texts, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_equivalent_texts_have_one_canonical_form(
    text: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"]
) -> None:
    assert canonicalize(unicodedata.normalize(form, text)) == canonicalize(text)


@given(pointed_text)
def test_what_is_left_out_might_as_well_not_be_there(text: str) -> None:
    without = "".join(each for each in text if not is_left_out(each))

    assert canonicalize(without) == canonicalize(text)


@given(texts)
def test_white_space_makes_no_difference_to_tokens(text: str) -> None:
    assert list(split_tokens(fold_characters(text))) == list(split_tokens(canonicalize(text)))


@given(texts)
def test_tokens_are_all_the_letters_of_the_text(text: str) -> None:
    letters = [each for each in text if kind_of(each) != "separator"]
    tokens = list(split_tokens(text))

    if len(letters) <= MAX_TOKEN_CHARACTERS:
        assert "".join(tokens) == "".join(letters)
    assert all(0 < len(token) <= MAX_TOKEN_CHARACTERS for token in tokens)


@given(any_text | markup, st.sampled_from(["all_text", "main_content"]))
def test_any_text_is_some_markup(html: str, extraction: str) -> None:
    visible = visible_text(html, "main_content" if extraction == "main_content" else "all_text")

    visible.encode()


@given(
    st.binary() | st.text().map(str.encode),
    st.none() | st.text() | st.sampled_from(["utf-8", "latin-1", "utf-16", "euc-kr", "hex", "idna"]),
    st.none() | st.text() | st.text().map("text/html; charset={}".format),
)
def test_any_bytes_decode(body: bytes, charset: str | None, content_type: str | None) -> None:
    decoded = decode_body(body, charset, content_type)

    decoded.text.encode()


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_a_right_label_is_believed(text: str) -> None:
    body = text.encode()
    unmarked = text.removeprefix("\ufeff")

    assert decode_body(body, "utf-8", None).text == unmarked
