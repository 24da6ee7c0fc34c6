"""The jars of a Kafka broker, fetched with Maven into `.cache/kafka`, and the archive of their classes."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.servers.process import find_program

__all__ = ["KAFKA_FILES", "class_archive", "fetch_jars"]

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "kafka"
KAFKA_FILES = ROOT / "tests" / "data" / "kafka"

FETCH_SECONDS = 600


def fetch_jars() -> Path:
    """Return the directory of jars that `pom.xml` asks for; several processes may ask at once.

    Raises:
        ServerMissing: Maven is needed and not installed.
    """
    pom = KAFKA_FILES / "pom.xml"
    jars = CACHE / hashlib.sha256(pom.read_bytes()).hexdigest()[:16]
    if not jars.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        _publish(_download(pom), jars)
    return jars


def class_archive(java: str) -> Path:
    """Return where a JVM's archive of the broker's classes is, or would be; another JVM has another one."""
    program = Path(java).resolve()
    identity = f"{program} {program.stat().st_mtime_ns}"
    return fetch_jars().with_suffix(f".{hashlib.sha256(identity.encode()).hexdigest()[:16]}.jsa")


def _download(pom: Path) -> Path:
    directory = Path(tempfile.mkdtemp(prefix="fetch-", dir=CACHE))
    maven = [find_program("mvn", package="maven"), "--batch-mode", "--quiet", "--file", str(pom)]
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={directory}"]
    subprocess.run([*maven, *goal], check=True, timeout=FETCH_SECONDS)
    return directory


def _publish(fetched: Path, jars: Path) -> None:
    """Give a complete download its name in one step, so that no process sees half of one."""
    try:
        os.rename(fetched, jars)  # noqa: PTH104 - unlike pathlib's, this line says that it is one system call
    except OSError:  # another process was first
        shutil.rmtree(fetched)
