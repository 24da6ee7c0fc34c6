import msgspec
import pytest

from neardup_stream.errors import ConfigError
from neardup_stream.page import Page, PageId
from neardup_stream.pipeline.scopes import UNKNOWN, scope_by


def page(url: str = "https://example.com/a", **fields: object) -> Page:
    return Page(id=PageId("a"), url=url, fetched_at_seconds=0, text="", **fields)  # type: ignore[arg-type] # Page checks nothing here


def test_everything_is_one_scope() -> None:
    assert scope_by("everything")(page("https://a.test/")) == scope_by("everything")(page("odd")) == ""


@pytest.mark.parametrize(
    ("url", "host", "domain"),
    [
        pytest.param("https://news.bbc.co.uk/a", "news.bbc.co.uk", "bbc.co.uk", id="suffix of two labels"),
        pytest.param("https://example.com/", "example.com", "example.com", id="no subdomain"),
        pytest.param("http://example.com?q=/", "example.com", "example.com", id="a query at once"),
        pytest.param("http://example.com#a", "example.com", "example.com", id="a fragment at once"),
        pytest.param("http://example.com", "example.com", "example.com", id="nothing else"),
        pytest.param("http://example.com./", "example.com", "example.com", id="the dot of the root"),
        pytest.param("http://me@example.com/", "example.com", "example.com", id="a user"),
        pytest.param("http://EXAMPLE.com:8080/", "example.com", "example.com", id="case and port"),
        pytest.param("http://10.1.2.3/a", "10.1.2.3", "10.1.2.3", id="an address is no name"),
        pytest.param("http://[::1]/a", "::1", "::1", id="nor is a new one"),
        pytest.param("http://localhost/", "localhost", "localhost", id="no suffix at all"),
        pytest.param("http://co.uk/", "co.uk", "co.uk", id="a suffix itself"),
        pytest.param("/relative", UNKNOWN, UNKNOWN, id="no host"),
        pytest.param("http://[broken/", UNKNOWN, UNKNOWN, id="unreadable"),
    ],
)
def test_a_url_gives_host_and_registrable_domain(url: str, host: str, domain: str) -> None:
    assert scope_by("host")(page(url)) == host
    assert scope_by("domain")(page(url)) == domain


@pytest.mark.parametrize(
    ("label", "scope"), [("en", "en"), ("EN-us", "en"), ("zh_Hant", "zh"), ("", UNKNOWN), (None, UNKNOWN)]
)
def test_a_language_is_its_primary_subtag(label: str | None, scope: str) -> None:
    assert scope_by("language")(page(language=label)) == scope


@pytest.mark.parametrize(
    ("meta", "name", "scope"),
    [
        (b'{"job": "a"}', "meta.job", "a"),
        (b'{"job": 7}', "meta.job", "7"),
        (b'{"job": {"tenant": "x"}}', "meta.job.tenant", "x"),
        (b'{"job": {"b": 1, "a": 2}}', "meta.job", '{"a":2,"b":1}'),
        (b'{"job": null}', "meta.job", UNKNOWN),
        (b"[]", "meta.job", UNKNOWN),
        (None, "meta.job", UNKNOWN),
        (b'{"job": "a", "size": 1e999, "all": [-1e999]}', "meta.job", "a"),
        (b'{"job": 1e999}', "meta.job", "1e999"),
        (b'{"job": {"size": 1e999}}', "meta.job", '{"size": 1e999}'),
        (b'{"job": 1e999}', "meta.job.tenant", UNKNOWN),
        (b'{"job": %b}' % (b"1" * 5_000), "meta.job", "1" * 5_000),
    ],
)
def test_any_field_of_meta_can_be_the_scope(meta: bytes | None, name: str, scope: str) -> None:
    raw = None if meta is None else msgspec.Raw(meta)

    assert scope_by(name)(page(meta=raw)) == scope


@pytest.mark.parametrize("name", ["", "site", "meta", "meta.", "meta..a"])
def test_an_unknown_scope_is_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=r"verdict\.scope"):
        scope_by(name)
