"""Configure the connection to Redis: what an operator may choose."""

import re
from dataclasses import dataclass, field
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl

from neardup_stream.credentials import Login, TlsFiles
from neardup_stream.errors import ConfigError

__all__ = ["UNREADABLE_URL", "Durability", "RedisConfig", "UrlParts", "split_url"]

Durability = Literal["master", "replica"]

UNREADABLE_URL = (
    "redis.url cannot be read: it has no white space, a port is a number up to 65535, which each address of a"
    " cluster or of sentinels needs, and a password has @ : / ? # [ ] % in percent-encoding, or comes from"
    " redis.password_file"
)
"""Said without quoting it."""

_CLUSTER_SCHEMES = ("redis+cluster", "rediss+cluster")
_SENTINEL_SCHEMES = ("redis+sentinel", "rediss+sentinel")
_SERVER_SCHEMES = ("redis", "rediss", "unix")


class UrlParts(NamedTuple):
    """What a URL is made of, behind its scheme; each may be empty."""

    netloc: str
    path: str
    query: str


_BLANK = re.compile(r"[\s\x00-\x1f\x7f]")
_ADDRESS = re.compile(r"(\[[^\[\]]*\]|[^\[\]:]*)(:[0-9]{0,5})?")
_LARGEST_PORT = 65_535
_PARAMETERS = frozenset(
    {
        *("db", "client_name", "health_check_interval", "max_connections", "protocol"),
        *("retry_on_timeout", "socket_connect_timeout", "socket_keepalive", "socket_timeout"),
    }
)
"""Of the client of one server; others would change what it answers, or are none."""

_DATABASE = re.compile(r"/?[0-9]{0,5}/?")
_URL = re.compile(r"[^:/?#]*://([^/?#]*)([^?#]*)\??([^#]*)")


def split_url(url: str) -> UrlParts:
    """Cut a URL that may name several hosts, which `urlsplit` refuses where one of them is in brackets.

    >>> split_url("redis+cluster://me@a:1,[::1]:2/?x=y")
    UrlParts(netloc='me@a:1,[::1]:2', path='/', query='x=y')
    """
    found = _URL.match(url)
    return UrlParts(*found.groups()) if found else UrlParts("", "", "")


@dataclass(frozen=True, slots=True)
class RedisConfig:
    """Where the tables and records are kept.

    Attributes:
        url: `redis://`, `unix://`, `redis+cluster://host:port,host:port`, or
            `redis+sentinel://host:port,host:port/service/db`; with `rediss` for TLS.
        socket_timeout_seconds: longest wait for one answer.
        retries: how often the client repeats a call before it raises.
        login: instead of one in the URL.
        tls: what to trust and to show, if not just what the system trusts; for `rediss` only.
        durability: which servers must acknowledge a write: the master alone, or a replica too.
    """

    url: str = field(repr=False)
    socket_timeout_seconds: float = 10.0
    retries: int = 2
    login: Login | None = None
    tls: TlsFiles | None = None
    durability: Durability = "master"

    def __post_init__(self) -> None:
        """Refuse what no client can use.

        Raises:
            ConfigError: a URL that cannot be, settings that contradict it, or numbers that cannot work.
        """
        schemes = (*_SERVER_SCHEMES, *_CLUSTER_SCHEMES, *_SENTINEL_SCHEMES)
        if self.scheme not in schemes:
            known = ", ".join(f"{scheme}://" for scheme in schemes)
            raise ConfigError(f"redis.url must begin with one of {known}")
        self._check_url()
        if self.socket_timeout_seconds <= 0 or self.retries < 0:
            raise ConfigError("redis.socket_timeout_seconds must be above 0 and redis.retries not below it")

    @property
    def scheme(self) -> str:
        """The scheme of the URL, before `://`."""
        return self.url.partition("://")[0]

    @property
    def is_cluster(self) -> bool:
        """Whether keys are spread over several servers."""
        return self.scheme in _CLUSTER_SCHEMES

    @property
    def is_watched(self) -> bool:
        """Whether sentinels name the master."""
        return self.scheme in _SENTINEL_SCHEMES

    @property
    def replica_seconds(self) -> float:
        """Longest wait for a replica; shorter than that for the answer, which reports its result."""
        return self.socket_timeout_seconds / 2

    @property
    def has_tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.scheme.startswith("rediss")

    def _check_url(self) -> None:
        """Refuse a password with a plain `/`, `?`, `#` or blank: it would be shown as part of an address."""
        parts = split_url(self.url)
        if _BLANK.search(self.url) or not self._has_readable_addresses(parts):
            raise ConfigError(UNREADABLE_URL)
        has_user_info = "@" in parts.netloc
        if "@" in self.url and not has_user_info and self.scheme != "unix":
            raise ConfigError(UNREADABLE_URL)
        if has_user_info and self.login is not None:
            raise ConfigError(
                "redis.url names a user or a password, and so do redis.username and its password"
            )
        if self.is_watched and not parts.path.strip("/"):
            raise ConfigError("redis.url names sentinels and no service: end it with /<service>")
        self._check_database(parts)
        if "ssl_" in parts.query:
            raise ConfigError("redis.url has ssl_… parameters: use redis.tls_ca_file and its neighbors")
        names = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
        if names - (frozenset() if self.is_cluster or self.is_watched else _PARAMETERS):
            raise ConfigError(
                "redis.url has parameters that do not count there: only one server has any,"
                f" {', '.join(sorted(_PARAMETERS))}"
            )
        if self.tls is not None and not self.has_tls:
            raise ConfigError(f"redis.tls_… files are set for {self.scheme}://, which has no TLS: use rediss")

    def _check_database(self, parts: UrlParts) -> None:
        """Refuse what the client would ignore, without quoting it: it may be part of a password."""
        path = parts.path.lstrip("/").partition("/")[2] if self.is_watched else parts.path
        if self.scheme == "unix":
            return
        if not _DATABASE.fullmatch(path):
            raise ConfigError(
                "redis.url ends with a database that is no number: write /0, or leave it out, and keep crawls"
                " apart by redis.namespace"
            )
        if self.is_cluster and path.strip("/0"):
            raise ConfigError(
                "redis.url names a database, and a Redis Cluster has database 0 alone: leave it out, and keep"
                " crawls apart by redis.namespace"
            )

    def _has_readable_addresses(self, parts: UrlParts) -> bool:
        """Without a host, the password would be taken for the port; several servers need all their ports."""
        if self.scheme == "unix":
            return True
        for address in parts.netloc.rpartition("@")[2].split(","):
            found = _ADDRESS.fullmatch(address)
            port = found and (found[2] or "").removeprefix(":")
            if port is None or int(port or 0) > _LARGEST_PORT:
                return False
            if (self.is_cluster or self.is_watched) and not port:
                return False
        return True
