"""Prints a plan of an index for a person, with the reasons for each choice."""

from collections.abc import Iterator
from typing import Final

import click

from neardup_daemon.capacity.layouts import USUAL_FRAMED_SHARE, USUAL_LINKED_SHARE
from neardup_daemon.capacity.planned import FRAME_SHARES, Corpus, IndexPlan
from neardup_daemon.terminal import counted

__all__ = ["readable"]

_GIB: Final = 1 << 30
_MIB: Final = 1 << 20


def readable(corpus: Corpus, plan: IndexPlan) -> str:
    """Return the plan as lines of text."""
    sections = (_layout, _memory, _machines, _recall, _settings)
    lines = [f"{corpus.pages:,} pages of {corpus.words:,} words, {corpus.rate:,g} a second"]
    for section in sections:
        lines += ["", *section(corpus, plan)]
    return "\n".join(lines)


def _layout(_corpus: Corpus, plan: IndexPlan) -> Iterator[str]:
    yield _title("Layout")
    parts = f"{counted(plan.substrings, 'substring')} of {counted(plan.blocks, 'block')}"
    yield f"  {parts}: a probe of a table reads {plan.range_entries:,.1f} entries on average"
    yield "  the least product of time and bytes of Redis for a usual page is taken; index.bucket_cap allows"
    yield "  substrings  blocks  tables  entries read  us a page  bytes a page"
    for each in plan.layouts:
        line = (
            f"  {each.substrings:>10}  {each.blocks:>6}  {each.tables:>6}  {each.range_entries:>12,.1f}"
            f"  {each.redis:>9,.0f}  {each.bytes:>12,.0f}"
        )
        is_taken = (each.substrings, each.blocks) == (plan.substrings, plan.blocks)
        yield click.style(f"{line}  taken", bold=True) if is_taken else line
    yield f"  a usual page: {USUAL_LINKED_SHARE:.0%} in clusters, {USUAL_FRAMED_SHARE:.0%} with a frame"


def _memory(corpus: Corpus, plan: IndexPlan) -> Iterator[str]:
    page = plan.bytes_per_page
    yield _title("Memory of Redis")
    yield f"  tables      {page.tables:>7,.0f} bytes a page"
    yield f"  records     {page.record:>7,.0f}"
    yield f"  clusters    {page.clusters:>7,.0f}"
    yield f"  all         {page.total:>7,.0f} bytes a page; {plan.index_bytes / _GIB:,.2f} GiB"
    yield f"  tombstones {plan.tombstone_bytes / _MIB:>8,.0f} MiB more while pages flow"
    yield f"  assumed: {corpus.linked_share:.0%} of pages in clusters, {corpus.framed_share:.0%} with a frame"


def _machines(corpus: Corpus, plan: IndexPlan) -> Iterator[str]:
    cost, machines = plan.cost, plan.machines
    yield _title("Processors and machines")
    yield f"  Redis       {cost.redis:>7,.0f} us a page, {corpus.rate * cost.redis / 1e6:,.2f} cores busy"
    yield f"  commands    {cost.commands:>7,.0f} a page, {corpus.rate * cost.commands:,.0f} a second"
    yield f"  daemons     {cost.daemon:>7,.0f} us a page, {corpus.rate * cost.daemon / 1e6:,.2f} cores busy"
    yield (
        f"  {machines.masters} Redis {_masters(machines.masters)} of {corpus.master_bytes / _GIB:,.0f} GiB:"
        f" {machines.masters_for_memory} for memory, {machines.masters_for_time} for processor time"
    )
    yield (
        f"  {counted(machines.daemons, 'daemon')}, {counted(machines.partitions, 'partition')} or more,"
        f" {counted(machines.shards, 'shard')}"
    )
    for warning in plan.warnings:
        yield click.style(f"  {warning}", fg="yellow")


def _recall(corpus: Corpus, plan: IndexPlan) -> Iterator[str]:
    yield _title("Recall of edited copies, by the share of a page that is frame")
    yield "  edited words" + "".join(f"{f'{share:.0%} frame':>12}" for share in FRAME_SHARES)
    for row in plan.recall:
        shown = "".join(f"{'-' if each is None else f'{each:.4f}':>12}" for each in row.recalls)
        line = f"  {row.edited_words:>12,}{shown}"
        yield click.style(line, bold=True) if row.edited_words == corpus.recall_at else line


def _settings(_corpus: Corpus, plan: IndexPlan) -> Iterator[str]:
    yield _title("Settings")
    yield "  [index]"
    for name, value in plan.settings.items():
        yield f"  {name.removeprefix('index.')} = {value:_}"
    if plan.machines.masters > 1:
        yield "  [redis]"
        yield '  url = "redis+cluster://redis-1:6379,redis-2:6379"  # of some masters of your Redis Cluster'


def _title(text: str) -> str:
    return click.style(text, bold=True)


def _masters(count: int) -> str:
    return "master" if count == 1 else "masters"
