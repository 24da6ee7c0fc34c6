"""A real Prometheus that scrapes daemons of this machine.

```python
with start_prometheus({"neardup": [9464]}, rules=Path("alerts.yml")) as prometheus:
    prometheus.query("sum(neardup_ready)")
```
"""

import json
import math
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tests.servers.process import POLL_SECONDS, ServerProcess, find_program, free_ports

__all__ = ["Prometheus", "Series", "promtool", "start_prometheus"]

READY_SECONDS = 120
ANSWER_SECONDS, PATIENT_SECONDS = 10, 60


class Series(NamedTuple):
    """What a range query answers for one set of labels: values by time, without NaN."""

    labels: Mapping[str, str]
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Prometheus:
    """One running server."""

    url: str
    process: ServerProcess

    def query(self, expr: str, seconds: float = 0, step_seconds: float = 1) -> list[Series]:
        """Evaluate an expression over the last `seconds`.

        Raises:
            ValueError: Prometheus refuses the expression; the message is its own.
        """
        end = time.time()
        arguments = {"query": expr, "start": end - seconds, "end": end, "step": step_seconds}
        found = self._get(f"/api/v1/query_range?{urllib.parse.urlencode(arguments)}")["result"]
        return [Series(series["metric"], list(_numbers(series["values"]))) for series in found]

    def firing(self) -> set[tuple[str, str]]:
        """Job and name of every alert that fires now."""
        alerts = self._get("/api/v1/alerts")["alerts"]
        return {
            (alert["labels"].get("job", ""), alert["labels"]["alertname"])
            for alert in alerts
            if alert["state"] == "firing"
        }

    def is_ready(self) -> bool:
        """Return whether it answers."""
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=ANSWER_SECONDS):
                return True
        except OSError:
            return False

    def _get(self, path: str) -> Any:
        """Ask again for a minute where it does not answer, as on a busy machine."""
        deadline = time.monotonic() + PATIENT_SECONDS
        while True:
            try:
                with urllib.request.urlopen(self.url + path, timeout=ANSWER_SECONDS) as answer:
                    return json.load(answer)["data"]
            except urllib.error.HTTPError as error:
                raise ValueError(json.load(error)["error"]) from error
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(POLL_SECONDS)


def promtool(*words: str) -> subprocess.CompletedProcess[str]:
    """Run Prometheus' own checker."""
    command = [find_program("promtool", package="prometheus"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@contextmanager
def start_prometheus(
    ports: Mapping[str, Sequence[int]], rules: str = "", scrape_seconds: float = 1
) -> Iterator[Prometheus]:
    """Run Prometheus until the block ends; its data go with it.

    Args:
        ports: by job, those of 127.0.0.1 where daemons serve `/metrics`; they need not run yet.
        rules: text of a rule file.
        scrape_seconds: how often it scrapes, and evaluates the rules.
    """
    (port,) = free_ports(1)
    with tempfile.TemporaryDirectory(prefix="neardup-prometheus-") as name:
        directory = Path(name)
        (directory / "rules.yml").write_text(rules, encoding="utf-8")
        config = directory / "prometheus.yml"
        config.write_text(json.dumps(_config(ports, scrape_seconds)), encoding="utf-8")  # JSON is YAML
        process = ServerProcess(
            [
                find_program("prometheus", package="prometheus"),
                f"--config.file={config}",
                f"--storage.tsdb.path={directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--log.level=warn",
            ],
            directory,
        )
        server = Prometheus(f"http://127.0.0.1:{port}", process)
        try:
            process.wait_until_ready(server.is_ready, READY_SECONDS)
            yield server
        finally:
            process.stop()


def _config(ports: Mapping[str, Sequence[int]], scrape_seconds: float) -> dict[str, Any]:
    interval = f"{round(scrape_seconds * 1000)}ms"
    return {
        "global": {
            "scrape_interval": interval,
            "scrape_timeout": interval,
            "evaluation_interval": interval,
        },
        "rule_files": ["rules.yml"],
        "scrape_configs": [
            {"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in own]}]}
            for job, own in ports.items()
        ],
    }


def _numbers(values: Sequence[tuple[float, str]]) -> Iterator[tuple[float, float]]:
    for at, text in values:
        value = float(text)
        if math.isfinite(value):
            yield at, value
