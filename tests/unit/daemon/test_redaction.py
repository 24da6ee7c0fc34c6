import pytest
from neardup_daemon.redaction import redact, redact_setting

HUSH = "hunter2"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"redis://me:{HUSH}@cache:6379/0", id="user-and-password"),
        pytest.param(f"redis://:{HUSH}@x@cache", id="sign-in-the-password"),
        pytest.param(f"redis://:http://{HUSH}@cache", id="url-in-the-password"),
        pytest.param(f"REDIS://cache?PassWord={HUSH}", id="parameter-in-capitals"),
        pytest.param(f"redis://cache?p%61ssword={HUSH}", id="parameter-with-an-escape"),
        pytest.param(f"redis://cache?db=1&username={HUSH}&x=2", id="user-parameter"),
        pytest.param(f"redis://cache?auth_token={HUSH}", id="token"),
        pytest.param(f"password = '{HUSH} and more {HUSH}'", id="quoted-assignment"),
        pytest.param(f'{{"password": "{HUSH}\\" {HUSH}", "db": 1}}', id="json"),
        pytest.param(f"{{'sasl_password': '{HUSH}'}}", id="repr"),
        pytest.param(f"sasl_plain_password={HUSH}", id="bare-assignment"),
    ],
)
def test_no_spelling_of_a_secret_is_left(text: str) -> None:
    assert HUSH not in redact(f"cannot reach {text}, gave up")
    assert HUSH not in redact_setting(text)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (f"redis://me:{HUSH} x@cache:6379/0", "redis://***@cache:6379/0"),
        (f"redis://me:x\n{HUSH}@cache", "redis://***@cache"),
        (f"me:{HUSH}@broker:9092", "***@broker:9092"),
        (f"me:{HUSH}@a:1,me:{HUSH}@b:2", "***@b:2"),
        (f"redis:/me:{HUSH}@cache", "***@cache"),
        (f"redis://cache?db=1&x={HUSH} y&z", "redis://cache?db=1&x=***&z"),
        (f"unix:///sock?password={HUSH}@x", "unix://***@x"),
        ("redis+cluster://a:1,[::1]:2", "redis+cluster://a:1,[::1]:2"),
        ("crawl.pages", "crawl.pages"),
    ],
)
def test_a_setting_is_shown_without_what_may_be_secret(value: str, shown: str) -> None:
    assert redact_setting(value) == shown


@pytest.mark.parametrize(
    "text",
    [
        "3 pages of http://site.example/a?q=1 in 2 s",
        "redis.password or its file: neither is set",
        "the password file /run/secrets/x is empty",
    ],
)
def test_what_holds_no_secret_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "unit",
    [
        "://",
        "a://b ",
        "password=",
        'password="',
        "password='\\",
        "?&=",
        "p%61ss=",
        "@",
        "://@?password=&",
        " ",
    ],
)
def test_a_megabyte_of_anything_is_read_once(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))

    redact(text)
    redact_setting(text)
