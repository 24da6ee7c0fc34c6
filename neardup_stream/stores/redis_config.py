"""What an operator may choose about Redis."""

from dataclasses import dataclass

from neardup_stream.errors import ConfigError

__all__ = ["CLUSTER_SCHEME", "RedisConfig"]

CLUSTER_SCHEME = "redis+cluster://"
"""Of a URL that names nodes of a cluster; not one the client knows."""
_SERVER_SCHEMES = ("redis://", "rediss://", "unix://")


@dataclass(frozen=True, slots=True)
class RedisConfig:
    """Where the tables and records are kept.

    Attributes:
        url: `redis://`, `rediss://`, `unix://`, or `redis+cluster://host:port,host:port`.
        socket_timeout_seconds: longest wait for one answer.
        retries: how often the client repeats a call before the batch is told.
    """

    url: str
    socket_timeout_seconds: float = 10.0
    retries: int = 2

    def __post_init__(self) -> None:
        """Refuse what no client can use.

        Raises:
            ConfigError: unknown scheme, or numbers that cannot work.
        """
        if not self.url.startswith((*_SERVER_SCHEMES, CLUSTER_SCHEME)):
            raise ConfigError(
                f"redis.url starts with {self.url.partition('://')[0]!r}; "
                f"use one of {', '.join((*_SERVER_SCHEMES, CLUSTER_SCHEME))}"
            )
        if self.socket_timeout_seconds <= 0 or self.retries < 0:
            raise ConfigError("redis.socket_timeout_seconds must be above 0 and redis.retries not below it")

    @property
    def is_cluster(self) -> bool:
        """Whether keys are spread over several servers."""
        return self.url.startswith(CLUSTER_SCHEME)
