"""The settings that error messages and log lines name exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from neardup_daemon.settings.known import known_settings
from neardup_daemon.settings.settings import Settings

ROOT = Path(__file__).parents[3]
SETTINGS = frozenset(known_settings(Settings))
SECTIONS = frozenset(name.partition(".")[0] for name in SETTINGS)
FILES = {"redis.conf"}
NAME = re.compile(rf"(?<![\w./-])({'|'.join(sorted(SECTIONS))})\.[a-z]\w*[a-z](?![\w.(])")


def messages(path: Path) -> Iterator[str]:
    """Yield the texts of all errors that a file raises."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def test_the_settings_that_errors_name_exist() -> None:
    named = {
        name[0]: path.name
        for folder in ("neardup_stream", "daemon")
        for path in (ROOT / folder).rglob("*.py")
        for message in messages(path)
        for name in NAME.finditer(message)
    }

    assert len(named) > 30
    assert {name: path for name, path in named.items() if name not in SETTINGS | FILES} == {}
