"""Who we are to a server, and whom we trust: certificates, keys and passwords.

All of them are replaced while a daemon runs. So files are read anew for every connection; while one is half
written or gone, the last that could be read still counts.
"""

import logging
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from neardup_stream.errors import ConfigError

__all__ = [
    "Login",
    "Password",
    "ServerTlsContext",
    "TlsContext",
    "TlsFiles",
    "password_of",
    "tls_context",
]

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """PEM files of one side of a TLS connection.

    Attributes:
        ca_file: authorities whose certificates we accept; empty for those the system trusts.
        certificate_file: ours, with its chain, for servers that ask; empty for none.
        key_file: its key, not encrypted; empty if it is in the certificate's file.
    """

    ca_file: str = ""
    certificate_file: str = ""
    key_file: str = ""

    def __post_init__(self) -> None:
        """Refuse half an identity.

        Raises:
            ConfigError: a key without a certificate.
        """
        if self.key_file and not self.certificate_file:
            raise ConfigError("tls_key_file is set, and tls_certificate_file is not")


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A user and the password, which is here or in a file.

    Attributes:
        username: empty for a server that knows passwords only.
        password: empty if it is in a file.
        password_file: white space around the password does not count.
    """

    username: str = ""
    password: str = field(default="", repr=False)
    password_file: str = ""

    def __post_init__(self) -> None:
        """Refuse two passwords, and a user without any.

        Raises:
            ConfigError: not exactly one of them is given.
        """
        if bool(self.password) == bool(self.password_file):
            found = "both are set" if self.password else "neither is set"
            raise ConfigError(f"password or its file: {found}")


class _Reread(Generic[T]):
    """The latest value that could be read; the first must be."""

    def __init__(self, read: Callable[[], T]) -> None:
        self._read = read
        self._latest = read()

    def get(self) -> T:
        try:
            self._latest = self._read()
        except ConfigError as error:
            _log.warning("credentials_kept", extra={"fields": {"reason": str(error)}})
        return self._latest


class Password:
    """The password of a login.

    Args:
        login: whose.

    Raises:
        ConfigError: its file cannot be read, or is empty.
    """

    def __init__(self, login: Login) -> None:
        self._text: _Reread[str] = _Reread(lambda: login.password or _read_password(login.password_file))

    def read(self) -> str:
        """As it is now. Costs reading a small file."""
        return self._text.get()


class TlsContext(ssl.SSLContext):
    """A client's context whose every connection begins with the files as they are then.

    Args:
        files: what to trust and to show.

    Raises:
        ConfigError: a file cannot be read, is not PEM, or the key is not that of the certificate.
    """

    def __new__(cls, files: TlsFiles) -> Self:
        """Of the base class, which takes a protocol here."""
        del files
        return super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)

    def __init__(self, files: TlsFiles) -> None:
        self._contexts = _Reread(lambda: _load(files))

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        """What asyncio calls once for each connection. Costs reading the files, some 1 ms."""
        return self._contexts.get().wrap_bio(*args, **options)


class ServerTlsContext(ssl.SSLContext):
    """A server's context whose every connection begins with the files as they are then.

    Args:
        files: what to show, and whose certificates clients must show; without a `ca_file` they show none.

    Raises:
        ConfigError: a file cannot be read, is not PEM, or the key is not that of the certificate.
    """

    def __new__(cls, files: TlsFiles) -> Self:
        """Of the base class, which takes a protocol here."""
        del files
        return super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)

    def __init__(self, files: TlsFiles) -> None:
        self._contexts = _Reread(lambda: _load_server(files))

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        """What asyncio calls once for each connection. Costs reading the files, some 1 ms."""
        return self._contexts.get().wrap_bio(*args, **options)


@cache
def password_of(login: Login) -> Password:
    """One for all connections of a process, so that each knows the last that any of them could read.

    Raises:
        ConfigError: as `Password` does.
    """
    return Password(login)


@cache
def tls_context(files: TlsFiles) -> TlsContext:
    """One for all connections of a process, for the same reason.

    Raises:
        ConfigError: as `TlsContext` does.
    """
    return TlsContext(files)


def _read_password(path: str) -> str:
    try:
        password = Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError(f"cannot read the password file {path}: {error.strerror}") from error
    except UnicodeDecodeError:  # not chained: its message quotes the bytes
        raise ConfigError(f"the password file {path} is not UTF-8") from None
    if not password:
        raise ConfigError(f"the password file {path} is empty")
    return password


def _load(files: TlsFiles) -> ssl.SSLContext:
    with _naming(files.ca_file):
        context = ssl.create_default_context(cafile=files.ca_file or None)
    if files.certificate_file:
        with _naming(files.certificate_file, files.key_file):
            context.load_cert_chain(files.certificate_file, files.key_file or None, _refuse_to_ask)
    return context


def _load_server(files: TlsFiles) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    if files.ca_file:
        with _naming(files.ca_file):
            context.load_verify_locations(files.ca_file)
        context.verify_mode = ssl.CERT_REQUIRED
    with _naming(files.certificate_file, files.key_file):
        context.load_cert_chain(files.certificate_file, files.key_file or None, _refuse_to_ask)
    return context


@contextmanager
def _naming(*paths: str) -> Iterator[None]:
    """Say which file it was; OpenSSL does not."""
    try:
        yield
    except OSError as error:  # which `ssl.SSLError` is
        raise ConfigError(f"cannot use {' with '.join(filter(None, paths))}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    """OpenSSL has no words for some of what it finds."""
    if isinstance(error, ssl.SSLError) and not error.reason:
        return "it does not hold the certificate, or the key, in PEM"
    return error.strerror or str(error)


def _refuse_to_ask() -> str:
    """What OpenSSL calls instead of asking at the terminal."""
    raise OSError("its key is encrypted; a daemon has nobody to ask")
