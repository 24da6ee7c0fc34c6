"""Generate pages that look alike and are no duplicates: one template, other content.

A finder of near-duplicates that is led by the template takes them for copies, which is the mistake they are
here to provoke. Nothing on the list of known relations mentions them.
"""

from dataclasses import dataclass

from neardup_daemon.demo.sample_crawl.articles import write_sentence
from neardup_daemon.demo.sample_crawl.dice import Dice
from neardup_daemon.demo.sample_crawl.lexicon import Lexicon
from neardup_daemon.demo.sample_crawl.sites import Site, site_html

__all__ = ["Template", "build_template", "event_list_html", "product_html"]

SHARED_SENTENCES = 2
PRODUCT_PROPERTIES = 6
PRODUCT_SENTENCES = (8, 14)
EVENTS_A_LIST = (8, 14)
SENTENCE_WORDS = 14


@dataclass(frozen=True, slots=True)
class Template:
    """What all pages of one template share beside the site's chrome.

    Attributes:
        site: whose pages they are.
        labels: left column of a product's table.
        notice: the sentences about delivery, tickets or returns under every page.
    """

    site: Site
    labels: tuple[str, ...]
    notice: str


def build_template(site: Site, dice: Dice) -> Template:
    """Invent a template for a site."""
    labels = tuple(dice.picks(site.lexicon.words, PRODUCT_PROPERTIES))
    return Template(site, labels, _sentences(site.lexicon, SHARED_SENTENCES, dice))


def product_html(template: Template, dice: Dice) -> str:
    """Return one product: a name, a table of its properties, a description."""
    lexicon = template.site.lexicon
    name = _phrase(lexicon, 3, dice)
    rows = "".join(
        f"<tr><th>{label}</th><td>{_phrase(lexicon, 2, dice)} {dice.between(1, 900)}</td></tr>"
        for label in template.labels
    )
    description = _sentences(lexicon, dice.between(*PRODUCT_SENTENCES), dice)
    content = (
        f"<h1>{name}</h1>\n<p>{dice.between(2, 400)},{dice.between(10, 99)} €</p>\n<table>{rows}</table>\n"
        f"<p>{description}</p>\n<p>{template.notice}</p>"
    )
    return site_html(name, content, template.site)


def event_list_html(template: Template, dice: Dice) -> str:
    """Return the events of one town: for each a name, a date, an hour, a place and a sentence."""
    lexicon = template.site.lexicon
    town = _phrase(lexicon, 2, dice)
    events = "".join(
        f"<h2>{_phrase(lexicon, 3, dice)}</h2>\n"
        f"<p>2026-{dice.between(4, 9):02}-{dice.between(1, 28):02}, {dice.between(9, 21)}:30, "
        f"{_phrase(lexicon, 2, dice)}. {_sentences(lexicon, 1, dice)}</p>\n"
        for _ in range(dice.between(*EVENTS_A_LIST))
    )
    return site_html(town, f"<h1>{town}</h1>\n{events}<p>{template.notice}</p>", template.site)


def _phrase(lexicon: Lexicon, word_count: int, dice: Dice) -> str:
    return lexicon.grammar.space.join(dice.picks(lexicon.words, word_count))


def _sentences(lexicon: Lexicon, count: int, dice: Dice) -> str:
    sentences = (
        write_sentence(tuple(dice.picks(lexicon.urn, SENTENCE_WORDS)), lexicon.grammar) for _ in range(count)
    )
    return "".join(sentences).rstrip()
