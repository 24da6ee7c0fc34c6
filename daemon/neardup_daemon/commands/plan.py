"""`plan`: predict size and cost of an index or a search before it exists."""

from functools import partial

import click

from neardup_daemon.commands.answers import print_answer
from neardup_daemon.commands.options import Count, Number, WholeNumber, is_given, with_json, with_settings
from neardup_daemon.settings.settings import Settings

__all__ = ["plan"]


@click.group(invoke_without_command=True)
@with_settings()
@click.option("--pages", type=Count(), metavar="N", help="Most pages to be kept at once: 500k, 20M, 1.5G.")
@click.option("--rate", type=Count(), default=1_000, show_default=True, metavar="N", help="Pages a second.")
@click.option(
    "--words", type=Count(), default=500, show_default=True, metavar="N", help="Words of an average page."
)
@click.option(
    "--html-bytes",
    type=WholeNumber(0, 10**12),
    default=0,
    metavar="N",
    help="Bytes of its markup; 0 where pages arrive as text.",
)
@click.option(
    "--url-bytes", type=Count(), default=60, show_default=True, metavar="N", help="Bytes of an average URL."
)
@click.option(
    "--near-duplicates",
    type=Number(0, 1),
    default=0.3,
    show_default=True,
    metavar="SHARE",
    help="Share of the pages that are in a cluster with others.",
)
@click.option(
    "--framed",
    type=Number(0, 1),
    default=1.0,
    show_default=True,
    metavar="SHARE",
    help="Share of the pages whose site repeats a frame on them.",
)
@click.option(
    "--recall-at", type=Count(), default=20, show_default=True, metavar="N", help="Edited words of a copy."
)
@click.option(
    "--master-gib",
    type=Number(0.1, 1_000_000),
    default=32.0,
    show_default=True,
    metavar="GIB",
    help="Memory of one Redis master.",
)
@with_json
@click.pass_context
def plan(
    context: click.Context,
    /,
    settings: Settings,
    pages: int | None,
    near_duplicates: float,
    framed: float,
    master_gib: float,
    *,
    as_json: bool,
    **corpus: int,
) -> None:
    """Plan an index: its layout, memory, processor time, machines, recall, and the settings for it.

    Readable on a terminal, one line of JSON otherwise. `plan search` plans the signatures of a term search.

    \b
        neardup-stream plan --pages 500M --rate 5000 --words 600 --recall-at 20
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    if (subcommand := context.invoked_subcommand) is not None:
        for option in context.command.params:
            if is_given(option.name or ""):
                raise click.UsageError(
                    f"{option.opts[0]} is not for 'plan {subcommand}': the options of that stand behind it"
                )
        return
    if pages is None:
        raise click.UsageError("say how many pages are to be kept: --pages 20M")
    from neardup_daemon.capacity.planned import Corpus, plan_index  # noqa: PLC0415 - arrays are not for --help
    from neardup_daemon.capacity.report import readable  # noqa: PLC0415 - the same

    planned = Corpus(
        pages=pages,
        linked_share=near_duplicates,
        framed_share=framed,
        master_bytes=master_gib * (1 << 30),
        **corpus,
    )
    facts = plan_index(planned, settings)
    print_answer(facts, partial(readable, planned), as_json=as_json)


@plan.command()
@click.option("--pages", type=Count(), required=True, metavar="N", help="Pages to be searched.")
@click.option(
    "--terms",
    type=Number(0, 10**12, min_open=True),
    required=True,
    metavar="N",
    help="Distinct words of an average page.",
)
@click.option(
    "--slices", type=int, default=8, show_default=True, metavar="N", help="Bits that a word sets: 1 to 64."
)
@click.option(
    "--false-drops",
    type=Number(0, 10**12, min_open=True),
    default=1.0,
    show_default=True,
    metavar="N",
    help="Pages that a search for one word may report though they lack it.",
)
@click.option(
    "--spread",
    type=Number(0, 3),
    default=0.5,
    show_default=True,
    metavar="X",
    help="How much pages differ in length: the standard deviation of the natural logarithm of their words.",
)
@with_json
def search(
    pages: int, terms: float, slices: int, false_drops: float, spread: float, *, as_json: bool
) -> None:
    """Work out the signatures of a term search: their width, their bytes, what lengths do to them.

    Readable on a terminal, one line of JSON otherwise.

    \b
        neardup-stream plan search --pages 741856 --terms 182 --slices 8 --false-drops 1
    """  # noqa: D301 - the backspace makes click keep the line breaks below
    from neardup_daemon.inspect.signature_plans import plan_facts, readable  # noqa: PLC0415 - arrays are not for --help
    from neardup_stream.fingerprints.signatures import SignaturePlan  # noqa: PLC0415 - the same

    facts = plan_facts(SignaturePlan(pages, terms, slices, false_drops), spread)
    print_answer(facts, readable, as_json=as_json)
