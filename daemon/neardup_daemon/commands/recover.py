"""`recover`: rebuild an index that lost decisions, from the topics."""

import asyncio
from typing import TYPE_CHECKING

import click

from neardup_daemon.commands.options import with_settings
from neardup_daemon.progress import count_progress
from neardup_daemon.settings.settings import Settings
from neardup_daemon.stopping import Stopped, unless_stopped
from neardup_daemon.terminal import counted, printable

if TYPE_CHECKING:
    from neardup_daemon.repair.recovering import Recovered

__all__ = ["recover"]

_SHOWN = 10


@click.command()
@with_settings("kafka.bootstrap_servers", "redis.url", "redis.namespace", has_logs=True)
@click.option(
    "--accept-loss",
    "accepts_loss",
    is_flag=True,
    help="Also where the pages topic has fewer records than Redis has pages.",
)
def recover(settings: Settings, *, accepts_loss: bool) -> int:
    """Build the index anew from the pages topic, and correct what subscribers hold by the events topic.

    For when Redis lost what was decided: it was emptied, an older copy was restored, or a replica took over
    without all writes. Stop all daemons first. Until the end the former index stays as it is, so Redis needs
    room for both. What the topics no longer hold is named; if pages are lost by it that Redis still has, the
    command says so and does nothing without --accept-loss. Frames that 'frames learn' has learned must be
    learned again.

        neardup-stream recover --config neardup.toml
    """
    from neardup_daemon.repair.recovering import recover_index  # noqa: PLC0415 - Kafka and Redis are not for --help

    with count_progress("records") as on_records:
        done = asyncio.run(unless_stopped(recover_index(settings, on_records, accepts_loss=accepts_loss)))
    if isinstance(done, Stopped):
        click.echo(
            "stopped: run it again, from the beginning, unless 'check' finds nothing wrong with the index",
            err=True,
        )
        return done.exit_code
    click.echo(
        f"{counted(done.record_count, 'record')} judged again: {counted(done.page_count, 'page')},"
        f" {counted(done.cluster_count, 'cluster')}; {done.event_count:,} corrections published"
    )
    for number, first in sorted(done.deleted_before.items()):
        click.echo(f"partition {number}: the records before offset {first:,} are gone from the topic")
    topic = settings.kafka.events_topic
    for number, first in sorted(done.events_deleted_before.items()):
        click.echo(f"partition {number} of {topic}: the events before offset {first:,} are gone")
    if done.events_deleted_before:
        click.echo(
            "pages that were in clusters by those alone have a correction only where they are in one now; for"
            " an event of each page run it again with --set events.unique=true --set events.undecided=true"
        )
    if done.unreadable_count:
        click.echo(f"{counted(done.unreadable_count, 'message')} of {topic} could not be read as events")
    if done.waiting_count:
        click.echo(
            f"not committed yet: {counted(done.waiting_count, 'record')}, to be judged by daemons next"
        )
    if done.lost:
        click.echo(
            f"{counted(len(done.lost), 'page')} that subscribers held in clusters, published as undecided"
            " (lost), with no record among those judged again; judged when a daemon reads their next one:"
        )
        for page_id in done.lost[:_SHOWN]:
            click.echo(f"  {printable(page_id)}")
    if not done.is_tidy:
        _say_what_is_left(done)
    return 0


def _say_what_is_left(done: "Recovered") -> None:
    click.echo(
        "keys of former indexes are left, as this user lacks the right +scan; once it is granted, the"
        " next 'recover' removes all of them"
    )
    if done.former_keys:
        click.echo("or another user removes those of the index that was replaced:")
        scan = f"redis-cli --scan --pattern '{done.former_keys}'"
        click.echo(f"  {scan} | tr '\\n' '\\0' | xargs -0 -n 1000 redis-cli unlink")
        click.echo("in a cluster on every master, key by key (docs/upgrading.md)")
