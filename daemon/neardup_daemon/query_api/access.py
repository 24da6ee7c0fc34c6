"""Check who may use the API: the token, the Host header of a local server, certificates of clients."""

import hmac
import ssl
from http import HTTPStatus

from neardup_daemon.query_api.problems import Refused
from neardup_daemon.settings.query_api import Api, is_loopback
from neardup_stream.credentials import Login, Password, ServerTlsContext, TlsFiles

__all__ = ["Access", "server_tls"]

_SCHEME = "bearer "


class Access:
    """Decides whether a request may be answered.

    Args:
        api: the settings.

    Raises:
        ConfigError: the file of the token cannot be read, or is empty.
    """

    def __init__(self, api: Api) -> None:
        self._token = Password(_login(api), "api.token_file") if api.needs_token else None
        is_open = self._token is None and not api.tls_client_ca_file
        self._own_host = api.host.strip("[]").lower() if is_open else ""

    def check(self, authorization: str, host: str) -> None:
        """Refuse a request that does not carry the token, or that a web page sent to a local server.

        Without token and certificates the server listens on this machine only. A page in a browser on this
        machine could still reach it under a name of its own that resolves to 127.0.0.1, so the Host header
        must name this machine.

        Args:
            authorization: the header, empty where there is none.
            host: the header.

        Raises:
            Refused: the request may not be answered.
        """
        if self._token is not None:
            given = authorization[len(_SCHEME) :] if authorization.lower().startswith(_SCHEME) else ""
            if not hmac.compare_digest(
                given.strip().encode(errors="surrogateescape"), self._token.read().encode()
            ):
                raise Refused(
                    HTTPStatus.UNAUTHORIZED,
                    "the header Authorization must be 'Bearer' and the token of api.token",
                    headers={"WWW-Authenticate": 'Bearer realm="neardup-stream"'},
                )
        else:
            self.check_host(host)

    def check_host(self, host: str) -> None:
        """Refuse a request that a web page sent to a local server; see `check`.

        Args:
            host: the header.

        Raises:
            Refused: the header names another machine.
        """
        if self._own_host:
            name = _host_name(host)
            if name != self._own_host and not is_loopback(name):
                raise Refused(
                    HTTPStatus.MISDIRECTED_REQUEST, f"the header Host must name {self._own_host} or localhost"
                )


def server_tls(api: Api) -> ssl.SSLContext | None:
    """Return the TLS context of the server; None where it serves without.

    Raises:
        ConfigError: a file cannot be read, is not PEM, or the key is not that of the certificate.
    """
    if not api.tls_certificate_file:
        return None
    files = TlsFiles(
        ca_file=api.tls_client_ca_file,
        certificate_file=api.tls_certificate_file,
        key_file=api.tls_key_file,
    )
    return ServerTlsContext(files)


def _login(api: Api) -> Login:
    return Login(password=api.token, password_file=api.token_file)


def _host_name(host: str) -> str:
    """Return the name in a Host header, in lower case, without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
