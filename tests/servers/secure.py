"""Kafka and Redis as careful operators run them: TLS, logins, and no right that was not given.

Beside the doors for clients both keep a plain one, through which a test gives rights and looks around.
"""

import argparse
import asyncio
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aiokafka.conn import create_conn
from aiokafka.errors import for_code
from aiokafka.protocol.admin import CreateAclsRequest

from tests.servers.certificates import Authority
from tests.servers.kafka import KafkaBroker, run_apart, start_kafka
from tests.servers.process import free_ports
from tests.servers.redis import RedisServer, start_redis

__all__ = [
    "KAFKA_PASSWORD",
    "USER",
    "SecureKafka",
    "SecureRedis",
    "deployed_kafka_rights",
    "deployed_redis_rules",
    "start_secure_kafka",
    "start_secure_redis",
]

DEPLOY = Path(__file__).parents[2] / "deploy"

USER = "neardup"
KAFKA_PASSWORD = "of-kafka-4711"  # noqa: S105 - of a broker that lives as long as a test run

_RESOURCES = {"topic": 2, "group": 3, "cluster": 4, "transactional_id": 5}
_PATTERNS = {"literal": 3, "prefixed": 4}
_OPERATIONS = {
    name: code
    for code, name in enumerate(
        ("Read", "Write", "Create", "Delete", "Alter", "Describe", "ClusterAction", "DescribeConfigs"),
        start=3,
    )
}
_DENY, _ALLOW = 2, 3

_RIGHT = argparse.ArgumentParser(exit_on_error=False)
_RIGHT.add_argument("--operation", choices=_OPERATIONS, required=True)
_RIGHT.add_argument("--topic")
_RIGHT.add_argument("--group")
_RIGHT.add_argument("--transactional-id")
_RIGHT.add_argument("--resource-pattern-type", choices=_PATTERNS, default="literal")


@dataclass(frozen=True, slots=True)
class SecureKafka:
    """A broker that knows one user, by SCRAM or by a certificate of that name."""

    broker: KafkaBroker
    login_servers: str
    """TLS, and SCRAM-SHA-256 or PLAIN."""
    certificate_servers: str
    """Mutual TLS."""
    authority: Authority

    def allow(self, rights: Iterable[str], user: str = USER) -> None:
        """Give rights, each as `kafka-acls.sh` takes it: `--operation Read --topic pages`."""
        run_apart(_add(self.broker.bootstrap_servers, [_request(right, user, _ALLOW) for right in rights]))

    def deny(self, rights: Iterable[str], user: str = USER) -> None:
        """Remove rights for good, whatever is given."""
        run_apart(_add(self.broker.bootstrap_servers, [_request(right, user, _DENY) for right in rights]))


@dataclass(frozen=True, slots=True)
class SecureRedis:
    """A server with a door for TLS, on which clients may show a certificate of the authority."""

    server: RedisServer
    tls_port: int
    authority: Authority


def deployed_redis_rules(namespace: str, password: str) -> list[str]:
    """The rights that `deploy/` grants to the daemon's user, for a test's own namespace and password."""
    lines = (DEPLOY / "redis-acl.conf").read_text(encoding="utf-8").splitlines()
    ((_, _, *rules),) = (line.split() for line in lines if line.startswith("user "))
    own = {">change-me": f">{password}", "~nd:*": f"~{namespace}:*"}
    return [own.pop(rule, rule) for rule in rules]


def deployed_kafka_rights(
    pages: str, events: str, dead_letters: str, group_id: str, mark: str = ""
) -> list[str]:
    """Return the same for Kafka, for topics and a group of a test's own.

    Args:
        pages: the topic.
        events: the topic.
        dead_letters: the topic.
        group_id: of the consumer group.
        mark: in front of each right; `#` for those that only commands for repair need.
    """
    own = {
        "pages": pages,
        "neardup-events": events,
        "neardup-dead-letters": dead_letters,
        "neardup-stream": group_id,
    }
    lines = (DEPLOY / "kafka-acls.txt").read_text(encoding="utf-8").splitlines()
    rights = [line.removeprefix(mark) for line in lines if line.startswith(f"{mark}--")]
    return [" ".join(own.get(word, word) for word in line.split()) for line in rights]


@contextmanager
def start_secure_kafka(directory: Path) -> Iterator[SecureKafka]:
    """Run it until the block ends.

    Args:
        directory: for certificates.
    """
    authority = Authority(directory)
    certificate_file, key_file = authority.sign("broker")
    store = directory / "broker.both.pem"  # Java wants the key in PKCS 8, which is what openssl writes
    store.write_text(Path(key_file).read_text() + Path(certificate_file).read_text())
    login_port, certificate_port = free_ports(2)
    configs = {
        "listener.security.protocol.map": (
            "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LOGIN:SASL_SSL,CERTIFICATE:SSL"
        ),
        "sasl.enabled.mechanisms": "SCRAM-SHA-256,PLAIN",
        "listener.name.login.plain.sasl.jaas.config": (
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            f'user_{USER}="{KAFKA_PASSWORD}";'
        ),
        "listener.name.login.scram-sha-256.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(store),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": authority.ca_file,
        "listener.name.certificate.ssl.client.auth": "required",
        "listener.name.certificate.ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with start_kafka(
        configs,
        listeners={"LOGIN": login_port, "CERTIFICATE": certificate_port},
        scram_users=[f"SCRAM-SHA-256=[name={USER},password={KAFKA_PASSWORD}]"],
        is_brief=True,
    ) as broker:
        yield SecureKafka(broker, f"127.0.0.1:{login_port}", f"127.0.0.1:{certificate_port}", authority)


@contextmanager
def start_secure_redis(directory: Path, options: Mapping[str, str] | None = None) -> Iterator[SecureRedis]:
    """Run it until the block ends.

    Args:
        directory: for certificates.
        options: more directives of redis.conf.
    """
    authority = Authority(directory)
    certificate_file, key_file = authority.sign("redis")
    (tls_port,) = free_ports(1)
    tls = {
        "tls-port": str(tls_port),
        "tls-cert-file": certificate_file,
        "tls-key-file": key_file,
        "tls-ca-cert-file": authority.ca_file,
        "tls-auth-clients": "optional",
    }
    with start_redis(options=tls | dict(options or {})) as server:
        yield SecureRedis(server, tls_port, authority)


async def _add(bootstrap_servers: str, requests: Iterable[CreateAclsRequest]) -> None:
    host, _, port = bootstrap_servers.rpartition(":")
    connection = await create_conn(host, int(port))
    try:
        for request in requests:
            answer = await connection.send(request)
            ((code, message),) = answer.creation_responses
            if code:
                raise for_code(code)(message)
    finally:
        await asyncio.gather(connection.close())


def _request(right: str, user: str, permission: int) -> CreateAclsRequest:
    words = vars(_RIGHT.parse_args(shlex.split(right)))
    ((kind, name),) = ((kind, words[kind]) for kind in _RESOURCES if words.get(kind))
    return CreateAclsRequest(
        _RESOURCES[kind],
        name,
        _PATTERNS[words["resource_pattern_type"]],
        f"User:{user}",
        "*",
        _OPERATIONS[words["operation"]],
        permission,
    )
