"""`serve`: the query API."""

import asyncio
import sys
from pathlib import Path

import click

from neardup_daemon.commands.options import with_settings, with_state
from neardup_daemon.logs import configure_logs
from neardup_daemon.settings.settings import Settings

__all__ = ["serve"]


@click.command()
@with_settings("api.host", "api.port", "redis.url", "redis.namespace", "log.level", "log.format")
@with_state
def serve(settings: Settings, state_dir: Path | None) -> int:
    """Answer questions about stored pages and clusters over HTTP.

    Runs alone, or beside daemons that use the same Redis; GET /openapi.json describes every endpoint. It
    listens on this machine only, unless api.host says otherwise, which needs a token or client certificates.
    SIGTERM, SIGINT or SIGHUP stops it.

    \b
        neardup-stream serve --config neardup.toml
        neardup-stream serve --state ./index
        curl 'http://localhost:9465/v1/pages?url=https://example.com/news'
    """  # noqa: D301 - the backspace tells click to leave the lines below it as they are
    configure_logs(settings.log.level, settings.log.format if not sys.stderr.isatty() else "text")
    from neardup_daemon.query_api.service import run_query_service  # noqa: PLC0415 - Redis and Numba load only for a valid run

    return asyncio.run(run_query_service(settings, state_dir))
