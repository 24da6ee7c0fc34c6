import io

import pytest

from neardup_stream.bits import decimal_lines
from neardup_stream.bits.decimal_lines import read_words
from neardup_stream.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(b"", [], id="no-lines"),
        pytest.param(b"3\n1\n2\n", [1, 2, 3], id="ascending"),
        pytest.param(b"3\n1\n3\n", [1, 3], id="a-repeated-line-counts-once"),
        pytest.param(b"1\n2", [1, 2], id="no-end-of-the-last-line"),
        pytest.param(b"1\r\n2\r\n", [1, 2], id="lines-of-windows"),
        pytest.param(b"007\n", [7], id="leading-zeros"),
        pytest.param(b"0\n18446744073709551615\n", [0, 2**64 - 1], id="smallest-and-largest"),
        pytest.param(b"9007199254740993\n", [2**53 + 1], id="beyond-the-precision-of-a-double"),
    ],
)
def test_decimal_lines_are_read_as_a_set(text: bytes, expected: list[int]) -> None:
    assert read_words(io.BytesIO(text)).tolist() == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(
            b"18446744073709551616", "line 3: 18446744073709551616 is not below 2", id="2-to-the-64"
        ),
        pytest.param(
            b"9" * 21, "line 3: '999999999999999999999' is not a decimal", id="more-digits-than-fit"
        ),
        pytest.param(
            b"0" * 20 + b"1", "line 3: '000000000000000000001' is not a decimal", id="more-digits-of-nothing"
        ),
        pytest.param(b"9" * 5000, "line 3: '9999.*…' is not a decimal", id="more-digits-than-int-reads"),
        pytest.param(b"-1", "line 3: '-1' is not a decimal", id="negative"),
        pytest.param(b"+1", r"line 3: '\+1' is not a decimal", id="sign"),
        pytest.param(b"1.0", "line 3: '1.0' is not a decimal", id="fraction"),
        pytest.param(b"1_000", "line 3: '1_000' is not a decimal", id="underscore-that-python-reads"),
        pytest.param(b"0xff", "line 3: '0xff' is not a decimal", id="hexadecimal"),
        pytest.param("٣".encode(), "line 3: '٣' is not a decimal", id="digits-of-another-script"),
        pytest.param(b"\xff\x00", "line 3: .* is not a decimal", id="not-text"),
        pytest.param(b" 1", "line 3: ' 1' is not a decimal", id="space"),
        pytest.param(b"1 2", "line 3: '1 2' is not a decimal", id="two-numbers"),
        pytest.param(b"", "line 3: '' is not a decimal", id="empty-line"),
    ],
)
def test_a_bad_line_is_named(line: bytes, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_words(io.BytesIO(b"1\n2\n" + line + b"\n4\n"))


def test_lines_are_counted_across_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decimal_lines, "_BATCH_BYTES", 4)

    with pytest.raises(ConfigError, match="line 100: 'x'"):
        read_words(io.BytesIO(b"12\n" * 99 + b"x\n"))


def test_a_line_without_end_is_refused_before_all_of_it_is_read() -> None:
    class Endless(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            assert size is not None
            assert size > 0
            return b"1" * size

    with pytest.raises(ConfigError, match="line 1: '1111"):
        read_words(Endless())
