"""Check what a daemon needs of its own machine to start, for `check`: addresses and packages."""

import socket
from collections.abc import Iterator

from neardup_daemon.connection_limits import reason_of
from neardup_daemon.inspect.findings import Finding
from neardup_daemon.settings.reporting import Http, Tracing
from neardup_daemon.telemetry.tracing import require_tracing
from neardup_stream.errors import ConfigError

__all__ = ["judge_host", "judge_http", "judge_tracing"]


def judge_http(http: Http) -> Iterator[Finding]:
    """Yield why a daemon could not serve its metrics, unless another program has the port."""
    yield from judge_host("http", http.host, http.host)


def judge_tracing(tracing: Tracing) -> Iterator[Finding]:
    """Yield which package is missing where `tracing.endpoint` is set."""
    if not tracing.endpoint:
        return
    try:
        require_tracing()
    except ConfigError as error:
        yield Finding("bad", f"tracing: {error}")


def judge_host(section: str, host: str, written: str) -> Iterator[Finding]:
    """Yield why a host has no address to listen on.

    Args:
        section: of the setting.
        host: without brackets.
        written: the setting.

    Cost: asks the system's resolver, which may wait for DNS.
    """
    try:
        socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, ValueError) as error:  # ValueError: it cannot be a name of a host
        reason = reason_of(error)
        yield Finding("bad", f"{section}: {section}.host {written!r} is no address: {reason}; correct it")
