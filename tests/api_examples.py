"""The examples of docs/api.md: a curl command, and the answer shown below it."""

import json
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.servers.query_api import Answered, QueryApi

__all__ = ["EXAMPLES", "Example", "shape"]

_PAGE = Path(__file__).parents[1] / "docs" / "api.md"
_COMMAND = re.compile(r"```\n(curl .*)\n```\n(?:\n```json\n([^`]*)```)?")


class Example(NamedTuple):
    """One command and its answer.

    Attributes:
        path: of the URL, with names of parameters in braces.
        query: of the URL.
        body: that is posted; None where nothing is.
        answer: as shown; None where none is.
    """

    path: str
    query: str
    body: bytes | None
    answer: Any

    @property
    def is_deciding(self) -> bool:
        """Whether it needs a daemon and Kafka."""
        return self.path.startswith("/v1/decisions") or (self.path == "/v1/pages" and self.body is not None)

    @property
    def is_recent(self) -> bool:
        """Whether it needs what is on topics."""
        return self.path in {"/v1/merges", "/v1/dead-letters"}

    def ask(self, api: QueryApi, **names: object) -> Answered:
        """Send the command, with values for the names in its path."""
        path = self.path.format(**names) + f"?{self.query}" * bool(self.query)
        return api.get(path) if self.body is None else api.post(path, self.body)


def shape(value: Any) -> Any:
    """Return what a value is made of: names of fields, types, and the shape of a list's first item."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    return [shape(value[0])] if isinstance(value, list) and value else type(value).__name__


def _examples() -> list[Example]:
    found = []
    for command, answer in _COMMAND.findall(_PAGE.read_text(encoding="utf-8")):
        words = shlex.split(command)
        url = urlsplit(next(word for word in words if "://" in word))
        body = words[words.index("-d") + 1].encode() if "-d" in words else None
        found.append(Example(url.path, url.query, body, json.loads(answer) if answer else None))
    return found


EXAMPLES = _examples()
"""In the order of the page."""
