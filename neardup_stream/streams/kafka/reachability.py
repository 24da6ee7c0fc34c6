"""Find out why a client reaches no broker: aiokafka's clients only log the reason."""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from aiokafka.conn import AIOKafkaConnection, collect_hosts
from aiokafka.errors import KafkaConnectionError
from aiokafka.protocol.metadata import MetadataRequest

from neardup_stream.errors import ConfigError, StreamUnavailable
from neardup_stream.streams.kafka.config import KafkaConnection
from neardup_stream.streams.kafka.errors import kafka_errors, unavailable
from neardup_stream.streams.kafka.starting import host_names

__all__ = ["reach_broker"]

CLOSE_SECONDS = 1.0
"""How long to wait for a broker to close a connection."""

ANSWER_SECONDS = 5.0
"""How long to wait for one broker: the client has waited for `request_timeout_seconds` already."""

_TLS_ALERT = 0x1503
"""The first two bytes of a broker's TLS alert to a client without TLS."""


async def reach_broker(connection: KafkaConnection) -> None:
    """Connect as a client would; return as soon as one of the brokers answers, each within `ANSWER_SECONDS`.

    Raises:
        ConfigError: a broker is not whom we trust, does not trust us, or has a name that no host can have.
        StreamUnavailable: none can be reached.

    Cost: a connection, and reading the files of credentials.
    """
    options = connection.client_options()
    del options["metadata_max_age_ms"]  # of a client, not of a connection
    reasons = []
    for host, port, _ in collect_hosts(options.pop("bootstrap_servers")):
        try:
            with kafka_errors(f"connecting to {host}:{port}"), _tls_errors(f"{host}:{port}"), host_names():
                async with asyncio.timeout(ANSWER_SECONDS):
                    await _ask(AIOKafkaConnection(host, port, **options))
        except StreamUnavailable as error:
            reasons.append(str(error))
        else:
            return
    raise unavailable("connection", "; ".join(reasons))


async def _ask(broker: AIOKafkaConnection) -> None:
    """Connect, send a request that only an authenticated client may send, and close."""
    is_open = True
    try:
        await broker.connect()
        await broker.send(MetadataRequest([]))
    except OSError:
        is_open = False
        raise
    finally:
        if is_open and (closed := broker.close()):  # None while it still connects
            await asyncio.wait([closed], timeout=CLOSE_SECONDS)


@contextmanager
def _tls_errors(broker: str) -> Iterator[None]:
    """Raise the cause of an error, without its remedy."""
    try:
        yield
    except TimeoutError as error:  # an OSError, too
        raise StreamUnavailable(f"{broker} does not answer", "timeout") from error
    except ssl.SSLCertVerificationError as error:
        raise ConfigError(
            f"{broker} cannot show that it is {broker}: {error.verify_message}; "
            "check kafka.tls_ca_file and the names in kafka.bootstrap_servers"
        ) from error
    except ssl.SSLError as error:
        raise ConfigError(f"{broker} and we do not agree on TLS: {error.reason}; check kafka.tls") from error
    except ConnectionResetError as error:
        raise _closed(broker, None) from error
    except OSError as error:
        raise StreamUnavailable(f"{broker} cannot be reached: {error}", "connection") from error
    except KafkaConnectionError as error:
        raise _closed(broker, error.__cause__) from error


def _closed(broker: str, cause: BaseException | None) -> ConfigError | StreamUnavailable:
    """Return why a broker may have closed the connection of a client after accepting it."""
    if isinstance(cause, ssl.SSLError):
        return ConfigError(
            f"{broker} refuses our certificate: {cause.reason}; check kafka.tls_certificate_file"
        )
    if isinstance(cause, asyncio.IncompleteReadError) and (cause.expected or 0) >> 16 == _TLS_ALERT:
        return ConfigError(f"{broker} requires TLS: set kafka.tls = true")
    return StreamUnavailable(
        f"{broker} closed the connection; if it always does, check kafka.tls and kafka.sasl_mechanism"
    )
