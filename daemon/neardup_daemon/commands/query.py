"""`query`: find the stored pages that a page matches."""

from pathlib import Path

import click

from neardup_daemon.commands.answers import print_answer
from neardup_daemon.commands.options import with_json, with_settings, with_state
from neardup_daemon.settings.settings import Settings

__all__ = ["query"]


@click.command()
@with_settings("redis.url", "redis.namespace")
@with_state
@with_json
@click.argument("page", metavar="PAGE")
def query(settings: Settings, page: str, state_dir: Path | None, *, as_json: bool) -> None:
    """Show what a page matches, and its cluster, without storing anything.

    PAGE is the id or URL of a stored page, or - for a page as JSON on standard input. A URL finds pages
    that have no id of their own. Readable on a terminal, one line of JSON otherwise.

    \b
        neardup-stream query https://example.com/news --state ./index
        head -1 crawl.jsonl | neardup-stream query - --config neardup.toml
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    from neardup_daemon.inspect.querying import query_page, readable  # noqa: PLC0415 - Redis is not for --help

    answer = query_page(page, settings, state_dir)
    print_answer(answer, readable, as_json=as_json)
