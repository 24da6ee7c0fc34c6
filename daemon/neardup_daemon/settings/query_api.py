"""Define the settings of the query API: where it listens, who may ask, and how much."""

from ipaddress import ip_address
from typing import Annotated

from msgspec import Meta

from neardup_daemon.settings.section import Seconds, Secret, Section
from neardup_stream.errors import ConfigError

__all__ = ["Api", "is_loopback"]

_MIB = 1 << 20


class Api(Section, frozen=True):
    """The query API of `serve`, and of `run` where it is switched on."""

    enabled: Annotated[
        bool, Meta(description="Whether `run` answers queries too; `serve` answers them without this.")
    ] = False
    host: Annotated[
        str,
        Meta(
            min_length=1,
            description="Address of the query API and its web page; one that other machines reach needs a"
            " token or `api.tls_client_ca_file`.",
        ),
    ] = "127.0.0.1"
    port: Annotated[
        int,
        Meta(
            ge=0,
            le=65_535,
            description="Port of the query API and its web page; 0 takes any free one and logs it.",
        ),
    ] = 9465
    token: Annotated[
        Secret,
        Meta(
            description="Bearer token that every request must carry; rather use the file or the environment."
        ),
    ] = ""
    token_file: Annotated[
        str, Meta(description="File that holds the token; it is read again for each request.")
    ] = ""
    tls_certificate_file: Annotated[
        str, Meta(description="PEM file of the server's certificate and its chain; empty serves without TLS.")
    ] = ""
    tls_key_file: Annotated[
        str, Meta(description="PEM file of its key; empty if the key is in the certificate's file.")
    ] = ""
    tls_client_ca_file: Annotated[
        str,
        Meta(
            description="PEM file of the authorities whose client certificates are accepted; empty asks for"
            " none."
        ),
    ] = ""
    max_connections: Annotated[
        int,
        Meta(
            ge=1,
            le=65_536,
            description="Most connections at once, TLS handshakes included; at the limit the oldest without a"
            " request makes room, or an idle one where more than half are idle.",
        ),
    ] = 256
    head_timeout_seconds: Annotated[
        Seconds,
        Meta(
            description="Longest time from connecting, TLS handshake included, to the end of the first"
            " request's head; a smaller number frees connections of slow clients sooner."
        ),
    ] = 5.0
    idle_timeout_seconds: Annotated[
        Seconds,
        Meta(
            description="How long a connection stays open from an answer to the next request, and how long a"
            " client may take to receive an answer; a larger number saves clients that ask seldom a new"
            " connection."
        ),
    ] = 30.0
    max_body_bytes: Annotated[
        int,
        Meta(ge=1, le=1 << 30, description="Largest body of a request; a larger one is answered with 413."),
    ] = 4 * _MIB
    max_concurrent_requests: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Most requests worked on at once; a larger number uses more memory.",
        ),
    ] = 16
    max_threads: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000,
            description="Most requests at once whose pages are read or compared, each in a thread; others"
            " wait. A larger number answers more of them at once and takes more from the stream of the same"
            " process.",
        ),
    ] = 4
    max_queued_requests: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000,
            description="Most requests that wait for their turn; further ones are answered with 429.",
        ),
    ] = 64
    request_timeout_seconds: Annotated[
        Seconds,
        Meta(description="Longest time a request waits and is worked on; a longer one is answered with 503."),
    ] = 10.0
    decision_timeout_seconds: Annotated[
        Seconds,
        Meta(
            description="How long a request waits for the decision of its page before it is answered with"
            " 202; a larger number waits longer behind a backlog."
        ),
    ] = 10.0
    decision_kept_seconds: Annotated[
        Seconds,
        Meta(
            description="How long a daemon keeps the decision record of a page that a request waits for after"
            " its commit; a larger number answers requests that ask again later, and takes more memory."
        ),
    ] = 10.0
    max_waiting_pages: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Most requests that wait for decisions; further ones are answered with 429.",
        ),
    ] = 1000
    survey_seconds: Annotated[
        Seconds,
        Meta(
            description="How long a survey of all clusters is reused, of which the lists of hosts and of the"
            " largest clusters are made; a smaller number shows changes sooner and reads Redis more often."
        ),
    ] = 300.0
    survey_pages: Annotated[
        int,
        Meta(
            ge=1,
            description="Most pages of clusters that a survey reads; a larger number takes longer and misses"
            " less.",
        ),
    ] = 200_000
    latest_records: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Most records, the last of each partition alike, that are read of the events topic"
            " for the newest merges, and of the dead letters topic; a larger number shows more and takes"
            " longer.",
        ),
    ] = 2000
    shown_characters: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000_000,
            description="Most characters of each text that `POST /v1/compare` returns and compares word by"
            " word; a larger number shows more of long texts and takes longer.",
        ),
    ] = 100_000

    def __post_init__(self) -> None:
        """Refuse to be reachable by everyone, and half of what security needs.

        Raises:
            ConfigError: the settings contradict each other, or open the API to everyone.
        """
        if self.token and self.token_file:
            raise ConfigError("api.token and api.token_file are both set; set one of them")
        if not self.tls_certificate_file and (self.tls_key_file or self.tls_client_ca_file):
            raise ConfigError("api.tls_… files are set, and api.tls_certificate_file is not")
        if not (is_loopback(self.host) or self.needs_token or self.tls_client_ca_file):
            raise ConfigError(
                f"api.host {self.host!r} can be reached by other machines: set api.token_file, or"
                " api.tls_certificate_file and api.tls_client_ca_file; or listen on 127.0.0.1"
            )

    @property
    def needs_token(self) -> bool:
        """Whether requests must carry a token."""
        return bool(self.token or self.token_file)


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address; False for names other than localhost."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
