import pytest

from neardup_stream.text.tokens import MAX_TOKEN_CHARACTERS, split_tokens

CASES = {
    "empty": ("", []),
    "only-separators": (" -,.\U0001f600 ", []),
    "letters-digits": ("utf8 x 2020", ["utf8", "x", "2020"]),
    "apostrophe-separates": ("don't", ["don", "t"]),
    "underscore-separates": ("a_b", ["a", "b"]),
    "marks-stay-with-letters": ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    "han": ("東京都", ["東", "京", "都"]),
    "kana": ("ひらカタ", ["ひ", "ら", "カ", "タ"]),
    "hangul-has-spaces": ("안녕 세계", ["안녕", "세계"]),
    "thai-with-marks": ("ที่", ["ท", "ี", "่"]),
    "khmer": ("ខ្មែរ", ["ខ", "្", "ម", "ែ", "រ"]),
    "lao": ("ລາວ", ["ລ", "າ", "ວ"]),
    "burmese": ("မြန်", ["မ", "ြ", "န", "်"]),
    "scripts-side-by-side": ("ab漢1c", ["ab", "漢", "1c"]),
    "han-punctuation": ("東。京、", ["東", "京"]),
}


@pytest.mark.parametrize(("text", "tokens"), CASES.values(), ids=CASES)
def test_splits(text: str, tokens: list[str]) -> None:
    assert list(split_tokens(text)) == tokens


@pytest.mark.parametrize("length", [MAX_TOKEN_CHARACTERS - 1, MAX_TOKEN_CHARACTERS, MAX_TOKEN_CHARACTERS + 1])
def test_a_run_counts_up_to_the_limit(length: int) -> None:
    assert list(split_tokens("é" * length + " b")) == ["é" * min(length, MAX_TOKEN_CHARACTERS), "b"]


def test_the_limit_is_for_runs_only() -> None:
    assert len(list(split_tokens("漢" * (MAX_TOKEN_CHARACTERS + 1)))) == MAX_TOKEN_CHARACTERS + 1
