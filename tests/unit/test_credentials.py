"""Files of certificates, keys and passwords: read anew for each connection, never half, never shown."""

import ssl
import subprocess
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from neardup_stream.credentials import Login, Password, TlsContext, TlsFiles, password_of, tls_context
from neardup_stream.errors import ConfigError
from tests.servers.certificates import Authority

HIDDEN = "hunter2"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


def connect(context: ssl.SSLContext, server: ssl.SSLContext) -> str:
    """Shake hands in memory; the common name the server saw."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client_end = context.wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    server_end = server.wrap_bio(to_server, to_client, server_side=True)
    for end in (client_end, server_end, client_end, server_end):
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    shown = server_end.getpeercert() or {}
    return dict(pair for names in shown.get("subject", ()) for pair in names)["commonName"]  # type: ignore[misc]


def server_context(authority: Authority) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority.ca_file)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(*authority.sign("server"))
    return context


def test_a_certificate_that_is_replaced_is_shown_by_the_next_connection(
    authority: Authority, tmp_path: Path
) -> None:
    server = server_context(authority)
    first, second = authority.sign("first"), authority.sign("second")
    shown = [tmp_path / "own.pem", tmp_path / "own.key"]
    replace_all(shown, first)
    context = TlsContext(
        TlsFiles(ca_file=authority.ca_file, certificate_file=str(shown[0]), key_file=str(shown[1]))
    )

    before = connect(context, server)
    replace_all(shown, second)
    after = connect(context, server)

    assert (before, after) == ("first", "second")


def test_an_authority_that_is_replaced_is_no_longer_trusted(authority: Authority, tmp_path: Path) -> None:
    server = server_context(authority)
    trusted = tmp_path / "ca.pem"
    replace_all([trusted], [authority.ca_file])
    client = authority.sign("client")
    context = TlsContext(TlsFiles(ca_file=str(trusted), certificate_file=client[0], key_file=client[1]))
    connect(context, server)

    replace_all([trusted], [Authority(tmp_path, "another").ca_file])

    with pytest.raises(ssl.SSLCertVerificationError):
        connect(context, server)


def test_the_last_files_that_fit_together_count_while_they_are_replaced(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = server_context(authority)
    first, second = authority.sign("first"), authority.sign("second")
    shown = [tmp_path / "own.pem", tmp_path / "own.key"]
    replace_all(shown, first)
    context = TlsContext(
        TlsFiles(ca_file=authority.ca_file, certificate_file=str(shown[0]), key_file=str(shown[1]))
    )

    replace_all(shown[:1], second[:1])
    halfway = connect(context, server)
    shown[1].unlink()
    without_key = connect(context, server)
    replace_all(shown, second)
    whole = connect(context, server)

    assert (halfway, without_key, whole) == ("first", "first", "second")
    assert [record.message for record in caplog.records] == ["credentials_kept"] * 2


def test_an_authority_that_is_added_counts_while_our_certificate_lacks_its_key(
    authority: Authority, tmp_path: Path
) -> None:
    first, second = authority.sign("first"), authority.sign("second")
    files = trusted, *shown = [tmp_path / "ca.pem", tmp_path / "own.pem", tmp_path / "own.key"]
    replace_all(files, [authority.ca_file, *first])
    context = TlsContext(
        TlsFiles(ca_file=str(trusted), certificate_file=str(shown[0]), key_file=str(shown[1]))
    )
    added = Authority(tmp_path, "added")
    server = server_context(authority)
    server.load_cert_chain(*added.sign("server"))

    replace_all(shown[:1], second[:1])
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(context, server)
    trusted.write_bytes(trusted.read_bytes() + Path(added.ca_file).read_bytes())

    assert connect(context, server) == "first"


def test_one_reason_why_files_do_not_count_is_logged_once_a_minute(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "ca.pem"
    replace_all([path], [authority.ca_file])
    context = TlsContext(TlsFiles(ca_file=str(path)))

    path.unlink()
    for _ in range(5):
        context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="127.0.0.1")

    assert [record.message for record in caplog.records] == ["credentials_kept"]


def replace_all(paths: list[Path], contents: tuple[str, ...] | list[str]) -> None:
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(Path(content).read_bytes())


@pytest.mark.parametrize("field", ["ca_file", "certificate_file", "key_file"])
@pytest.mark.parametrize("kind", ["missing", "empty", "another"])
def test_a_file_that_does_not_do_is_named_before_anything_connects(
    authority: Authority, tmp_path: Path, field: str, kind: str
) -> None:
    own, other = authority.sign("own"), authority.sign("other")
    files = {"ca_file": authority.ca_file, "certificate_file": own[0], "key_file": own[1]}
    wrong = tmp_path / "wrong.pem"
    if kind == "empty":
        wrong.touch()
    if kind == "another":
        wrong.write_bytes(Path(own[1] if field == "ca_file" else other[field == "key_file"]).read_bytes())
    files[field] = str(wrong)

    with pytest.raises(ConfigError, match=r"wrong\.pem"):
        TlsContext(TlsFiles(**files))


def test_an_encrypted_key_is_refused_and_no_one_is_prompted(authority: Authority, tmp_path: Path) -> None:
    own = authority.sign("own")
    encrypted = tmp_path / "own.key"
    encrypt = ["openssl", "ec", "-in", own[1], "-aes256", "-passout", "pass:x", "-out", str(encrypted)]
    subprocess.run(encrypt, check=True, capture_output=True, timeout=30)

    with pytest.raises(ConfigError, match=r"own\.key: its key is encrypted"):
        TlsContext(TlsFiles(certificate_file=own[0], key_file=str(encrypted)))


def test_a_key_without_a_certificate_is_refused() -> None:
    with pytest.raises(ConfigError, match="tls_certificate_file"):
        TlsFiles(key_file="own.key")


def test_a_password_file_is_read_anew_and_its_line_end_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_text(f"{HIDDEN}\n")
    password = Password(Login(username="me", password_file=str(path)))

    before = password.read()
    path.write_text("changed")

    assert (before, password.read()) == (HIDDEN, "changed")


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_text("\n")], ids=["gone", "empty"])
def test_the_last_password_counts_while_its_file_is_replaced(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    path = tmp_path / "password"
    path.write_text(HIDDEN)
    password = Password(Login(password_file=str(path)))

    spoil(path)

    assert password.read() == HIDDEN


def test_all_connections_of_a_process_know_the_last_password(tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_text(HIDDEN)
    password_of(Login(password_file=str(path)))

    path.unlink()

    assert password_of(Login(password_file=str(path))).read() == HIDDEN


def test_all_connections_of_a_process_know_the_last_certificates(
    authority: Authority, tmp_path: Path
) -> None:
    path = tmp_path / "ca.pem"
    replace_all([path], [authority.ca_file])
    first = tls_context(TlsFiles(ca_file=str(path)))

    path.unlink()

    assert tls_context(TlsFiles(ca_file=str(path))) is first


@pytest.mark.parametrize(
    "content", [None, b"", b" \n", b"\xff" + HIDDEN.encode()], ids=["missing", "empty", "blank", "not-utf-8"]
)
def test_a_password_file_that_does_not_do_is_named_and_not_quoted(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "password"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ConfigError, match=r"password file .*/password") as raised:
        Password(Login(password_file=str(path)))

    assert HIDDEN not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize(
    ("password", "password_file"), [("", ""), (HIDDEN, "/etc/password")], ids=["neither", "both"]
)
def test_a_login_has_one_password(password: str, password_file: str) -> None:
    with pytest.raises(ConfigError, match="password or its file") as raised:
        Login(username="me", password=password, password_file=password_file)

    assert HIDDEN not in str(raised.value)


def test_a_login_is_printed_without_its_password() -> None:
    assert HIDDEN not in repr(Login(username="me", password=HIDDEN))
