"""Follow the events topic, for `tail`."""

import secrets
import sys
from asyncio import CancelledError
from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

import click
import msgspec

from neardup_daemon.kafka_wiring import kafka_source
from neardup_daemon.settings.settings import Settings
from neardup_daemon.standard_streams import discard
from neardup_daemon.stopping import Stop
from neardup_daemon.terminal import print_json, printable
from neardup_stream.cut_short import in_thread
from neardup_stream.errors import CorruptData
from neardup_stream.events import EVENT_NAMES
from neardup_stream.message import Partition, Record
from neardup_stream.pipeline.offsets import next_offsets, not_below
from neardup_stream.wire.events import CloudEvent, from_message

__all__ = ["Follow", "follow_events", "readable"]

_BATCH_RECORDS = 500
_BATCH_BYTES = 8 << 20
_MATCHES_SHOWN = 3


class Follow(NamedTuple):
    """What to follow and for how long.

    Attributes:
        from_start: begin with the oldest event that is kept.
        max_events: stop after so many, None for no end.
        idle_seconds: stop once the end of every partition was reached and nothing came for so long, None for
            no end. A partition without a leader has none.
        is_readable: a few colored lines an event instead of one line of JSON.
    """

    from_start: bool
    max_events: int | None
    idle_seconds: float | None
    is_readable: bool


async def follow_events(follow: Follow, settings: Settings) -> int:
    """Print events until a signal or a limit ends it; return the exit code.

    A follower is a consumer group of its own, so it takes no partition from another consumer. Where it has to
    join its group again, it begins at its last commit, and leaves out what it printed since then.

    Raises:
        StreamUnavailable: Kafka cannot be reached.
        ConfigError: there is no such topic, or it may not be read.
    """
    stop = Stop()
    left = follow.max_events
    printed: dict[Partition, int] = {}
    source = kafka_source(
        settings,
        settings.kafka.events_topic,
        group_id=f"{settings.kafka.group_id}-tail-{secrets.token_hex(4)}",
        first_start="earliest" if follow.from_start else "latest",
    )
    with stop.on_signals():
        async with source:
            last_event = monotonic()
            stop.is_watched = True
            while not stop.requested.is_set() and left != 0:
                read = await source.read(min(_BATCH_RECORDS, left or _BATCH_RECORDS), _BATCH_BYTES)
                records = not_below(read, printed)
                # Joining the group and the first fetch of each partition take seconds on a busy broker.
                if read or not source.is_at_end():
                    last_event = monotonic()
                if records:
                    left = None if left is None else left - len(records)
                    await _show_all(records, follow)
                    offsets = next_offsets(records)
                    printed |= offsets
                    await source.commit(offsets)
                elif (
                    not read
                    and follow.idle_seconds is not None
                    and monotonic() - last_event >= follow.idle_seconds
                ):
                    break
    return stop.exit_code


async def _show_all(records: Sequence[Record], follow: Follow) -> None:
    """Print events without stopping the event loop while nothing reads them; a second signal ends it."""
    try:
        await in_thread(partial(_show_each, records, follow))
    except CancelledError:
        discard(sys.stdout)  # or the interpreter would wait once more, for the rest of what was printed
        raise


def _show_each(records: Sequence[Record], follow: Follow) -> None:
    for record in records:
        _show(record, follow)


def _show(record: Record, follow: Follow) -> None:
    """Print an event; of a message that is none say so beside what is printed."""
    message = record.message()
    try:
        event = from_message(message)
    except CorruptData as error:
        where = f"partition {record.position.partition.number}, offset {record.position.offset}"
        click.secho(f"{where}: not an event: {printable(error)}", fg="red", err=True)
        return
    if not follow.is_readable:
        print_json(msgspec.json.encode(event))
        return
    try:
        click.echo(readable(event))
    except (KeyError, TypeError, ValueError, AttributeError, msgspec.DecodeError, RecursionError):
        click.secho(f"not an event of ours: {printable(event.type)}", fg="red", err=True)


def readable(event: CloudEvent[msgspec.Raw]) -> str:
    """Return a few lines for a person: what happened to which page, and the best of the pages it matches."""
    data: dict[str, Any] = msgspec.json.decode(event.data)
    name = EVENT_NAMES.get(event.type, event.type.removeprefix("io.neardup."))
    kind = f" ({data['kind']})" if "kind" in data else ""
    lines = [f"{click.style(printable(name + kind), bold=True)}  {printable(_subject(name, data))}"]
    for match in data.get("matches", data.get("containers", ()))[:_MATCHES_SHOWN]:
        figures = click.style(printable(_figures(name, match)), fg="green")
        lines.append(f"  {figures}  {printable(match['url'])}")
    hidden = data.get("matches_total", data.get("containers_total", 0)) - _MATCHES_SHOWN
    if hidden > 0:
        lines.append(click.style(f"  and {hidden:,} more", dim=True))
    return "\n".join(lines)


def _figures(name: str, match: dict[str, Any]) -> str:
    """Return the figures of a match: containments of a contained page, else resemblance and bits."""
    distance = match["distance_bits"]
    bits = f"{distance} bit{'' if distance == 1 else 's'}"
    if "resemblance" not in match:
        return bits
    if name == "contained":
        return f"{match['containment']:.1%} of it, {match['contained_in']:.1%} of"
    return f"{match['resemblance']:.1%} alike, {bits}"


def _subject(name: str, data: dict[str, Any]) -> str:
    """Return the page that an event is about, or the clusters and their representatives."""
    match name:
        case "cluster-merge":
            survivor = data["survivor"]
            kept = survivor["representative"]["url"]
            return f"{data['absorbed']['id']} absorbed into {survivor['id']}; {survivor['id']} keeps {kept}"
        case "representative-changed":
            return f"{data['former']['url']} → {data['representative']['url']}"
        case _:
            return str(data["page"]["url"])
