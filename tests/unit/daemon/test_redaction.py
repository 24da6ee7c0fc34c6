import pytest
from neardup_daemon.redaction import redact, redact_setting

HIDDEN = "hunter2"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"redis://me:{HIDDEN}@cache:6379/0", id="user-and-password"),
        pytest.param(f"redis://:{HIDDEN}@x@cache", id="sign-in-the-password"),
        pytest.param(f"redis://:http://{HIDDEN}@cache", id="url-in-the-password"),
        pytest.param(f"REDIS://cache?PassWord={HIDDEN}", id="parameter-in-capitals"),
        pytest.param(f"redis://cache?p%61ssword={HIDDEN}", id="parameter-with-an-escape"),
        pytest.param(f"redis://cache?db=1&username={HIDDEN}&x=2", id="user-parameter"),
        pytest.param(f"redis://cache?auth_token={HIDDEN}", id="token"),
        pytest.param(f"password = '{HIDDEN} and more {HIDDEN}'", id="quoted-assignment"),
        pytest.param(f'{{"password": "{HIDDEN}\\" {HIDDEN}", "db": 1}}', id="json"),
        pytest.param(f"{{'sasl_password': '{HIDDEN}'}}", id="repr"),
        pytest.param(f"sasl_plain_password={HIDDEN}", id="bare-assignment"),
    ],
)
def test_no_spelling_of_a_secret_is_left(text: str) -> None:
    assert HIDDEN not in redact(f"cannot reach {text}, gave up")
    assert HIDDEN not in redact_setting(text)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (f"redis://me:{HIDDEN} x@cache:6379/0", "redis://***@cache:6379/0"),
        (f"redis://me:x\n{HIDDEN}@cache", "redis://***@cache"),
        (f"me:{HIDDEN}@broker:9092", "***@broker:9092"),
        (f"me:{HIDDEN}@a:1,me:{HIDDEN}@b:2", "***@b:2"),
        (f"redis:/me:{HIDDEN}@cache", "***@cache"),
        (f"redis://cache?db=1&x={HIDDEN} y&z", "redis://cache?db=1&x=***&z"),
        (f"unix:///sock?password={HIDDEN}@x", "unix://***@x"),
        ("redis+cluster://a:1,[::1]:2", "redis+cluster://a:1,[::1]:2"),
        ("crawl.pages", "crawl.pages"),
        ("redis://cache:6379/0#hunter2", "redis://cache:6379/0#***"),
        ("redis://cache/0?db=1#hunter2", "redis://cache/0?db=1#***"),
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
