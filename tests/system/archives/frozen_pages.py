"""The pages of an archive, and what commands print of it."""

import json
from typing import Any

from tests.pipelines import essay, page_json
from tests.system.conftest import call

__all__ = ["PAGES", "json_of"]

PAGES = [page_json(str(n), essay(n)) for n in range(30)]


def json_of(*words: str, stdin: bytes = b"") -> Any:
    run = call(*words, stdin=stdin)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)
