"""Generate the sites of a crawl, and addresses on them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from neardup_daemon.demo.sample_crawl.dice import Dice
from neardup_daemon.demo.sample_crawl.grammars import GRAMMARS
from neardup_daemon.demo.sample_crawl.lexicon import Lexicon, build_lexicon
from neardup_daemon.demo.sample_crawl.sites import Site, build_site

__all__ = ["World", "build_world"]

LATIN_SITES, OTHER_SITES = 4, 2
"""Sites of each language: at least two, so that every article can have a mirror."""


@dataclass(frozen=True, slots=True)
class World:
    """Everything that exists before the first page.

    Attributes:
        dice: every later choice comes from here, in one order.
        names: words in ASCII letters, for paths.
        sites: all of them.
    """

    dice: Dice
    names: Lexicon
    sites: Sequence[Site]
    _numbers: Iterator[int] = field(default_factory=lambda: count(100))

    def new_url(self, site: Site) -> str:
        """Return an address on the site that no other page has."""
        first, second = self.dice.picks(self.names.words, 2)
        return f"https://{site.host}/{first}-{second}-{next(self._numbers)}"

    def another_site(self, site: Site) -> Site:
        """Return a different site in the same language."""
        others = [other for other in self.sites if other.lexicon is site.lexicon and other is not site]
        return self.dice.pick(others)


def build_world(dice: Dice) -> World:
    """Invent the languages and the sites.

    Cost: about 40 ms.
    """
    lexicons = [build_lexicon(grammar, dice) for grammar in GRAMMARS]
    names = lexicons[0]
    sites: list[Site] = []
    for lexicon in lexicons:
        site_count = LATIN_SITES if lexicon.grammar.language.endswith("Latn") else OTHER_SITES
        sites += [build_site(lexicon, names, len(sites) + place, dice) for place in range(1, site_count + 1)]
    return World(dice, names, sites)
