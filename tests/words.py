"""Check the wording of code and docs: each concept has one term, and prose is plain English.

`python -m tests.words [PATH…]` prints `file:line: word → what to write` for every word of `AVOIDED` and exits
1 if there is any. `make lint` runs it without paths, which checks every text file of the repository.
Identifiers are checked like prose: `_` and digits separate words.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

_ROOT: Final = Path(__file__).parents[1]
_KINDS: Final = {
    *(".py", ".lua", ".java", ".md", ".txt", ".toml", ".yaml", ".yml", ".xml"),
    *(".conf", ".properties", ".service", ".json", ".svg"),
}
_NAMES: Final = {"Dockerfile", "Makefile", "run"}
_EXAMPLES: Final = {"tests/words.py", "tests/unit/test_words.py"}
"""Files that hold the words to avoid themselves."""


class Term(NamedTuple):
    """Words to avoid.

    Attributes:
        words: separated by spaces, in lower case.
        instead: what to write.
        only: a regular expression; the words are avoided only where it matches with them inside.
        unless: a regular expression; the words are right where it matches with them inside, such as former
            names of settings and metrics that the changelog mentions.
    """

    words: str
    instead: str
    only: str = ""
    unless: str = ""


AVOIDED: Final = (
    # Pages, processes and servers do not talk, listen, die, or go places; actors have names.
    Term(
        "speak speaks spoke speaking speaker speakers", "be the representative of", unless="speaks for others"
    ),
    Term("tell tells told telling", "publish, report, return; distinguish", unless=r"\w+\.tell"),
    Term("whoever nobody somebody anybody", "name the actor: the consumer, no daemon, another daemon"),
    Term("away", "unavailable; removed", unless="(right|straight) away"),
    Term("astray", "redelivered, late"),
    Term("back", "is retried, is redelivered", only="(comes?|came|coming|goes) back"),
    Term("goes", "is removed, expires; is sent"),
    Term(
        "go",
        "remove, expire, release",
        only="((lets?|letting)( [a-z]+){0,4}|is|are) go",
        unless="(lets?|letting)( [a-z]+){0,4} go on",
    ),
    Term("hand", "retained", only="(at|in) hand"),
    Term("way", "in flight", only="under way"),
    Term("mend mends mended mending", "repair"),
    # Private names of standard concepts.
    Term("grave graves buried bury burial", "tombstone", unless="grave seconds"),
    Term("ghost ghosts", "stale candidate"),
    Term("crowd crowds crowded crowding", "oversized bucket"),
    Term("parcel parcels", "batch output"),
    Term("turnstile turnstiles", "page lock"),
    Term("gathering", "gather_all"),
    Term("judgement judgements", "batch processing; comparison"),
    Term("handover handovers", "representative change"),
    Term("zombie zombies", "paused process"),
    Term("climate climates", "fault profile"),
    Term("unmoved", "optimistic retry, retry_on_conflict"),
    Term("patience", "retry policy"),
    Term("up", "retry deadline", only="giv(e|es|ing) up", unless="give up seconds"),
    Term("behind", "seek_past", only="go on behind"),
    Term("away", "revoke, revoked", only="(give|gives|giving|given) away"),
    Term("hush", "silence_library_logs"),
    Term("wake wakes woke", "resume", only="(wake|wakes|woke) up"),
    Term("befall befalls befell", "is injected, happens to"),
    Term("strangers", "untrusted input, clients", only="(what|pages of) strangers"),
    Term("heir heirs", "successor, next representative"),
    Term("still", "is paused, is blocked, has stalled", only="(stands?|stood|standing) still"),
    Term("nothing", "is rejected", only="(come|comes|came) to nothing"),
    Term("unlike", "below_threshold", only="reason=[\"']unlike[\"']"),  # not the verdict of `explain`
    Term("readstooold", "StaleRead"),
    Term("clusternode", "PageVersion", unless=r"import clusternode|\[clusternode"),  # of redis-py
    Term("beginnings", "start offsets", only="kafka beginnings"),
    Term("silence", "idle check", only="kafka silence"),
    Term("safeguard safeguards", "broken variant", only="safeguards? off"),
    Term("rest rests", "suffix", only="rests? of (a|the) (permuted|fingerprint|word|member)"),
    Term("found founded founding", "create an index", only="found(s|ed|ing)? (an|the) index"),
    Term("settled", "already decided", only="settled (page|record|offset|position)s?"),
)
"""Words and phrases that code and docs avoid, with the ones to write."""

_WORD: Final = re.compile("[a-z]+")
_BY_WORD: Final[dict[str, list[Term]]] = {}
for _term in AVOIDED:
    for _word in _term.words.split():
        _BY_WORD.setdefault(_word, []).append(_term)


class Finding(NamedTuple):
    """A word to avoid in a file."""

    path: Path
    line: int
    word: str
    instead: str

    def __str__(self) -> str:
        """Return the finding as a line that editors can jump to."""
        return f"{self.path.relative_to(_ROOT)}:{self.line}: {self.word} → {self.instead}"


def findings(path: Path) -> Iterator[Finding]:
    """Yield the words to avoid of one file, in order; line 0 is its path."""
    name = path.relative_to(_ROOT) if path.is_relative_to(_ROOT) else path.name
    text = f"{name}\n{path.read_text(encoding='utf-8')}".lower()
    if _BY_WORD.keys().isdisjoint(_WORD.findall(text)):
        return
    for found in _WORD.finditer(text):
        for term in _BY_WORD.get(found.group(), ()):
            if not _is_around(term.unless, found, default=False) and _is_around(
                term.only, found, default=True
            ):
                yield Finding(path, text.count("\n", 0, found.start()), found.group(), term.instead)


def _is_around(phrase: str, word: re.Match[str], *, default: bool) -> bool:
    """Return whether a phrase matches with the word inside; `default` for an empty phrase.

    Underscores and hyphens, and a line end with the indentation and the `#` of a comment, count as a space.
    """
    if not phrase:
        return default
    before, after = (
        re.sub(r"[-_]|\s+(# )?", " ", part)
        for part in (word.string[max(word.start() - 60, 0) : word.start()], word.string[word.start() :][:60])
    )
    return any(
        match.start() <= len(before) < match.end()
        for match in re.finditer(f"(?<![a-z])(?:{phrase})(?![a-z])", before + after)
    )


def checked_files() -> list[Path]:
    """Return the text files of the repository, except those with examples of words to avoid, sorted."""
    listed = subprocess.run(
        ("git", "ls-files", "--cached", "--others", "--exclude-standard"),
        cwd=_ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\n")
    paths = (_ROOT / name for name in listed if name not in _EXAMPLES)
    return sorted(path for path in paths if path.suffix in _KINDS or path.name in _NAMES)


def main(paths: Iterable[str]) -> int:
    """Print all findings; return 1 if there are any, else 0."""
    files = [Path(path).resolve() for path in paths] or checked_files()
    every = [finding for path in files for finding in findings(path)]
    sys.stdout.writelines(f"{finding}\n" for finding in every)
    return min(len(every), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
