"""`plan`: how large something will be, before it is made."""

import sys

import click
import msgspec

from neardup_daemon.commands.options import with_json

__all__ = ["plan"]


@click.group()
def plan() -> None:
    """Work out how large something will be, before it is made."""


@plan.command()
@click.option("--pages", type=int, required=True, metavar="N", help="Pages to be searched.")
@click.option("--terms", type=float, required=True, metavar="N", help="Distinct words of an average page.")
@click.option(
    "--slices", type=int, default=8, show_default=True, metavar="N", help="Bits that a word sets: 1 to 64."
)
@click.option(
    "--false-drops",
    type=float,
    default=1.0,
    show_default=True,
    metavar="N",
    help="Pages that a search for one word may report though they lack it.",
)
@click.option(
    "--spread",
    type=click.FloatRange(min=0, max=3),
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

        neardup-stream plan search --pages 741856 --terms 182 --slices 8 --false-drops 1
    """
    from neardup_daemon.inspect.signature_plans import plan_facts, readable  # noqa: PLC0415 - arrays are not for --help
    from neardup_stream.fingerprints.signatures import SignaturePlan  # noqa: PLC0415 - the same

    facts = plan_facts(SignaturePlan(pages, terms, slices, false_drops), spread)
    if sys.stdout.isatty() and not as_json:
        click.echo(readable(facts))
    else:
        click.echo(msgspec.json.encode(facts).decode())
