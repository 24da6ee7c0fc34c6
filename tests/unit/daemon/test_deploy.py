"""What `deploy/` holds is true."""

import re
from pathlib import Path
from signal import SIGTERM

import pytest
from neardup_daemon.capacity.layouts import layout_for
from neardup_daemon.exit_codes import after_signal
from neardup_daemon.preparing import index_layout
from neardup_daemon.settings.settings import Settings

from neardup_stream.stores.redis.rights import RIGHTS
from neardup_stream.stores.redis.servers import PACKING_LIMITS
from tests.servers.secure import deployed_kafka_rights, deployed_redis_rules

DEPLOY = Path(__file__).parents[3] / "deploy"
KAFKA_ACLS = (DEPLOY / "kafka-acls.txt").read_text(encoding="utf-8")


def test_the_example_settings_load() -> None:
    assert Settings.load(DEPLOY / "neardup.toml").kafka.pages_topic == "pages"


@pytest.mark.parametrize("file", ["neardup.toml", "kubernetes/overlays/production/neardup.toml"])
def test_the_layout_of_the_example_settings_is_the_one_that_plan_recommends(file: str) -> None:
    settings = Settings.load(DEPLOY / file)

    assert index_layout(settings) == layout_for(settings.index.expected_pages, settings)


def test_redis_is_given_every_limit_the_daemon_would_set() -> None:
    lines = (DEPLOY / "redis.conf").read_text(encoding="utf-8").splitlines()

    assert "maxmemory-policy noeviction" in lines
    assert {f"{name} {value}" for name, value in PACKING_LIMITS.items()} <= set(lines)


def test_redis_gives_the_rights_the_daemon_asks_for_and_no_other() -> None:
    given = {rule for rule in deployed_redis_rules("nd", "x") if rule[0] == "+"}

    assert given == {f"+{right}" for right in RIGHTS}


def test_kafka_gives_rights_on_what_the_example_settings_name() -> None:
    kafka = Settings.load(DEPLOY / "neardup.toml").kafka
    rights = [right for mark in ("", "#") for right in deployed_kafka_rights("P", "E", "D", "G", mark)]

    assert {kafka.pages_topic, kafka.events_topic, kafka.dead_letters_topic, kafka.group_id} == {
        word
        for line in KAFKA_ACLS.splitlines()
        if line.lstrip("#")[:2] == "--"
        for word in line.split()
        if word[0].islower()
    } - {"prefixed"}
    assert len(rights) == len(set(rights))


def test_the_unit_takes_a_stop_before_the_daemon_has_begun_for_no_failure() -> None:
    unit = (DEPLOY / "neardup-stream.service").read_text(encoding="utf-8").splitlines()

    assert f"SuccessExitStatus={after_signal(SIGTERM)}" in unit


def test_the_documented_edit_makes_a_unit_that_serves_and_changes_nothing_else() -> None:
    unit = (DEPLOY / "neardup-stream.service").read_text(encoding="utf-8")
    page = (DEPLOY.parent / "docs" / "deploying.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^sed (-e .*) \\\n  deploy/neardup-stream.service", page, re.MULTILINE)

    edited = unit
    for pattern, replacement in re.findall(r"-e 's/(.*?)/(.*?)/'", command):
        edited = re.sub(pattern, replacement, edited, flags=re.MULTILINE)
    changed = set(edited.splitlines()) - set(unit.splitlines())

    program, settings = "/opt/neardup-stream/bin/neardup-stream", "/etc/neardup-stream/neardup.toml"
    assert changed == {
        f"ExecStart={program} serve --wait --config {settings}",
        "Description=Query API of the crawl",
    }


def test_every_file_is_described() -> None:
    described = (DEPLOY / "README.md").read_text(encoding="utf-8")

    for path in DEPLOY.iterdir():
        assert path.name == "README.md" or f"]({path.name})" in described
