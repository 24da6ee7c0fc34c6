"""What `deploy/` holds is true."""

from pathlib import Path

from daemon.settings import Settings
from neardup_stream.stores.redis_namespace import PACKING_LIMITS

DEPLOY = Path(__file__).parents[3] / "deploy"


def test_the_example_settings_load() -> None:
    assert Settings.load(DEPLOY / "neardup.toml").kafka.pages_topic == "crawl.pages"


def test_redis_is_told_every_limit_the_daemon_would_set() -> None:
    told = (DEPLOY / "redis.conf").read_text(encoding="utf-8").splitlines()

    assert "maxmemory-policy noeviction" in told
    assert {f"{name} {value}" for name, value in PACKING_LIMITS.items()} <= set(told)


def test_every_file_is_described() -> None:
    described = (DEPLOY / "README.md").read_text(encoding="utf-8")

    for path in DEPLOY.iterdir():
        assert path.name == "README.md" or f"]({path.name})" in described
