"""Load certificates, keys and passwords for connections to servers.

Operators replace them while a daemon runs, so every connection reads the files again. If a file is incomplete
or missing at that moment, the last valid contents apply.
"""

import logging
import ssl
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from neardup_stream.errors import ConfigError
from neardup_stream.sparse_lines import SparseLines

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
        ca_file: trusted authorities; empty for those of the system.
        certificate_file: our certificate with its chain, for mutual TLS; empty for none.
        key_file: its key, not encrypted; empty if it is in the certificate's file.
    """

    ca_file: str = ""
    certificate_file: str = ""
    key_file: str = ""

    def __post_init__(self) -> None:
        """Check that a key comes with a certificate.

        Raises:
            ConfigError: a key without a certificate.
        """
        if self.key_file and not self.certificate_file:
            raise ConfigError("tls_key_file is set, but tls_certificate_file is not")


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A user and the password, given directly or in a file.

    Attributes:
        username: empty for a server that uses passwords only.
        password: empty if it is in a file.
        password_file: white space around the password is ignored.
    """

    username: str = ""
    password: str = field(default="", repr=False)
    password_file: str = ""

    def __post_init__(self) -> None:
        """Check that there is exactly one password.

        Raises:
            ConfigError: not exactly one of the two is given.
        """
        if bool(self.password) == bool(self.password_file):
            found = "both are set" if self.password else "neither is set"
            raise ConfigError(f"password or its file: {found}")


class _Reread(Generic[T]):
    """The latest value that could be read; the first read must succeed."""

    def __init__(self, read: Callable[[], T]) -> None:
        self._read = read
        self._latest = read()
        self.is_latest_kept = False
        self._lines: defaultdict[str, SparseLines] = defaultdict(SparseLines)

    def get(self) -> T:
        try:
            self._latest = self._read()
            self.is_latest_kept = False
        except ConfigError as error:
            self.is_latest_kept = True
            if self._lines[str(error)].count():
                _log.warning("credentials_kept", extra={"fields": {"reason": str(error)}})
        return self._latest


class _Contexts:
    """The latest context whose files fit together; its authorities are renewed also while our own do not.

    Those that a file does not hold any more are trusted until all fits.
    """

    def __init__(self, load: Callable[[TlsFiles], ssl.SSLContext], files: TlsFiles) -> None:
        self._files = files
        self._latest = _Reread(lambda: load(files))

    def get(self) -> ssl.SSLContext:
        context = self._latest.get()
        if self._files.ca_file and self._latest.is_latest_kept:
            with suppress(OSError):  # then those that are known count
                context.load_verify_locations(self._files.ca_file)
        return context


class Password:
    """Read the password of a login.

    Args:
        login: with the password or its file.
        file_name: what errors call the file.

    Raises:
        ConfigError: the file cannot be read, or is empty.
    """

    def __init__(self, login: Login, file_name: str = "the password file") -> None:
        self._text: _Reread[str] = _Reread(
            lambda: login.password or _read_password(login.password_file, file_name)
        )

    def read(self) -> str:
        """Return the current password. Cost: reading a small file."""
        return self._text.get()


class TlsContext(ssl.SSLContext):
    """A TLS client context that reads its files again for every connection.

    Args:
        files: trusted authorities, and our certificate.

    Raises:
        ConfigError: a file cannot be read, is not PEM, or the key does not match the certificate.
    """

    def __new__(cls, files: TlsFiles) -> Self:
        """Create the context; the base class requires a protocol here."""
        del files
        return super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)

    def __init__(self, files: TlsFiles) -> None:
        self._contexts = _Contexts(_load, files)

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        """Reload the files; asyncio calls this once for each connection. Cost: some 1 ms."""
        return self._contexts.get().wrap_bio(*args, **options)


class ServerTlsContext(ssl.SSLContext):
    """A server's context whose every connection begins with the files as they are then.

    Args:
        files: what to show, and whose certificates clients must show; without a `ca_file` they show none.

    Raises:
        ConfigError: a file cannot be read, is not PEM, or the key is not that of the certificate.
    """

    def __new__(cls, files: TlsFiles) -> Self:
        """Return an instance of the base class, which takes a protocol here."""
        del files
        return super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)

    def __init__(self, files: TlsFiles) -> None:
        self._contexts = _Contexts(_load_server, files)

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        """Load the files anew: asyncio calls this once for each connection. Costs some 1 ms."""
        return self._contexts.get().wrap_bio(*args, **options)


@cache
def password_of(login: Login) -> Password:
    """Return one password for all connections of a process, so that they share the last valid value.

    Raises:
        ConfigError: as `Password` does.
    """
    return Password(login)


@cache
def tls_context(files: TlsFiles) -> TlsContext:
    """Return one context for all connections of a process, so that they share the last valid files.

    Raises:
        ConfigError: as `TlsContext` does.
    """
    return TlsContext(files)


def _read_password(path: str, name: str) -> str:
    try:
        password = Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError(f"cannot read {name} {path}: {error.strerror}") from error
    except UnicodeDecodeError:  # not chained: its message quotes the bytes
        raise ConfigError(f"{name} {path} is not UTF-8") from None
    if not password:
        raise ConfigError(f"{name} {path} is empty")
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
    """Add the file names to an error; OpenSSL omits them."""
    try:
        yield
    except OSError as error:  # includes `ssl.SSLError`
        raise ConfigError(f"cannot use {' with '.join(filter(None, paths))}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    """Return the reason of an error; OpenSSL has no message for some."""
    if isinstance(error, ssl.SSLError) and not error.reason:
        return "it does not hold the certificate, or the key, in PEM"
    return error.strerror or str(error)


def _refuse_to_ask() -> str:
    """Raise instead of prompting at the terminal, when OpenSSL needs a passphrase."""
    raise OSError("its key is encrypted; a daemon cannot prompt for the passphrase")
