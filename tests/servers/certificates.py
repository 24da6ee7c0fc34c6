"""A certificate authority of our own, for servers and clients on 127.0.0.1, by the `openssl` program."""

import ssl
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.servers.process import find_program

__all__ = ["Authority", "Identity"]

DAYS = "2"
OPENSSL_SECONDS = 30
SERVER_NAMES = "subjectAltName=IP:127.0.0.1,DNS:localhost"
CA_USAGE = "keyUsage=critical,keyCertSign,cRLSign"
"""Required of an authority from Python 3.13 on."""


class Identity(NamedTuple):
    """A certificate and its key, as PEM files."""

    certificate_file: str
    key_file: str


class Authority:
    """Signs certificates; its own is at `ca_file`.

    Args:
        directory: where all files go.
        name: of the authority; two of one name in one directory would be one.
    """

    def __init__(self, directory: Path, name: str = "authority") -> None:
        self._directory = directory
        self._own = self._files(name)
        _openssl(
            *("req", "-x509", *_NEW_KEY, *self._out(name), "-subj", f"/CN={name}", "-days", DAYS),
            *("-addext", CA_USAGE),
        )

    @property
    def ca_file(self) -> str:
        """What a client trusts."""
        return self._own.certificate_file

    def sign(self, name: str) -> Identity:
        """A new certificate, for a server on 127.0.0.1 or for a client; it replaces one of the same name."""
        _openssl(
            *("req", "-x509", *_NEW_KEY, *self._out(name), "-subj", f"/CN={name}", "-days", DAYS),
            *("-CA", self._own.certificate_file, "-CAkey", self._own.key_file),
            *("-addext", SERVER_NAMES, "-addext", "basicConstraints=critical,CA:FALSE"),
        )
        return self._files(name)

    def client_context(self, identity: Identity | None) -> ssl.SSLContext:
        """Return a client that trusts this authority, and shows this certificate."""
        context = ssl.create_default_context(cafile=self.ca_file)
        if identity is not None:
            context.load_cert_chain(identity.certificate_file, identity.key_file)
        return context

    def _files(self, name: str) -> Identity:
        return Identity(str(self._directory / f"{name}.pem"), str(self._directory / f"{name}.key"))

    def _out(self, name: str) -> tuple[str, ...]:
        files = self._files(name)
        return ("-out", files.certificate_file, "-keyout", files.key_file)


_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def _openssl(*words: str) -> None:
    subprocess.run(
        [find_program("openssl", package="openssl"), *words],
        check=True,
        capture_output=True,
        timeout=OPENSSL_SECONDS,
    )
