"""Settings: where each comes from, its type and its default."""

from pathlib import Path

import msgspec
import pytest
from aiokafka.conn import collect_hosts
from neardup_daemon.loop_wiring import loop_config
from neardup_daemon.preparing import index_layout, sketch_config, verdict_config
from neardup_daemon.settings.known import known_settings
from neardup_daemon.settings.loading import read_settings
from neardup_daemon.settings.settings import Settings

from neardup_stream.clusters.clusters import ClusterConfig
from neardup_stream.credentials import Login, TlsFiles
from neardup_stream.fingerprints.simhash import SimhashConfig
from neardup_stream.fingerprints.sketch import SketchConfig
from neardup_stream.frames.lines import FrameConfig
from neardup_stream.indexes.layout import IndexConfig
from neardup_stream.pipeline.classification import VerdictConfig
from neardup_stream.pipeline.in_flight import InFlightLimits
from neardup_stream.pipeline.loop_config import LoopConfig
from neardup_stream.pipeline.retries import RetryPolicy
from neardup_stream.stores.redis.config import RedisConfig
from neardup_stream.streams.kafka.config import (
    DEFAULT_MAX_EXPANDED_BYTES,
    KafkaConnection,
)
from neardup_stream.text.limits import TextLimits
from neardup_stream.wire.header_limit import DEFAULT_MAX_HEADERS
from neardup_stream.wire.pages import PageLimits
from tests.unit.daemon.settings.refusals import refusal


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "crawl.toml"
    path.write_text(
        '[kafka]\npages_topic = "from-file"\nsession_timeout_seconds = 10\ngroup_id = "from-file"\n'
    )
    return path


def test_flags_win_over_environment_over_file_over_defaults(file: Path) -> None:
    environ = {"NEARDUP_KAFKA__SESSION_TIMEOUT_SECONDS": "20", "NEARDUP_KAFKA__GROUP_ID": "from-environment"}

    settings, kinds = read_settings(Settings, file, ["kafka.session_timeout_seconds=30"], environ)

    assert settings.kafka.session_timeout_seconds == 30
    assert settings.kafka.group_id == "from-environment"
    assert settings.kafka.pages_topic == "from-file"
    assert settings.kafka.events_topic == "neardup-events"
    assert kinds == {
        "kafka.pages_topic": "file",
        "kafka.group_id": "environment",
        "kafka.session_timeout_seconds": "flag",
    }


def test_the_later_of_two_flags_wins() -> None:
    assert Settings.load(None, ["http.port=1", "http.port=2"]).http.port == 2


def test_variables_of_other_programs_are_left_alone() -> None:
    assert Settings.load(None, (), {"PATH": "/bin", "NEARDUPLICATE": "x"}) == Settings()


def test_both_ends_of_a_range_are_allowed() -> None:
    ports = [Settings.load(None, [f"http.port={port}"]).http.port for port in (0, 1, 65_534, 65_535)]

    assert ports == [0, 1, 65_534, 65_535]


def test_a_file_has_types_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text('[kafka]\nsession_timeout_seconds = "3"\n')

    assert refusal(config=file) == (
        f"kafka.session_timeout_seconds in {file}, line 2: expected a number, got '3'"
    )


@pytest.mark.parametrize("text", ["200,404", "[200, 404]"], ids=["bare", "as-in-toml"])
def test_a_list_is_written_with_commas_outside_the_file(text: str) -> None:
    settings = Settings.load(None, (), {"NEARDUP_PAGES__STATUS": text})

    assert settings.pages.status == (200, 404)


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ('["a", "b, c"]', ("a", "b, c")),
        (' [ "[a].nda" ] ', ("[a].nda",)),
        ("[]", ()),
        ("[a, b,]", ("a", "b")),
        ('"a",b]', ('"a"', "b]")),
    ],
    ids=["items", "brackets-in-an-item", "empty", "without-quotation-marks", "no-json"],
)
def test_a_list_in_brackets_is_json_where_it_has_quotation_marks(text: str, files: tuple[str, ...]) -> None:
    settings = Settings.load(None, (), {"NEARDUP_ARCHIVE__FILES": text})

    assert settings.archive.files == files


def test_foreign_names_reach_the_decoder_and_own_names_do_not(tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text('[page.fields]\nhtml = "content"\nurl = "target.url"\n')

    settings = Settings.load(file, ["page.fields.text=text"])

    assert settings.page.fields.mapping() == {"html": "content", "url": "target.url"}


def test_settings_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Settings().http.port = 1  # type: ignore[misc] # the claim


def test_every_setting_has_a_sentence_and_a_default_within_its_own_limits() -> None:
    for name, known in known_settings(Settings).items():
        assert known.description.endswith("."), name
        assert msgspec.convert(known.default, known.type) == known.default, name


def test_defaults_are_those_of_the_parts_they_configure() -> None:
    settings = Settings()

    assert settings.index.config() == IndexConfig(bands=SketchConfig().bands)
    assert sketch_config(settings) == SketchConfig()
    assert verdict_config(settings) == VerdictConfig(sketch_config(settings))
    assert index_layout(settings).config == settings.index.config()
    assert settings.limits.config() == PageLimits()
    assert settings.pipeline.limits() == InFlightLimits()
    assert SimhashConfig(settings.text.window_tokens, settings.verdict.min_tokens) == SimhashConfig()
    assert settings.limits.text() == TextLimits()
    assert settings.limits.max_expanded_bytes == DEFAULT_MAX_EXPANDED_BYTES
    assert settings.limits.max_headers == DEFAULT_MAX_HEADERS
    assert settings.frames.config() == FrameConfig()
    assert RetryPolicy(settings.pipeline.retry_deadline_seconds) == RetryPolicy()
    clusters = settings.clusters
    kept = ClusterConfig(clusters.tombstone_ttl_seconds, pending_edges=clusters.pending_edges)
    assert kept == ClusterConfig()


def test_defaults_of_connections_are_those_of_the_clients() -> None:
    settings = Settings()
    kafka, redis = settings.kafka, settings.redis

    assert kafka.connection() == KafkaConnection(bootstrap_servers=kafka.bootstrap_servers)
    assert redis.config() == RedisConfig(redis.url)
    assert loop_config(settings) == LoopConfig()


@pytest.mark.parametrize(
    "servers",
    [
        "kafka",
        "kafka_1.crawl.svc.:9092, 10.0.0.2:9092",
        " kafka-1:9092 ,kafka-2:9092,",
        "[2001:db8::1]:9092,[::1]",
        "::1,2001:db8:0:0:0:0:0:1",
        "[fe80::1%eth0]:9092",
        "kafka:09092",
    ],
)
def test_brokers_are_named_in_every_form_that_the_client_reads(servers: str) -> None:
    settings = Settings.load(overrides=[f"kafka.bootstrap_servers={servers}"], environ={})

    assert settings.kafka.connection().bootstrap_servers == servers
    assert all(port == 9092 for _, port, _ in collect_hosts(servers))


@pytest.mark.parametrize("port", [1, 9, 10, 9999, 10_000, 59_999, 60_000, 64_999, 65_499, 65_529, 65_535])
def test_a_broker_may_have_every_port(port: int) -> None:
    settings = Settings.load(overrides=[f"kafka.bootstrap_servers=kafka:{port}"], environ={})

    assert [each for _, each, _ in collect_hosts(settings.kafka.bootstrap_servers)] == [port]


def test_clients_get_what_is_set_for_their_security() -> None:
    settings = Settings.load(
        None,
        [
            *("kafka.tls=true", "kafka.tls_ca_file=ca", "kafka.sasl_mechanism=SCRAM-SHA-256"),
            *("kafka.sasl_username=me", "kafka.sasl_password_file=p"),
            *("redis.url=rediss://c", "redis.tls_certificate_file=cert", "redis.username=me"),
        ],
        {"NEARDUP_REDIS__PASSWORD": "hunter2"},
    )

    assert settings.kafka.connection().tls == TlsFiles(ca_file="ca")
    assert settings.kafka.connection().login == Login(username="me", password_file="p")  # noqa: S106 - a path
    assert settings.redis.config().tls == TlsFiles(certificate_file="cert")
    assert settings.redis.config().login == Login(username="me", password="hunter2")  # noqa: S106 - not a real one
