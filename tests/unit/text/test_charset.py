import codecs

import pytest

from neardup_stream.text.charset import DecodedBody, decode_body

GERMAN = "Über die Wörter, die der Größe nach geordnet sind, schweigt er lieber. " * 5
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 5
JAPANESE = "いろはにほへと ちりぬるを わかよたれそ つねならむ" * 5

GOOD = {
    "utf-8-label": (GERMAN.encode(), "utf-8", None, GERMAN),
    "no-label-utf-8": (GERMAN.encode(), None, None, GERMAN),
    "no-label-russian": (RUSSIAN.encode("cp1251"), None, None, RUSSIAN),
    "no-label-japanese": (JAPANESE.encode("shift_jis"), None, None, JAPANESE),
    "latin-1-means-windows-1252": (b"\x93a\x94", "latin-1", None, "\u201ca\u201d"),
    "label-in-capitals": (GERMAN.encode(), "UTF8", None, GERMAN),
    "content-type": (RUSSIAN.encode("koi8-r"), None, 'text/html; Charset="koi8-r"', RUSSIAN),
    "label-before-content-type": (RUSSIAN.encode("koi8-r"), "koi8-r", "text/html; charset=utf-8", RUSSIAN),
    "meta-element": (b"<meta charset=koi8-r>" + "да".encode("koi8-r"), None, None, "<meta charset=koi8-r>да"),
    "byte-order-mark-wins": (codecs.BOM_UTF8 + GERMAN.encode(), "koi8-r", None, GERMAN),
    "utf-16-mark": (codecs.BOM_UTF16_LE + GERMAN.encode("utf-16-le"), None, None, GERMAN),
    "utf-16-big-endian-mark": (codecs.BOM_UTF16_BE + GERMAN.encode("utf-16-be"), "utf-8", None, GERMAN),
    "escape-sequences": (JAPANESE.encode("iso2022_jp"), "iso-2022-jp", None, JAPANESE),
    "ascii": (b"plain", None, None, "plain"),
    "empty": (b"", None, None, ""),
}

FALLEN_BACK = {
    "unknown-label": (GERMAN.encode(), "klingon", None, GERMAN),
    "a-codec-but-no-charset": (GERMAN.encode(), "rot13", None, GERMAN),
    "wrong-label": (RUSSIAN.encode("cp1251"), "utf-8", None, RUSSIAN),
    "wrong-label-for-utf-8": (JAPANESE.encode(), "euc-jp", None, JAPANESE),
    "half-of-a-character-in-label": (GERMAN.encode(), "utf-8\ud800", None, GERMAN),
    "half-of-a-character-in-content-type": (GERMAN.encode(), None, "text/html; charset=\udfffx", GERMAN),
    "unknown-in-content-type": (GERMAN.encode(), None, "text/html; charset=x-klingon", GERMAN),
    "cut-off-character": (GERMAN.encode() + b"\xc3", "utf-8", None, GERMAN + "\ufffd"),
    "half-a-unit": (codecs.BOM_UTF16_LE + b"a\0b", None, None, "a\ufffd"),
}


@pytest.mark.parametrize(("body", "charset", "content_type", "text"), GOOD.values(), ids=GOOD)
def test_decodes(body: bytes, charset: str | None, content_type: str | None, text: str) -> None:
    assert decode_body(body, charset, content_type) == DecodedBody(text, fell_back=False)


@pytest.mark.parametrize(("body", "charset", "content_type", "text"), FALLEN_BACK.values(), ids=FALLEN_BACK)
def test_says_when_the_label_did_not_do(
    body: bytes, charset: str | None, content_type: str | None, text: str
) -> None:
    assert decode_body(body, charset, content_type) == DecodedBody(text, fell_back=True)


@pytest.mark.parametrize(
    "meta",
    [
        "<meta charset=utf-16>",
        "<meta charset='UTF-16LE'>",
        "<meta charset=utf-16be>",
        '<meta http-equiv="Content-Type" content="text/html; charset=unicode">',
    ],
)
@pytest.mark.parametrize(
    ("text", "codec"),
    [("plain words", "ascii"), (GERMAN, "utf-8"), (RUSSIAN, "cp1251"), ("caf\xe9 " * 9, "latin-1")],
    ids=["ascii", "utf-8", "windows-1251", "latin-1"],
)
def test_a_meta_element_says_in_vain_that_a_page_of_single_bytes_is_utf_16(
    meta: str, text: str, codec: str
) -> None:
    page = f"<html><head>{meta}</head><p>{text}</html>"

    assert decode_body(page.encode(codec), None, "text/html") == DecodedBody(page, fell_back=False)


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_a_page_in_utf_16_that_says_so_is_read_as_such(codec: str) -> None:
    page = f"<html><head><meta charset=utf-16></head><p>{GERMAN}</html>"

    labelled = decode_body(page.encode(codec), codec.replace("6-", "6"), None)
    marked = decode_body(f"\ufeff{page}".encode(codec), None, None)

    assert labelled == marked == DecodedBody(page, fell_back=False)
