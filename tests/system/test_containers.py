"""The daemon as Kubernetes runs it, without a cluster: its files, its user, its environment, its probes."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from neardup_stream.fingerprints.simhash import load_kernel
from tests.servers.daemon import start_daemon
from tests.system.conftest import Site
from tests.system.test_run import pages, publish

USER = "10001"
SERVICE_VARIABLES = {
    "NEARDUP_STREAM_PORT": "tcp://10.96.0.7:9464",
    "NEARDUP_STREAM_PORT_9464_TCP": "tcp://10.96.0.7:9464",
    "NEARDUP_STREAM_SERVICE_HOST": "10.96.0.7",
    "NEARDUP_STREAM_SERVICE_PORT_HTTP": "9464",
    "NEARDUP_REDIS_SERVICE_HOST": "10.96.0.8",
    "NEARDUP_REDIS_PORT": "tcp://10.96.0.8:6379",
    "KUBERNETES_SERVICE_HOST": "10.96.0.1",
}
"""What Kubernetes sets in each pod for the Services of its namespace."""


@pytest.fixture
def image() -> Iterator[Path]:
    """A directory that everybody can read, with the settings and the compiled kernel that an image holds."""
    with tempfile.TemporaryDirectory(prefix="neardup-image-", dir="/var/tmp") as own:
        directory = Path(own)
        directory.chmod(0o755)
        load_kernel()
        kernels = directory / "kernels"
        shutil.copytree(Path(os.environ["NUMBA_CACHE_DIR"]).parent, kernels)
        for path in (kernels, *kernels.rglob("*")):
            path.chmod(0o755)
        for name in ("tmp", "python"):
            (directory / name).mkdir()
        yield directory


def in_a_container(image: Path) -> list[str]:
    """A command before another: a read-only root, a tmpfs for what is temporary, a user without any right."""
    drop = f"setpriv --reuid {USER} --regid {USER} --clear-groups --no-new-privs --bounding-set=-all"
    script = [
        *(python_outside_of_home(image) if Path(sys.base_prefix).is_relative_to(Path.home()) else ()),
        f"mount -t tmpfs -o mode=1777,size=64m tmpfs {image / 'tmp'}",
        "mount -o remount,bind,ro /",
        f'exec {drop} --inh-caps=-all -- "$@"',
    ]
    return ["unshare", "--mount", "--", "sh", "-c", " && ".join(script), "sh"]


def python_outside_of_home(image: Path) -> list[str]:
    """Everybody may use an interpreter that is installed in our home, and see nothing else there."""
    home, python = Path.home(), image / "python"
    return [
        f"mount --bind {sys.base_prefix} {python}",
        f"mount -t tmpfs -o mode=755 tmpfs {home}",
        f"mkdir -p {sys.base_prefix}",
        f"mount --bind {python} {sys.base_prefix}",
    ]


def test_a_pod_starts_serves_its_probes_and_stops_at_sigterm(site: Site, image: Path) -> None:
    site.create_topics()
    publish(site, pages(50, topics=25))
    environ = SERVICE_VARIABLES | {
        "NUMBA_CACHE_DIR": str(image / "kernels"),
        "TMPDIR": str(image / "tmp"),
        "HOME": "/nonexistent",
    }

    with start_daemon(site.settings, environ=environ, before=in_a_container(image)) as pod:
        pod.wait_until_ready()
        status = Path(f"/proc/{pod.pid}/status").read_text(encoding="utf-8")
        probes = [pod.get(path)[0] for path in ("/livez", "/readyz")]
        pod.wait_for_pages(50)
        outcomes = pod.outcomes()
        exit_code = pod.stop()
        logged = {str(line["event"]) for line in pod.log_events()}

    assert (probes, exit_code, outcomes) == ([200, 200], 0, {"unique": 25, "duplicate": 25})
    assert f"Uid:\t{USER}\t{USER}\t{USER}\t{USER}" in status
    assert "CapEff:\t0000000000000000" in status
    assert not [event for event in logged if "compilation" in event or event == "kernel_cache_temporary"]
