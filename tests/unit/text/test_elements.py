"""Of every element of HTML, whether what stands in it is text of the page."""

import pytest

from neardup_stream.text.markup import visible_text


def names(text: str) -> list[str]:
    return text.split()


TEXT = names(
    "a abbr address article aside b bdi bdo blockquote body button canvas cite code data dd del details dfn"
    " dialog div dl dt em fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup html i ins"
    " kbd label legend li main map mark math menu meter nav object ol output p picture pre progress q rp rt"
    " ruby s samp search section slot small span strong sub summary sup svg table time title u ul var"
    " acronym applet basefont bgsound big blink center dir font listing marquee menuitem multicol nextid nobr"
    " noembed noframes optgroup rb rtc spacer strike tt xmp my-element"
)
IN_A_TABLE = names("caption colgroup tbody td tfoot th thead tr")
NO_TEXT = names("script style template noscript iframe video audio select option datalist textarea")
VOID = names("area base br col embed hr img input link meta source track wbr frame keygen param")
SVG = names("svg g symbol path rect circle")


@pytest.mark.parametrize("name", TEXT)
def test_what_an_element_shows_is_text(name: str) -> None:
    shown = "[ in side ]" if name == "button" else "in side"

    assert visible_text(f"<p>before</p><{name}>in side</{name}>").split() == ["before", *shown.split()]


@pytest.mark.parametrize("name", IN_A_TABLE)
def test_all_of_a_table_is_text(name: str) -> None:
    html = f"<table><{name}>inside</{name}></table>"

    assert visible_text(html).split() == ["inside"]


@pytest.mark.parametrize("name", NO_TEXT)
def test_what_an_element_does_not_show_is_none(name: str) -> None:
    assert visible_text(f"<p>before</p><{name}>inside</{name}><p>after</p>").split() == ["before", "after"]


@pytest.mark.parametrize("name", VOID)
def test_an_element_without_content_has_no_text(name: str) -> None:
    attributes = " ".join(f"{each}=inside" for each in ("alt", "title", "value", "placeholder", "label"))

    assert visible_text(f"<p>before <{name} {attributes}> after").split() == ["before", "after"]


@pytest.mark.parametrize("name", [*TEXT, *NO_TEXT])
def test_attributes_are_no_text(name: str) -> None:
    attributes = " ".join(f"{each}=inside" for each in ("alt", "title", "value", "placeholder", "label"))

    assert "inside" not in visible_text(f"<p>before</p><{name} {attributes}>it</{name}>")


@pytest.mark.parametrize(
    ("html", "words"),
    [
        ("<select><optgroup label=x><option>x</optgroup><option selected>x</select>", ""),
        ("<input list=l><datalist id=l>x<option>x</datalist>", ""),
        ("<button><h3>Which bank?</h3></button><div hidden>yours</div>", "[ Which bank? ] yours"),
        ("<label>Name <input value=x> <select><option>x</select></label>", "Name"),
        ("<figure><img alt=x><figcaption>a <b>c</b></figcaption></figure>", "a c"),
        ("<figure><video>x</video><object><p>a</object></figure>", "a"),
        ("<figure><script>x</script><style>x</style><noscript>x</noscript>a</figure>", "a"),
        ("<svg><style>x</style><script>x</script><text>a</text> <text>c</text></svg>", "a c"),
        ("<svg><foreignObject><p>a</p></foreignObject></svg>", "a"),
        ("<rss><item><title>a</title> <desc>c</desc></item></rss>", "a c"),
        ("<plaintext>a</plaintext>", "a</plaintext>"),
        *((f"<svg><{name}><title>x</title><text>a</text></{name}></svg>", "a") for name in SVG),
        *((f"<svg><{name}><desc>x</desc><metadata>x</metadata></{name}>a</svg>", "a") for name in SVG),
    ],
)
def test_elements_inside_others(html: str, words: str) -> None:
    assert visible_text(html).split() == words.split()


@pytest.mark.parametrize("name", ["figure", "figcaption", "object", "button", "label", "svg"])
def test_the_same_is_text_of_the_main_content_and_outside_landmarks(name: str) -> None:
    prose = "A sentence of the article itself, long enough to be one. " * 5
    html = f"<body><nav>menu</nav><main><article><p>{prose}</p><{name}>in side</{name}></article></main>"

    assert "in side" in visible_text(html, "main_content")
    assert "in side" in visible_text(html, landmarks=False)
    assert "menu" not in visible_text(html, landmarks=False)
