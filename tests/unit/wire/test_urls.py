from contextlib import nullcontext

import pytest

from neardup_stream.errors import BadPage
from neardup_stream.wire.urls import canonical_url

SPELLINGS = {
    "already-canonical": ("http://example.com/a/b.html", "http://example.com/a/b.html"),
    "upper-case-host": ("HTTP://Example.COM/A", "http://example.com/A"),
    "http-default-port": ("http://example.com:80/a", "http://example.com/a"),
    "https-default-port": ("https://example.com:443/a", "https://example.com/a"),
    "default-port-with-zeros": ("https://example.com:0443/a", "https://example.com/a"),
    "default-port-without-path": ("http://example.com:80", "http://example.com/"),
    "default-port-of-the-other-scheme": ("http://example.com:443/a", "http://example.com:443/a"),
    "port-that-begins-alike": ("http://example.com:8080/a", "http://example.com:8080/a"),
    "default-port-of-ipv6": ("http://[0:0::1]:80/", "http://[::1]/"),
    "ipv6-that-ends-like-a-port": ("http://[::80]/", "http://[::80]/"),
    "port-in-the-path": ("http://example.com/a:80/b", "http://example.com/a:80/b"),
    "fragment": ("http://example.com/a#top", "http://example.com/a"),
    "empty-query": ("http://example.com/a?", "http://example.com/a"),
    "sorted-query": ("http://example.com/a?x=1&y=2", "http://example.com/a?x=1&y=2"),
    "unsorted-query": ("http://example.com/a?y=2&x=1", "http://example.com/a?x=1&y=2"),
    "repeated-names-in-a-query": ("http://example.com/a?x=2&x=1", "http://example.com/a?x=1&x=2"),
    "names-that-sort-before-the-sign": ("http://example.com/a?b-c=1&b=1", "http://example.com/a?b=1&b-c=1"),
    "no-path": ("http://example.com", "http://example.com/"),
    "dot-segments": ("http://example.com/a/./b/../c", "http://example.com/a/c"),
    "escaped-dot-segments": ("http://example.com/a/%2e%2e/c", "http://example.com/c"),
    "hidden-file": ("http://example.com/.well-known/a", "http://example.com/.well-known/a"),
    "needless-escape": ("http://example.com/%7Euser", "http://example.com/~user"),
    "lower-case-escape": ("http://example.com/a%2fb", "http://example.com/a%2Fb"),
    "accented-path": ("http://example.com/r\u00e9sum\u00e9", "http://example.com/r%C3%A9sum%C3%A9"),
    "international-host": ("http://b\u00fccher.example/", "http://xn--bcher-kva.example/"),
    "sharp-s-in-the-host": ("http://fa\u00df.de/", "http://xn--fa-hia.de/"),
    "capital-sharp-s": ("http://FA\u1e9e.de/", "http://xn--fa-hia.de/"),
    "final-sigma": ("http://\u03b2\u03cc\u03bb\u03bf\u03c2.gr/", "http://xn--nxasmm1c.gr/"),
    "joiner-in-the-host": ("http://a\u200db.com/", "http://xn--ab-m1t.com/"),
    "full-width-host": ("http://\uff45xample.com/", "http://example.com/"),
    "ideographic-dot": ("http://b\u3002com/", "http://b.com/"),
    "soft-hyphen": ("http://a\u00adb.com/", "http://ab.com/"),
    "symbol-that-no-registry-takes": ("http://\u2603.net/", "http://xn--n3h.net/"),
    "unassigned-character": ("http://\u0378\u00df.de/", "http://xn--zca34k.de/"),
    "international-host-with-all-parts": (
        "HTTPS://U:P@FA\u00df.de:0443/\u00df?\u00df#\u00df",
        "https://U:P@xn--fa-hia.de/%C3%9F?%C3%9F=",
    ),
    "line-end-in-an-international-host": (" http://fa\n\u00df.de/a", "http://xn--fa-hia.de/a"),
    "sharp-s-outside-the-host": ("http://fass.de/\u00df@fa\u00df.de", "http://fass.de/%C3%9F@fa%C3%9F.de"),
    "credentials-keep-their-case": ("http://User:Pass@EXAMPLE.com/", "http://User:Pass@example.com/"),
    "trailing-dot-of-the-host": ("http://example.com./", "http://example.com./"),
    "white-space-around": ("  http://example.com/a\n", "http://example.com/a"),
    "line-end-behind-a-plain-url": ("http://example.com/a\n", "http://example.com/a"),
    "double-slash-in-the-path": ("http://example.com//a", "http://example.com//a"),
    "escape-uncovered-by-a-pass": ("http://example.com/%a%41", "http://example.com/%AA"),
    "relative-path": ("../a/./b?y=1&x=2#c", "../a/./b?y=1&x=2#c"),
    "relative-host": ("//Example.com:80/a", "//Example.com:80/a"),
    "bare-host": ("Example.com", "Example.com"),
    "mail-address": ("mailto:A@Example.com", "mailto:A@Example.com"),
    "no-host": ("http:///a", "http:///a"),
}


@pytest.mark.parametrize(("url", "canonical"), SPELLINGS.values(), ids=SPELLINGS.keys())
def test_every_spelling_has_one_canonical_url(url: str, canonical: str) -> None:
    assert canonical_url(url) == canonical


@pytest.mark.parametrize("canonical", sorted({canonical for _, canonical in SPELLINGS.values()}))
def test_a_canonical_url_is_its_own(canonical: str) -> None:
    assert canonical_url(canonical) == canonical


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("", id="empty"),
        pytest.param(" \t\n", id="white-space"),
        pytest.param("http://[", id="unclosed-ipv6"),
        pytest.param("//[", id="unclosed-relative-ipv6"),
        pytest.param("http://example.com:65536/", id="port-over-the-highest"),
        pytest.param("http://example.com:http/", id="port-in-letters"),
        pytest.param("http://\u2100.example/", id="host-that-normalizes-to-a-slash"),
        pytest.param("http://example.com/\ud800", id="lone-surrogate"),
        pytest.param("http://\ud800.com/", id="lone-surrogate-in-the-host"),
        pytest.param("http://\u00ad/", id="host-of-nothing-but-ignored-characters"),
    ],
)
def test_an_empty_or_unparsable_url_is_a_bad_page(url: str) -> None:
    with pytest.raises(BadPage) as error:
        canonical_url(url)

    assert error.value.reason == "bad_url"
    assert error.value.detail.encode()


def test_the_highest_port_is_a_port() -> None:
    assert canonical_url("http://example.com:65535/") == "http://example.com:65535/"


@pytest.mark.parametrize(("layers", "is_settled"), [(7, True), (8, True), (9, False), (2000, False)], ids=str)
def test_a_url_whose_escapes_hide_escapes_is_given_up_in_time(layers: int, *, is_settled: bool) -> None:
    url = f"http://example.com/{'%' * layers}{'3' * (layers - 1)}41"

    if is_settled:
        assert canonical_url(url) == "http://example.com/A"
    else:
        with pytest.raises(BadPage, match="still changes after 8 passes"):
            canonical_url(url)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("fa\u00df.de", "fass.de", id="sharp-s"),
        pytest.param("\u03c2.gr", "\u03c3.gr", id="final-sigma"),
        pytest.param("a\u200cb.com", "ab.com", id="non-joiner"),
        pytest.param("\u0378\u00df.de", "\u0378ss.de", id="beside-an-unassigned-character"),
        pytest.param("\u00df." * 200 + "de", "ss." * 200 + "de", id="longer-than-any-host"),
        pytest.param("\u00df" * 64 + ".de", "ss" * 64 + ".de", id="label-longer-than-any"),
    ],
)
def test_two_hosts_never_share_a_canonical_url(one: str, other: str) -> None:
    assert canonical_url(f"http://{one}/") != canonical_url(f"http://{other}/")


@pytest.mark.parametrize(
    "character", ["\u00df", "\u0301", "a\u0316\u0301", "\u0316\u0301", "\uff0e", "\ufdfa"]
)
def test_a_host_of_any_length_takes_no_longer_than_its_bytes(character: str) -> None:
    canonical_url(f"http://{character * 300_000}/")


@pytest.mark.parametrize("before", ["http://", "http:\\\\", "//"])
def test_an_authority_of_many_marks_is_refused_before_it_is_normalized(before: str) -> None:
    url = before + "\u0316\u0301" * 150_000 + "@example.com/"

    with pytest.raises(BadPage, match="the authority has more than 2000 characters"):
        canonical_url(url)


@pytest.mark.parametrize(("count", "is_accepted"), [(2_000, True), (2_001, False)])
def test_an_authority_has_two_thousand_characters_at_most(count: int, *, is_accepted: bool) -> None:
    host = "@example.com"
    url = f"http://{'a' * (count - len(host) - 1)}\u00e9{host}/"

    with nullcontext() if is_accepted else pytest.raises(BadPage, match="2000 characters"):
        canonical_url(url)


@pytest.mark.parametrize("url", ["data:text/html,//", "mailto:x//", "/a//", "http:/x?y//"])
def test_what_has_no_authority_stays_as_it_is_however_long(url: str) -> None:
    assert canonical_url(url + "\u00e9" * 3_000) == url + "\u00e9" * 3_000
