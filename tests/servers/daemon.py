"""The program itself as a child process: started, watched through its port, stopped by signals."""

import json
import os
import re
import signal
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.servers.process import POLL_SECONDS, free_ports, is_paused, wait_until
from tests.servers.program import Child, start_program

__all__ = ["START_SECONDS", "Daemon", "start_daemon"]

START_SECONDS = 180
STOP_SECONDS = 120
_SAMPLE = re.compile(r"^(neardup_\w+)(\{[^}]*\})? (\S+)$", re.MULTILINE)


class Daemon:
    """A running `neardup-stream run`."""

    def __init__(self, child: Child, port: int, log: Path) -> None:
        self._child = child
        self._port = port
        self._log = log

    @property
    def pid(self) -> int:
        """Process id."""
        return self._child.pid

    @property
    def port(self) -> int:
        """Where it serves its metrics."""
        return self._port

    def descriptor_count(self) -> int:
        """Files and connections that it has open, without the connections that it made itself."""
        process = Path("/proc", str(self.pid))
        sockets = [line.split() for line in (process / "net/tcp").read_text().splitlines()[1:]]
        port = f":{self._port:04X}"
        own = {f"socket:[{words[9]}]" for words in sockets if not words[1].endswith(port)}
        return sum(target not in own for target in _links(process / "fd"))

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of a page of its port; status 0 while no server listens, or answers in time."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def metrics(self, *names: str) -> Mapping[str, float]:
        """Return samples of ours by `name{labels}`: of the metrics with these names, or all of them."""
        _, text = self.get(f"/metrics?{urllib.parse.urlencode([('name[]', name) for name in names])}")
        return {name + labels: float(value) for name, labels, value in _SAMPLE.findall(text)}

    def outcomes(self) -> dict[str, int]:
        """Return records by outcome, without those that nothing met."""
        prefix = 'neardup_outcomes_total{outcome="'
        return {
            name.removeprefix(prefix).removesuffix('"}'): int(value)
            for name, value in self.metrics("neardup_outcomes_total").items()
            if name.startswith(prefix) and value
        }

    def wait_until_ready(self) -> None:
        """Wait until it takes pages."""
        wait_until(lambda: self.has_ended() or self.get("/readyz")[0] == 200, START_SECONDS)
        if self.has_ended():
            raise AssertionError(f"the daemon ended with {self.wait()}:\n{self.log()}")

    def wait_for_pages(self, count: int, timeout_seconds: float = 60) -> None:
        """Wait until so many records are finished.

        On a busy machine that takes longer, and is no fault as long as more are finished all the time.

        Raises:
            TimeoutError: no more were finished for so long.
        """
        name, most, deadline = "neardup_pages_total", 0.0, time.monotonic() + timeout_seconds
        while (finished := self.metrics(name).get(name, 0)) < count:
            if finished > most:
                most, deadline = finished, time.monotonic() + timeout_seconds
            elif time.monotonic() > deadline:
                raise TimeoutError(
                    f"{most:.0f} of {count} records are finished, and no more were for {timeout_seconds} s"
                )
            time.sleep(POLL_SECONDS)

    def wait_until_idle(self) -> None:
        """Wait until no page is in flight: it has written everything about those that are finished."""
        wait_until(lambda: self.in_flight_pages() == 0, 60)

    def in_flight_pages(self) -> float | None:
        """Return how many pages are in flight; None where it does not say."""
        name = "neardup_in_flight_pages"
        return self.metrics(name).get(name)

    def has_ended(self) -> bool:
        """Return whether it runs no more."""
        return self._child.poll() is not None

    def is_paused(self) -> bool:
        """Return whether SIGSTOP holds it."""
        return is_paused(self.pid)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._child.send_signal(number)

    def wait(self) -> int:
        """Its exit code, once it ends."""
        return self._child.wait(STOP_SECONDS)

    def stop(self) -> int:
        """Ask it to stop; its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def log(self) -> str:
        """Return what it wrote to standard error so far."""
        return self._log.read_text(encoding="utf-8")

    def log_events(self) -> list[dict[str, object]]:
        """Return the same, line by line."""
        return [json.loads(line) for line in self.log().splitlines()]


def _links(directory: Path) -> Iterator[str]:
    for each in directory.iterdir():
        with suppress(FileNotFoundError):  # it was closed meanwhile
            yield str(each.readlink())


@contextmanager
def start_daemon(
    settings: Sequence[str],
    *flags: str,
    environ: Mapping[str, str] | None = None,
    port: int = 0,
    before: Sequence[str] = (),
) -> Iterator[Daemon]:
    """Start the daemon with `section.key=value` settings; kill it at the end.

    Args:
        settings: of the command line.
        flags: more words of it.
        environ: settings of the environment, which has none else.
        port: where it serves its metrics; 0 takes a free one.
        before: a command that becomes the daemon's, given as further words.
    """
    port = port or free_ports(1)[0]
    overrides = [word for setting in (*settings, f"http.port={port}") for word in ("--set", setting)]
    with tempfile.TemporaryDirectory(prefix="neardup-daemon-") as directory:
        log = Path(directory, "stderr.log")
        with Path(os.devnull).open("r+b") as nothing, log.open("wb") as stderr:
            streams = (nothing.fileno(), nothing.fileno(), stderr.fileno())
            child = start_program(["run", *flags, *overrides], environ or {}, streams, before)
        try:
            yield Daemon(child, port, log)
        finally:
            child.kill()
            child.wait()
