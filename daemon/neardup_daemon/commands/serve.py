"""`serve`: start the query API."""

import asyncio
from pathlib import Path

import click

from neardup_daemon.commands.options import with_settings, with_state
from neardup_daemon.settings.settings import Settings

__all__ = ["serve"]


@click.command()
@with_settings(
    "api.host", "api.port", "redis.url", "redis.namespace", "log.level", "log.format", has_logs=True
)
@with_state
@click.option(
    "--wait",
    "waits_for_index",
    is_flag=True,
    help="Wait, live but not ready, while Redis is unavailable or nothing is stored; for supervisors that"
    " start all processes at once.",
)
def serve(settings: Settings, state_dir: Path | None, *, waits_for_index: bool) -> int:
    """Answer questions about stored pages and clusters over HTTP.

    Runs alone, or beside daemons that use the same Redis; GET /openapi.json describes every endpoint. It
    listens on this machine only, unless api.host says otherwise, which needs a token or client certificates.
    SIGTERM, SIGINT or SIGHUP stops it.

    \b
        neardup-stream serve --config neardup.toml
        neardup-stream serve --state ./index
        curl 'http://localhost:9465/v1/pages?url=https://example.com/news'
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    if waits_for_index and state_dir is not None:
        raise click.UsageError("--wait is for the Redis of redis.url; a directory of --state has its index")
    from neardup_daemon.forked_workers import forked_query_worker  # noqa: PLC0415 - Redis and Numba load only for a valid run
    from neardup_daemon.query_api.service import run_query_service  # noqa: PLC0415 - the same

    with forked_query_worker(settings) as forked:
        return asyncio.run(run_query_service(settings, state_dir, forked, waits_for_index=waits_for_index))
