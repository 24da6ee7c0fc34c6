"""Compute how many bits a term search over so many pages takes, for `plan search`."""

from collections.abc import Iterator

import click
import msgspec

from neardup_stream.fingerprints.signatures import (
    SignaturePlan,
    effect_of_lengths,
    lognormal_lengths,
)

__all__ = ["ClassFacts", "LengthFacts", "PlanFacts", "WidthFacts", "plan_facts", "readable"]

_MIB = 1 << 20


class WidthFacts(msgspec.Struct, frozen=True):
    """A width of signatures.

    Attributes:
        width: bits of a signature.
        false_drops: pages that a search for one term drops falsely, if all pages have as many terms.
        bytes: of all signatures.
    """

    width: int
    false_drops: float
    bytes: int


class ClassFacts(msgspec.Struct, frozen=True):
    """Pages with at least so many terms, and fewer than the next class.

    Attributes:
        least_terms: distinct ones of a page.
        share: of all pages.
        width: bits of a signature.
    """

    least_terms: int
    share: float
    width: int


class LengthFacts(msgspec.Struct, frozen=True):
    """What it does that pages differ in length.

    Attributes:
        spread: standard deviation of the natural logarithm of a page's number of terms.
        one_width_false_drops: with the least width for the average page.
        one_width: that keeps the false drops allowed.
        one_width_bytes: of all signatures with it.
        mean_width: where every class has a width of its own; they keep the false drops allowed.
        bytes: of all signatures in classes.
        classes: half an octave of terms each.
    """

    spread: float
    one_width_false_drops: float
    one_width: int
    one_width_bytes: int
    mean_width: float
    bytes: int
    classes: tuple[ClassFacts, ...]


class PlanFacts(msgspec.Struct, frozen=True):
    """A plan of signatures.

    Attributes:
        pages: N.
        terms: distinct terms of an average page, f / N.
        slices: b, that a search for one term reads.
        false_drops: z, allowed to a search for one term.
        density: p, the share of bits that may be set.
        bits_set: B, by the terms of an average page.
        exact_width: W as the equations give it.
        approximate: W as the integer part of -B / ln(1 - p).
        least: the smallest width that keeps the false drops allowed.
        lengths: what pages of different lengths make of it.
    """

    pages: int
    terms: float
    slices: int
    false_drops: float
    density: float
    bits_set: float
    exact_width: float
    approximate: WidthFacts
    least: WidthFacts
    lengths: LengthFacts


def plan_facts(plan: SignaturePlan, spread: float) -> PlanFacts:
    """Work a plan out."""
    effect = effect_of_lengths(plan, lognormal_lengths(plan.terms, spread))
    return PlanFacts(
        pages=plan.document_count,
        terms=plan.terms,
        slices=plan.slices,
        false_drops=plan.false_drops,
        density=plan.density,
        bits_set=plan.marks,
        exact_width=plan.exact_width,
        approximate=_width_facts(plan, plan.approximate_width),
        least=_width_facts(plan, plan.least_width),
        lengths=LengthFacts(
            spread=spread,
            one_width_false_drops=effect.one_width_drops,
            one_width=effect.one_width,
            one_width_bytes=plan.bytes_of(effect.one_width),
            mean_width=effect.mean_width,
            bytes=round(effect.mean_width * plan.document_count / 8),
            classes=tuple(ClassFacts(each.least_terms, each.share, each.width) for each in effect.classes),
        ),
    )


def readable(facts: PlanFacts) -> str:
    """Return the same as text for a person."""
    return "\n".join(_lines(facts))


def _lines(facts: PlanFacts) -> Iterator[str]:
    yield click.style(
        f"{facts.pages:,} pages of {facts.terms:g} terms, {facts.slices} slices a term,"
        f" false drops: {facts.false_drops:g}",
        bold=True,
    )
    approximate, least, lengths = facts.approximate, facts.least, facts.lengths
    yield f"  p = (z / N)^(1 / b)             {facts.density:.3f}        exactly {facts.density:.5f}"
    yield f"  B = b * terms                   {facts.bits_set:,.0f}"
    yield f"  W = 1 / (1 - (1 - p)^(1 / B))   {approximate.width:,}        exactly {facts.exact_width:,.2f}"
    yield f"  signatures                      {_size(approximate)}"
    yield (
        f"  {approximate.width:,} is the integer part of -B / ln(1 - p) and drops"
        f" {approximate.false_drops:.4f} pages;"
    )
    yield f"  the smallest width that drops no more than {facts.false_drops:g} is {least.width:,}."
    yield ""
    yield (
        f"Pages differ in length (lognormal, standard deviation of ln {lengths.spread:g}), and long ones drop"
        " most:"
    )
    yield (
        f"  one width {least.width:>9,} bits   {lengths.one_width_false_drops:>9,.1f} false drops"
        f"   {least.bytes / facts.pages:>7,.0f} bytes a page"
    )
    yield (
        f"  one width {lengths.one_width:>9,} bits   {facts.false_drops:>9,.1f} false drops"
        f"   {lengths.one_width_bytes / facts.pages:>7,.0f} bytes a page"
    )
    yield (
        f"  classes   {lengths.mean_width:>9,.0f} bits   {facts.false_drops:>9,.1f} false drops"
        f"   {lengths.bytes / facts.pages:>7,.0f} bytes a page"
    )
    for each in lengths.classes:
        yield f"    from {each.least_terms:>6,} terms  {each.share:>7.2%} of pages  {each.width:>9,} bits"


def _size(width: WidthFacts) -> str:
    return f"{width.bytes:,} bytes ({width.bytes / _MIB:,.0f} MiB)"


def _width_facts(plan: SignaturePlan, width: int) -> WidthFacts:
    return WidthFacts(width, plan.false_drops_of(width), plan.bytes_of(width))
