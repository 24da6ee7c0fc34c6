"""Which addresses of Redis are taken, and that no refusal quotes a password."""

import traceback

import pytest

from neardup_stream.credentials import Login, TlsFiles
from neardup_stream.errors import ConfigError
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.stores.redis.topologies import connect

HIDDEN = "hunter2"


@pytest.mark.parametrize(
    ("url", "is_cluster", "has_tls"),
    [
        ("redis://cache:6379/0", False, False),
        ("rediss://cache:6379/0", False, True),
        ("unix:///run/@redis.sock", False, False),
        ("redis+cluster://a:1,b:2", True, False),
        ("rediss+cluster://me:p%40ss@a:1,[::1]:2/", True, True),
    ],
)
def test_the_scheme_says_how_a_server_is_reached(url: str, *, is_cluster: bool, has_tls: bool) -> None:
    config = RedisConfig(url)

    assert (config.is_cluster, config.has_tls) == (is_cluster, has_tls)


@pytest.mark.parametrize(
    "url",
    [
        pytest.param(f"redis://me:{HIDDEN}/more@cache:6379/0", id="slash"),
        pytest.param(f"redis://me:12/{HIDDEN}@cache:6379/0", id="slash-behind-a-number"),
        pytest.param(f"redis://me:{HIDDEN}?@cache:6379/0", id="question-mark"),
        pytest.param(f"redis://:{HIDDEN}#@cache:6379/0", id="hash"),
        pytest.param(f"redis://:[{HIDDEN}@cache:6379/0", id="bracket"),
        pytest.param(f"redis://cache:{HIDDEN}", id="port-that-is-none"),
        pytest.param(f"redis+cluster://me:{HIDDEN}@a:1,b", id="cluster-node-without-port"),
        pytest.param(f"redis+cluster://a:{HIDDEN}", id="cluster-port-that-is-none"),
        pytest.param(f"redis+sentinel://me:{HIDDEN}@a:1,b/pages", id="sentinel-without-port"),
    ],
)
def test_a_url_that_cannot_be_read_is_refused_without_being_quoted(url: str) -> None:
    with pytest.raises(ConfigError, match=r"redis\.url cannot be read") as raised:
        connect(RedisConfig(url))

    assert HIDDEN not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize(
    "url",
    [
        f"redis://cache:6379/{HIDDEN}",
        f"rediss://cache/{HIDDEN}/0",
        "redis://cache/1/2",
        f"redis+cluster://a:1,b:2/{HIDDEN}",
        "redis+cluster://a:1,b:2/1",
        f"redis+sentinel://me:pw@a:1/pages/{HIDDEN}",
    ],
)
def test_a_database_that_no_client_would_use_is_refused_without_being_quoted(url: str) -> None:
    with pytest.raises(ConfigError, match=r"keep crawls apart by redis\.namespace") as raised:
        RedisConfig(url)

    assert HIDDEN not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        f"redis://cache/0?pass={HIDDEN}",
        "redis://cache/0?decode_responses=true",
        f"unix:///run/redis.sock?db=1&{HIDDEN}",
        "redis+cluster://a:1?db=0",
        "redis+sentinel://a:1/pages?db=1",
    ],
)
def test_parameters_that_the_client_does_not_take_are_refused_without_being_quoted(url: str) -> None:
    with pytest.raises(ConfigError, match=r"redis\.url has parameters") as raised:
        RedisConfig(url)

    assert HIDDEN not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "option", "value"),
    [
        ("unix:///run/redis.sock?db=1&health_check_interval=30", "db", 1),
        ("unix:///run/redis.sock?db=1&health_check_interval=30", "health_check_interval", 30),
        ("redis://cache/0?socket_timeout=3&client_name=crawl", "socket_timeout", 3),
        ("redis://cache/0?socket_timeout=3&client_name=crawl", "client_name", "crawl"),
    ],
)
def test_parameters_of_one_server_reach_its_client(url: str, option: str, value: object) -> None:
    assert connect(RedisConfig(url)).connection_pool.connection_kwargs[option] == value


@pytest.mark.parametrize(
    "url",
    ["redis://a", "redis://a/", "redis://a/15", "redis+cluster://a:1/0", "redis+sentinel://a:1/pages/2"],
)
def test_a_database_is_a_number_or_left_out(url: str) -> None:
    assert RedisConfig(url).url == url


def test_a_config_is_printed_without_its_passwords() -> None:
    config = RedisConfig("redis://cache", login=Login(username="me", password=HIDDEN))

    assert HIDDEN not in repr(config) + repr(RedisConfig(f"redis://me:{HIDDEN}@cache"))


@pytest.mark.parametrize(
    ("url", "login", "tls", "message"),
    [
        pytest.param(
            "redis://me@cache", Login(password=HIDDEN), None, "and so do redis.username", id="two-logins"
        ),
        pytest.param("redis://cache", None, TlsFiles(ca_file="ca.pem"), "use rediss", id="files-without-tls"),
        pytest.param("unix:///sock", None, TlsFiles(ca_file="ca.pem"), "use rediss", id="tls-on-a-socket"),
        pytest.param(
            "rediss://cache?ssl_cert_reqs=none", None, None, r"use redis\.tls_ca_file", id="tls-in-the-url"
        ),
        pytest.param(
            "http://cache",
            None,
            None,
            r"must begin with one of redis://, .*rediss\+cluster://",
            id="no-redis",
        ),
        pytest.param(
            f"redis+sentinel://me:{HIDDEN}@a:1", None, None, "no service", id="sentinels-of-nothing"
        ),
        pytest.param(f"me:{HIDDEN}@cache:6379", None, None, "must begin with", id="no-scheme"),
    ],
)
def test_settings_that_contradict_the_url_are_refused(
    url: str, login: Login | None, tls: TlsFiles | None, message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        RedisConfig(url, login=login, tls=tls)

    assert HIDDEN not in str(raised.value)
