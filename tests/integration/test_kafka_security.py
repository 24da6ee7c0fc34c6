"""Kafka behind TLS, a login and ACLs: who is let in, what others see, what may change meanwhile."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from aiokafka.conn import CloseReason

from neardup_stream.credentials import Login, TlsFiles
from neardup_stream.errors import ConfigError, NeardupError, StreamUnavailable
from neardup_stream.message import Message, Partition
from neardup_stream.streams.kafka.admin import describe_topics
from neardup_stream.streams.kafka.config import KafkaConnection, KafkaSinkConfig, KafkaSourceConfig
from neardup_stream.streams.kafka.sink import KafkaSink
from neardup_stream.streams.kafka.source import KafkaSource
from neardup_stream.streams.kafka.topic_limits import TopicLimit
from neardup_stream.streams.kafka.transactions import KafkaTransactions, KafkaTransactionsConfig
from tests.servers.certificates import Authority
from tests.servers.secure import KAFKA_PASSWORD, USER, SecureKafka, deployed_kafka_rights

WRONG = Login(username=USER, password="wrong-4711")  # noqa: S106 - not a real one
PAGE = Message(key=b"https://example.com/", value=b"{}")
RIGHTS = deployed_kafka_rights("{pages}", "{events}", "{dead_letters}", "{group}")


@dataclass(frozen=True)
class Site:
    """Topics and a group of a test's own, and the connection of the daemon's user."""

    kafka: SecureKafka
    prefix: str
    connection: KafkaConnection

    def name(self, what: str) -> str:
        return f"{self.prefix}-{what}"

    def right(self, line: str) -> str:
        """Return a right of `deploy/`, on what is ours."""
        return line.format(**{what: self.name(what) for what in ("pages", "events", "dead_letters", "group")})

    def sink(self, what: str) -> KafkaSinkConfig:
        return KafkaSinkConfig(connection=self.connection, topic=self.name(what))

    def source(self) -> KafkaSource:
        return KafkaSource(
            KafkaSourceConfig(
                connection=self.connection, topics=(self.name("pages"),), group_id=self.name("group")
            )
        )

    async def prepare(self) -> None:
        """Create the topics, with one page."""
        topics = map(self.name, ("pages", "events", "dead_letters"))
        self.kafka.broker.create_topics(dict.fromkeys(topics, 1))
        plain = KafkaConnection(bootstrap_servers=self.kafka.broker.bootstrap_servers)
        async with KafkaSink(KafkaSinkConfig(connection=plain, topic=self.name("pages"))) as pages:
            await pages.send([PAGE])

    async def work(self) -> None:
        """Take the page, send an event and a dead letter, commit: at least once."""
        async with (
            KafkaSink(self.sink("events")) as events,
            KafkaSink(self.sink("dead_letters")) as dead_letters,
            self.source() as source,
        ):
            while not (records := await source.read(1, 1 << 20)):
                pass
            await events.send([PAGE])
            await dead_letters.send([PAGE])
            position = records[0].position
            await source.commit({position.partition: position.offset + 1})

    async def work_in_a_transaction(self) -> None:
        """The same, exactly once."""
        config = KafkaTransactionsConfig(
            events=TopicLimit(self.sink("events")),
            dead_letters=TopicLimit(self.sink("dead_letters")),
            group_id=self.name("group"),
        )
        partition = Partition(self.name("pages"), 0)
        async with KafkaTransactions(config) as transactions:
            await transactions.open([partition])
            await transactions.deliver(partition, events=[PAGE], dead_letters=[PAGE], next_offset=1)


@pytest.fixture
def site(secure_kafka: SecureKafka, topic_prefix: str) -> Site:
    connection = KafkaConnection(
        bootstrap_servers=secure_kafka.login_servers,
        request_timeout_seconds=10,
        tls=TlsFiles(ca_file=secure_kafka.authority.ca_file),
        sasl_mechanism="SCRAM-SHA-256",
        login=Login(username=USER, password=KAFKA_PASSWORD),
    )
    return Site(secure_kafka, topic_prefix, connection)


async def test_the_rights_in_deploy_are_enough(site: Site) -> None:
    await site.prepare()
    site.kafka.allow(map(site.right, RIGHTS))

    await site.work()
    await site.work_in_a_transaction()


async def test_a_login_may_be_plain(site: Site) -> None:
    plain = replace(site, connection=replace(site.connection, sasl_mechanism="PLAIN"))
    await plain.prepare()
    plain.kafka.allow(map(plain.right, RIGHTS))

    await plain.work()


def needed(line: str) -> tuple[str, str]:
    """Return what must be named where this right is missing: the operation, and what it is on."""
    words = line.split()
    return words[1], words[3]


@pytest.mark.parametrize("missing", [line for line in RIGHTS if "DescribeConfigs" not in line])
async def test_a_right_that_is_missing_is_named(site: Site, missing: str) -> None:
    await site.prepare()
    site.kafka.allow(site.right(line) for line in RIGHTS if line != missing)
    operation, resource = needed(site.right(missing))
    work = site.work_in_a_transaction if "transactional" in missing else site.work

    with pytest.raises(ConfigError) as refused:
        await work()

    assert f"grant this user {operation} on" in str(refused.value)
    assert resource in str(refused.value) or "transactional ids" in str(refused.value)


async def test_settings_of_topics_that_are_hidden_leave_the_limits_that_are_set(site: Site) -> None:
    await site.prepare()
    site.kafka.allow(site.right(line) for line in RIGHTS if "DescribeConfigs" not in line)

    await site.work()

    facts = (await describe_topics(site.connection, [site.name("events")]))[site.name("events")]
    assert facts is not None
    assert facts.max_message_bytes is None


CHANGES: dict[str, tuple[Callable[[Site], KafkaConnection], type[NeardupError], str]] = {
    "password": (
        lambda site: replace(site.connection, login=WRONG),
        ConfigError,
        "check kafka.sasl_username and its password",
    ),
    "mechanism": (
        lambda site: replace(site.connection, sasl_mechanism="SCRAM-SHA-512"),
        ConfigError,
        "check kafka.sasl_mechanism",
    ),
    "no-login": (
        lambda site: replace(site.connection, sasl_mechanism="none", login=None),
        StreamUnavailable,
        "check kafka.tls and kafka.sasl_mechanism",
    ),
    "login-where-none-is-asked-for": (
        lambda site: replace(
            site.connection, tls=None, bootstrap_servers=site.kafka.broker.bootstrap_servers
        ),
        ConfigError,
        "check kafka.sasl_mechanism",
    ),
    "authority": (
        lambda site: replace(site.connection, tls=TlsFiles()),
        ConfigError,
        "check kafka.tls_ca_file",
    ),
    "no-tls": (lambda site: replace(site.connection, tls=None), ConfigError, "set kafka.tls = true"),
    "tls-where-there-is-none": (
        lambda site: replace(site.connection, bootstrap_servers=site.kafka.broker.bootstrap_servers),
        StreamUnavailable,
        "check kafka.tls",
    ),
    "certificate-that-is-asked-for": (
        lambda site: replace(
            site.connection,
            bootstrap_servers=site.kafka.certificate_servers,
            sasl_mechanism="none",
            login=None,
        ),
        ConfigError,
        "check kafka.tls_certificate_file",
    ),
    "no-broker": (
        lambda site: replace(site.connection, bootstrap_servers="127.0.0.1:1"),
        StreamUnavailable,
        "kafka.bootstrap_servers",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_who_is_not_let_in_is_shown_why(
    site: Site, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    changed, kind, message = CHANGES[change]

    with pytest.raises(NeardupError) as refused:
        await describe_topics(changed(site), ["pages"])

    assert isinstance(refused.value, kind)
    assert message in str(refused.value)
    shown = "".join(traceback.format_exception(refused.value)) + caplog.text
    assert KAFKA_PASSWORD not in shown
    assert "wrong-4711" not in shown


async def test_a_password_that_changes_is_read_again_by_the_next_connection(
    site: Site, tmp_path: Path
) -> None:
    file = tmp_path / "password"
    file.write_text("wrong-4711")
    await site.prepare()
    site.kafka.allow(map(site.right, RIGHTS))
    login = Login(username=USER, password_file=str(file))
    changing = replace(site, connection=replace(site.connection, login=login))

    with pytest.raises(ConfigError, match="its password"):
        await changing.work()
    file.write_text(KAFKA_PASSWORD)
    async with KafkaSink(changing.sink("events")) as events:
        await events.send([PAGE])
        cut_off(events)
        await events.send([PAGE])


def cut_off(sink: KafkaSink) -> None:
    """Break the connections of its producer, which still was made with an earlier password."""
    producer = sink._producer
    assert producer is not None
    vars(producer.client)["_sasl_plain_password"] = "wrong-4711"  # noqa: S105 - not a real one
    for connection in tuple(producer.client._conns.values()):
        connection.close(reason=CloseReason.CONNECTION_BROKEN)


async def test_a_certificate_that_changes_is_shown_by_the_next_connection(site: Site, tmp_path: Path) -> None:
    await site.prepare()
    site.kafka.allow(map(site.right, RIGHTS))
    own = TlsFiles(
        ca_file=site.kafka.authority.ca_file,
        certificate_file=str(tmp_path / "own.pem"),
        key_file=str(tmp_path / "own.key"),
    )
    by_certificate = KafkaConnection(bootstrap_servers=site.kafka.certificate_servers, tls=own)
    changing = replace(site, connection=by_certificate)

    show(own, Authority(tmp_path, "stranger"))
    with pytest.raises(ConfigError, match=r"check kafka\.tls_certificate_file"):
        await changing.work()
    show(own, site.kafka.authority)
    await changing.work()


def show(files: TlsFiles, authority: Authority) -> None:
    """Put a new certificate of this authority in place."""
    identity = authority.sign(USER)
    for ours, signed in zip((files.certificate_file, files.key_file), identity, strict=True):
        Path(ours).write_bytes(Path(signed).read_bytes())
