"""`neardup-stream serve` as a child process, and requests to it."""

import contextlib
import json
import math
import os
import signal
import ssl
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from tests.servers.process import free_ports, wait_until
from tests.servers.program import Child, start_program

__all__ = ["Answered", "QueryApi", "query_api_at", "start_query_api"]

START_SECONDS = 180
STOP_SECONDS = 60
ANSWER_SECONDS = 630
"""More than a daemon takes for any of its answers here, of which some wait 600 seconds for a decision."""


class Answered(NamedTuple):
    """An answer: status, decoded JSON (None where it is none), and headers with names in lower case."""

    status: int
    value: Any
    headers: Mapping[str, str]


class QueryApi:
    """A query API that listens."""

    def __init__(self, port: int, child: Child | None = None, log: Path | None = None) -> None:
        self.port = port
        self.tls: ssl.SSLContext | None = None
        self._child, self._log = child, log

    def get(self, path: str, headers: Mapping[str, str] | None = None, **params: str | int) -> Answered:
        """Ask with GET."""
        query = f"?{urlencode(params)}" if params else ""
        return self.ask("GET", path + query, None, headers)

    def text(self, path: str) -> str:
        """Return the body of an answer that is no JSON."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=ANSWER_SECONDS) as answer:
            body: bytes = answer.read()
        return body.decode()

    def post(self, path: str, body: bytes, headers: Mapping[str, str] | None = None) -> Answered:
        """Ask with POST; the body counts as JSON unless headers say otherwise."""
        return self.ask("POST", path, body, {"Content-Type": "application/json", **(headers or {})})

    def ask(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str] | None = None
    ) -> Answered:
        """Send a request; status 0 where nothing listens."""
        scheme = "https" if self.tls else "http"
        url = f"{scheme}://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(url, body, dict(headers or {}), method=method)
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_SECONDS, context=self.tls) as answer:
                return _answered(answer.status, answer.read(), answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                return _answered(error.code, error.read(), error.headers)
        except (OSError, HTTPException):
            return Answered(0, None, {})

    def metric(self, name: str) -> float:
        """Return a sample without labels of `/metrics`; NaN, equal to no number, where there is none yet."""
        with urllib.request.urlopen(
            f"http://127.0.0.1:{self.port}/metrics", timeout=ANSWER_SECONDS
        ) as answer:
            lines = answer.read().decode().splitlines()
        return next((float(line.split()[1]) for line in lines if line.startswith(f"{name} ")), math.nan)

    @property
    def pid(self) -> int:
        """Of the process."""
        assert self._child is not None
        return self._child.pid

    def has_ended(self) -> bool:
        """Return whether the process runs no more."""
        return self._child is not None and self._child.poll() is not None

    def stop(self) -> int:
        """Ask it to stop; its exit code."""
        assert self._child is not None
        self._child.send_signal(signal.SIGTERM)
        return self._child.wait(STOP_SECONDS)

    def wait_until_ready(self, seconds: float) -> None:
        """Wait until `/readyz` says so; it must answer all the time.

        Raises:
            AssertionError: it did not in time, or a request had no answer; the message is the log.
        """
        statuses = {503}

        def is_ready() -> bool:
            statuses.add(self.get("/readyz").status)
            return statuses != {503}

        with contextlib.suppress(TimeoutError):
            wait_until(is_ready, seconds)
        assert statuses == {503, 200}, f"{statuses} of\n{self.log()}"

    def log(self) -> str:
        """Return what it wrote to standard error so far."""
        return self._log.read_text(encoding="utf-8") if self._log else ""


def _answered(status: int, body: bytes, headers: Any) -> Answered:
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    return Answered(status, value, {name.lower(): text for name, text in headers.items()})


def query_api_at(port: int) -> QueryApi:
    """Return the query API of a running daemon."""
    return QueryApi(port)


@contextmanager
def start_query_api(
    settings: Sequence[str],
    *flags: str,
    environ: Mapping[str, str] | None = None,
    until: str = "started",
) -> Iterator[QueryApi]:
    """Start `serve` with `section.key=value` settings; kill it at the end.

    Args:
        settings: of the command line.
        flags: more words of it.
        environ: settings of the environment, which has none else.
        until: the event of its log to wait for.
    """
    port = free_ports(1)[0]
    overrides = [word for setting in (*settings, f"api.port={port}") for word in ("--set", setting)]
    with tempfile.TemporaryDirectory(prefix="neardup-serve-") as directory:
        log = Path(directory, "stderr.log")
        with Path(os.devnull).open("r+b") as nothing, log.open("wb") as stderr:
            streams = (nothing.fileno(), nothing.fileno(), stderr.fileno())
            child = start_program(["serve", *flags, *overrides], environ or {}, streams)
        api = QueryApi(port, child, log)
        try:
            wait_until(lambda: api.has_ended() or f'"{until}"' in api.log(), START_SECONDS)
            if api.has_ended():
                raise AssertionError(f"serve ended with {child.wait()}:\n{api.log()}")
            yield api
        finally:
            child.kill()
            child.wait()
