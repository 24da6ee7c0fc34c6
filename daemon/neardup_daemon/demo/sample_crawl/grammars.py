# ruff: noqa: RUF001 - letters that resemble Latin ones are the point of this file
"""Define languages that do not exist, written in scripts that do.

Each is a small syllable grammar: what a syllable may begin with, its vowel, what may close a word. Tags are
from the range that ISO 639 keeps for local use (qaa to qtz), because these languages are invented.
"""

from dataclasses import dataclass

__all__ = ["GRAMMARS", "Grammar"]


@dataclass(frozen=True, slots=True)
class Grammar:
    """How one invented language is written.

    Attributes:
        language: BCP 47 tag, local use.
        onsets: what a syllable begins with.
        vowels: the rest of a syllable; `-` is the place of the onset, since Thai writes some vowels first.
        codas: what may close a word; an empty one for words that end open.
        longest_syllables: most syllables of a word.
        space: what stands between words.
        comma: within a sentence, white space included.
        stop: at the end of a sentence, white space included.
    """

    language: str
    onsets: tuple[str, ...]
    vowels: tuple[str, ...]
    codas: tuple[str, ...] = ("",)
    longest_syllables: int = 4
    space: str = " "
    comma: str = ", "
    stop: str = ". "


def _letters(spelled: str) -> tuple[str, ...]:
    """Alternatives separated by blanks; `_` is the empty one."""
    return tuple("" if part == "_" else part for part in spelled.split())


def _every(first: int, last: int, step: int = 1) -> tuple[str, ...]:
    """Characters from one code point to another."""
    return tuple(chr(code) for code in range(first, last + 1, step))


GRAMMARS = (
    Grammar(
        "qaa-Latn",
        _letters("b br d dr f g gr h k l m n p pr r s st t tr v w"),
        _letters("-a -e -i -o -u -ea -ou"),
        _letters("_ _ n r s t l nd rk"),
    ),
    Grammar(
        "qab-Latn",
        _letters("b c ch d f g j l ll m n ñ p qu r s t tr v z"),
        _letters("-a -á -e -é -i -o -ó -u -ü -ie -ão"),
        _letters("_ _ _ n s r l z"),
    ),
    Grammar(
        "qac-Latn",
        _letters("b d fj g h hj k kv l m n p r s sk sv t v ø æ"),
        _letters("-a -e -i -o -u -y -å -ä -ö -ei"),
        _letters("_ n r t k lt ng st"),
    ),
    Grammar(
        "qad-Cyrl",
        _letters("б в г д ж з к л м н п р с ст т тр ф х ц ч ш"),
        _letters("-а -е -и -о -у -ы -я -ю -ё"),
        _letters("_ _ й л м н р ть х ск"),
    ),
    Grammar(
        "qae-Grek",
        _letters("β γ δ ζ θ κ λ μ ν ξ π πρ ρ σ στ τ φ χ ψ"),
        _letters("-α -ά -ε -έ -η -ή -ι -ί -ο -ό -ου -ω -ώ"),
        _letters("_ _ ς ν ξ"),
    ),
    Grammar(
        "qaf-Hani",
        _every(0x4E09, 0x8F00, 13),
        ("-",),
        longest_syllables=2,
        space="",
        comma="，",
        stop="。",
    ),
    Grammar(
        "qag-Jpan",
        _every(0x304B, 0x3093) + _every(0x30AB, 0x30F3, 3) + _every(0x5000, 0x8A00, 97),
        ("-",),
        longest_syllables=3,
        space="",
        comma="、",
        stop="。",
    ),
    Grammar(
        "qah-Thai",
        _letters("ก ข ค ง จ ช ด ต ท น บ ป พ ฟ ม ย ร ล ว ส ห กร ปล"),
        _letters("-า -ี -ู -ิ เ- แ- โ- ไ- -ะ -อ -ั"),
        _letters("_ ง น ม ก ด บ"),
        longest_syllables=2,
        space="",
        comma=" ",
        stop=" ",
    ),
)
