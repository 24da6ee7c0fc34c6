"""The program behind TLS, SCRAM and ACLs, with the rights of `deploy/`; no output holds a secret."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis
from neardup_daemon.cli import main

from tests.pipelines import essay, page_json
from tests.servers.certificates import Authority
from tests.servers.daemon import start_daemon
from tests.servers.secure import (
    KAFKA_PASSWORD,
    USER,
    SecureKafka,
    SecureRedis,
    deployed_kafka_rights,
    deployed_redis_rules,
)
from tests.system.conftest import call

REDIS_PASSWORD = "of-redis-0815"  # noqa: S105 - of a server that lives as long as a test run
WRONG_PASSWORD = "wrong-0815"  # noqa: S105 - not a real one
SECRETS = (KAFKA_PASSWORD, REDIS_PASSWORD, WRONG_PASSWORD)
FAST = ("log.level=debug", "http.port=0", "redis.retries=0", "pipeline.retry_deadline_seconds=0.1")
ENVIRON = {"NEARDUP_REDIS__PASSWORD": REDIS_PASSWORD}


@dataclass(frozen=True)
class SecureSite:
    """One installation: settings of the daemon's user, and those of a user with all rights.

    Attributes:
        settings: of the daemon's user.
        open_settings: of one with all rights.
        repair_rights: what `recover`, `verify` and `replay` need in Kafka beside those of the daemon.
    """

    settings: tuple[str, ...]
    open_settings: tuple[str, ...]
    repair_rights: tuple[str, ...]

    def call_openly(self, *words: str) -> bytes:
        """Return what a command prints that is no part of the daemon's work."""
        run = call(*words, *flags(self.open_settings))
        assert run.returncode == 0, run.stderr
        return run.stdout


RunCommand = Callable[..., tuple[int, str]]


@pytest.fixture
def run_command(
    site: SecureSite, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[RunCommand]:
    """Run a command of the daemon's user in this process: its exit code, and all it said, without secrets."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level

    def run(
        *words: str, settings: Sequence[str] = (), environ: Mapping[str, str] = ENVIRON
    ) -> tuple[int, str]:
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        code = main([*words, *flags((*site.settings, *settings))])
        said = "".join(capfd.readouterr())
        assert_silenced(said)
        return code, said

    yield run
    logging.captureWarnings(capture=False)
    root.handlers[:] = handlers
    root.setLevel(level)


def flags(settings: Sequence[str]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def assert_silenced(said: str) -> None:
    assert not [secret for secret in SECRETS if secret in said]


@pytest.fixture
def site(
    secure_kafka: SecureKafka,
    secure_redis: SecureRedis,
    namespace: str,
    topic_prefix: str,
    tmp_path: Path,
) -> Iterator[SecureSite]:
    topics = (f"{topic_prefix}-pages", f"{topic_prefix}-events", f"{topic_prefix}-dead")
    secure_kafka.broker.create_topics(dict.fromkeys(topics, 1))
    secure_kafka.allow(deployed_kafka_rights(*topics, topic_prefix))
    password_file = tmp_path / "kafka.password"
    password_file.write_text(f"{KAFKA_PASSWORD}\n")
    names = (
        *(
            f"kafka.{name}_topic={topic}"
            for name, topic in zip(("pages", "events", "dead_letters"), topics, strict=True)
        ),
        f"kafka.group_id={topic_prefix}",
        f"redis.namespace={namespace}",
    )
    with redis.Redis.from_url(secure_redis.server.url) as admin:
        admin.execute_command("ACL", "SETUSER", namespace, *deployed_redis_rules(namespace, REDIS_PASSWORD))
        yield SecureSite(
            (
                *names,
                f"kafka.bootstrap_servers={secure_kafka.login_servers}",
                "kafka.tls=true",
                f"kafka.tls_ca_file={secure_kafka.authority.ca_file}",
                "kafka.sasl_mechanism=SCRAM-SHA-256",
                f"kafka.sasl_username={USER}",
                f"kafka.sasl_password_file={password_file}",
                f"redis.url=rediss://127.0.0.1:{secure_redis.tls_port}/0",
                f"redis.tls_ca_file={secure_redis.authority.ca_file}",
                f"redis.username={namespace}",
            ),
            (*names, f"kafka.bootstrap_servers={secure_kafka.broker.bootstrap_servers}"),
            tuple(deployed_kafka_rights(*topics, topic_prefix, mark="#")),
        )
        admin.execute_command("ACL", "DELUSER", namespace)


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_the_daemon_works_with_exactly_the_rights_in_deploy_and_logs_no_secret(
    site: SecureSite, tmp_path: Path, delivery: str
) -> None:
    crawl = tmp_path / "crawl.jsonl"
    crawl.write_bytes(
        b"".join(page_json(f"p{number}", essay(number % 10)) + b"\n" for number in range(30)) + b"poison\n"
    )
    site.call_openly("produce", str(crawl))

    daemon_settings = (*site.settings, "log.level=debug", f"kafka.delivery={delivery}")
    with start_daemon(daemon_settings, environ=ENVIRON) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(31)
        pages = [daemon.get(path)[1] for path in ("/metrics", "/readyz", "/livez")]
        outcomes = daemon.outcomes()
        exit_code = daemon.stop()
        log = daemon.log()

    assert (exit_code, outcomes) == (0, {"unique": 10, "duplicate": 20, "dead_letter": 1})
    events = site.call_openly("tail", "--from-start", "--idle-seconds", "1").splitlines()
    assert len([event for event in events if "duplicate" in json.loads(event)["type"]]) == 20
    assert_silenced(log + "".join(pages))


def test_the_commands_for_repair_work_with_the_rights_that_are_listed_for_them(
    site: SecureSite, secure_kafka: SecureKafka, tmp_path: Path
) -> None:
    crawl = tmp_path / "crawl.jsonl"
    crawl.write_bytes(page_json("a", essay(1)) + b"\n" + page_json("b", essay(1)) + b"\npoison\n")
    site.call_openly("produce", str(crawl))
    with start_daemon(site.settings, environ=ENVIRON) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(3)
        assert daemon.stop() == 0

    def run(command: str) -> tuple[int, str]:
        done = call(command, *flags(site.settings), environ=ENVIRON)
        return done.returncode, done.stderr.decode()

    for command, rights in {
        "recover": site.repair_rights[:1],
        "verify": site.repair_rights[1:2],
        "replay": site.repair_rights[2:],
    }.items():
        refused, why = run(command)
        secure_kafka.allow(rights)
        allowed, said = run(command)

        assert (refused, allowed) == (2, 0), said
        assert "Read" in why


def test_nothing_is_bad_for_check(run_command: RunCommand) -> None:
    code, said = run_command("check")

    assert code == 0
    assert "BAD" not in said


def test_the_settings_are_shown_without_their_secrets(run_command: RunCommand) -> None:
    environ = ENVIRON | {"NEARDUP_KAFKA__SASL_PASSWORD": KAFKA_PASSWORD}
    own = ["kafka.sasl_password_file="]

    _, shown = run_command("config", "show", settings=own, environ=environ)
    _, shown_as_json = run_command("config", "show", "--json", settings=own, environ=environ)

    assert '\n# password = "***"  # environment' in shown
    assert '\n# sasl_password = "***"  # environment' in shown
    assert shown_as_json.count('password": "***"') == 2


@pytest.mark.parametrize(
    ("settings", "environ", "code", "message"),
    [
        pytest.param(
            (),
            {"NEARDUP_REDIS__PASSWORD": WRONG_PASSWORD},
            2,
            "set the user name and the password",
            id="redis-password",
        ),
        pytest.param((), {}, 2, "redis.password or its file: neither is set", id="no-redis-password"),
        pytest.param(
            (f"redis.password={WRONG_PASSWORD}",),
            {},
            2,
            "NEARDUP_REDIS__PASSWORD",
            id="password-for-all-to-see",
        ),
        pytest.param(
            (f"redis.url=redis://me:{WRONG_PASSWORD}/@cache",),
            ENVIRON,
            2,
            "redis.url cannot be read",
            id="unreadable-url",
        ),
        pytest.param(
            (f"redis.url=rediss://me:{WRONG_PASSWORD}@cache",), ENVIRON, 2, "names a user", id="two-logins"
        ),
        pytest.param(
            ("redis.tls_ca_file={stranger}",), ENVIRON, 2, "redis.tls_ca_file", id="redis-authority"
        ),
        pytest.param(
            ("kafka.sasl_password_file={wrong}",),
            ENVIRON,
            2,
            "check kafka.sasl_username",
            id="kafka-password",
        ),
        pytest.param(
            ("kafka.tls_ca_file={stranger}",), ENVIRON, 2, "check kafka.tls_ca_file", id="kafka-authority"
        ),
        pytest.param(
            ("kafka.sasl_password_file={stranger}x",),
            ENVIRON,
            2,
            "cannot read the password file",
            id="no-password-file",
        ),
        pytest.param(("redis.url=rediss://127.0.0.1:1",), ENVIRON, 3, "Redis: ", id="redis"),
        pytest.param(
            ("kafka.bootstrap_servers=127.0.0.1:1",), ENVIRON, 3, "127.0.0.1:1", id="kafka-unavailable"
        ),
    ],
)
def test_no_failure_shows_a_secret(
    run_command: RunCommand,
    tmp_path: Path,
    settings: Sequence[str],
    environ: dict[str, str],
    code: int,
    message: str,
) -> None:
    wrong = tmp_path / "wrong.password"
    wrong.write_text(WRONG_PASSWORD)
    stranger = Authority(tmp_path, "stranger").ca_file
    own = [setting.replace("{stranger}", stranger).replace("{wrong}", str(wrong)) for setting in settings]

    ended, said = run_command("run", settings=[*FAST, *own], environ=environ)

    assert ended == code
    assert message in said


def test_a_right_that_is_withdrawn_stops_the_daemon_before_the_page_whose_dead_letter_it_forbids(
    site: SecureSite, secure_kafka: SecureKafka, topic_prefix: str, tmp_path: Path
) -> None:
    crawl = tmp_path / "crawl.jsonl"
    dead, others_dead = f"{topic_prefix}-dead", f"{topic_prefix}-dead-2"
    with start_daemon(site.settings, environ=ENVIRON) as daemon:
        daemon.wait_until_ready()
        secure_kafka.deny([f"--operation Write --topic {dead}"])
        crawl.write_bytes(b"poison\n" + page_json("behind", essay(1)) + b"\n")
        site.call_openly("produce", str(crawl))
        exit_code = daemon.wait()
        log = daemon.log()

    assert exit_code == 2
    assert f"sending to {dead}" in log
    assert "grant this user Write on the topic" in log
    secure_kafka.broker.create_topic(others_dead)
    secure_kafka.allow([f"--operation Write --topic {others_dead}"])
    elsewhere = (*site.settings, f"kafka.dead_letters_topic={others_dead}")
    with start_daemon(elsewhere, environ=ENVIRON) as daemon:
        daemon.wait_until_ready()
        daemon.wait_for_pages(2)
        assert daemon.outcomes() == {"dead_letter": 1, "unique": 1}
        assert daemon.stop() == 0
