"""Renders the report of a run over files as one HTML page that loads nothing and runs nothing."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from html import escape
from typing import Final, NamedTuple

from neardup_daemon.inspect.word_changes import WORD
from neardup_daemon.reports.findings import MEMBERS_SHOWN, Example, Findings
from neardup_daemon.terminal import counted, printable
from neardup_stream.message import Position
from neardup_stream.meters import Outcome
from neardup_stream.version import __version__

__all__ = ["Run", "render_report"]

HOSTS_SHOWN: Final = 50
WORDS_SHOWN: Final = 400
"""Of each text of an example, from its beginning."""

CONTEXT_WORDS: Final = 10
"""Of a stretch that both texts have, at either end; what is between is left out."""

_SPACES: Final = re.compile(r"[ \t\r\n]+")

_STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem }
:root { color-scheme: light dark }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { padding: .2rem .8rem; text-align: left; vertical-align: top }
thead th { border-bottom: 2px solid } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem } .pair > div { overflow-wrap: anywhere }
ins, del { text-decoration: none; padding: 0 .1em; border-radius: .2em }
ins { background: #1a7f3733; border-bottom: 2px solid #1a7f37 }
del { background: #cf222e33; border-bottom: 2px dashed #cf222e }
code { overflow-wrap: anywhere }
"""


class Run(NamedTuple):
    """What the report is about.

    Attributes:
        files: that were read.
        outcomes: records by outcome.
        seconds: that it took.
        is_complete: whether every file was read to its end.
    """

    files: Sequence[str]
    outcomes: Mapping[Outcome, int]
    seconds: float
    is_complete: bool


def render_report(run: Run, findings: Findings, texts: Mapping[Position, str]) -> str:
    """Return the page.

    Args:
        run: that ended.
        findings: of it.
        texts: of the versions that examples compare, by position, where they could be read again.
    """
    body = "\n".join((*_summary(run), *_hosts(findings), *_clusters(findings), *_examples(findings, texts)))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>Near-duplicates: {_escaped(", ".join(run.files))}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>Near-duplicates</h1>
{body}
</body>
</html>
"""


def _escaped(text: object) -> str:
    """Return text as markup that shows it: what a browser would obey or hide is spelled out."""
    return escape(printable(text))


def _summary(run: Run) -> Iterator[str]:
    records = sum(run.outcomes.values())
    files = ", ".join(f"<code>{_escaped(path)}</code>" for path in run.files)
    read = f"{counted(records, 'record')} of {files} in {run.seconds:.1f} s"
    yield f"<p>{read}, by neardup-stream {_escaped(__version__)}.</p>"
    if not run.is_complete:
        yield "<p><strong>The run ended before every file was read to its end.</strong></p>"
    rows = sorted(run.outcomes.items(), key=lambda each: -each[1])
    yield _table(["Outcome", "Records"], [[_escaped(name), f"{count:,}"] for name, count in rows])


def _hosts(findings: Findings) -> Iterator[str]:
    kinds = sorted({kind for _, kind in findings.by_host})
    by_host: Counter[str] = Counter()
    for (host, _), count in findings.by_host.items():
        by_host[host] += count
    if not by_host:
        yield "<p>No page is a near-duplicate of another.</p>"
        return
    yield "<h2>Hosts with most duplicates</h2>"
    yield f"<p>{counted(by_host.total(), 'duplicate')} on {counted(len(by_host), 'host')}.</p>"
    rows = [
        [_escaped(host), f"{count:,}", *(f"{findings.by_host[host, kind]:,}" for kind in kinds)]
        for host, count in by_host.most_common(HOSTS_SHOWN)
    ]
    yield _table(["Host", "Duplicates", *kinds], rows)


def _clusters(findings: Findings) -> Iterator[str]:
    if not findings.cluster_sizes:
        return
    yield "<h2>Clusters</h2>"
    sizes = sorted(findings.cluster_sizes.items())
    total = findings.cluster_sizes.total()
    copies = sum((size - 1) * count for size, count in sizes)
    found = f"{counted(total, 'cluster')} of two or more pages in the index after this run"
    yield f"<p>{found}. Who keeps the representative of each leaves {counted(copies, 'page')} out.</p>"
    yield _table(["Pages in a cluster", "Clusters"], [[f"{size:,}", f"{count:,}"] for size, count in sizes])
    yield "<h3>The largest</h3>"
    for row in findings.largest:
        others = [page_id for page_id in row.members if page_id != row.representative]
        shown = "".join(f"<li><code>{_escaped(each)}</code></li>" for each in others[:MEMBERS_SHOWN])
        rest = len(others) - MEMBERS_SHOWN
        more = f"<li>and {rest:,} more</li>" if rest > 0 else ""
        summary = f"{len(row.members):,} pages: <code>{_escaped(row.representative)}</code>"
        yield f"<details><summary>{summary}</summary><ul>{shown}{more}</ul></details>"


def _examples(findings: Findings, texts: Mapping[Position, str]) -> Iterator[str]:
    if not findings.examples:
        return
    yield "<h2>Examples, the most alike first</h2>"
    yield (
        f"<p>The first {WORDS_SHOWN} words of both pages; what only one of them has is marked."
        " Texts that were not read in this run are not shown.</p>"
    )
    for _, example in sorted(findings.examples.items(), reverse=True):
        yield f"<h3>{_escaped(_degree(example))}</h3>"
        first, second = _text_at(example.other_positions, texts), _text_at(example.positions, texts)
        left, right = marked(first, second) if first is not None and second is not None else ("", "")
        sides = ((example.other_id, left), (example.page_id, right))
        yield '<div class="pair">'
        yield from (f"<div><p><code>{_escaped(name)}</code></p><p>{text}</p></div>" for name, text in sides)
        yield "</div>"


def _text_at(positions: Sequence[Position], texts: Mapping[Position, str]) -> str | None:
    return next((texts[position] for position in positions if position in texts), None)


def _degree(example: Example) -> str:
    likeness = "" if example.resemblance is None else f", resemblance {example.resemblance:.2f}"
    return f"{example.kind}{likeness}, {example.distance_bits} of 64 bits differ"


def marked(first: str, second: str) -> tuple[str, str]:
    """Return the beginnings of two texts as markup, with the words marked that only one of them has."""
    old, new = (WORD.findall(_SPACES.sub(" ", text))[:WORDS_SHOWN] for text in (first, second))
    left: list[str] = []
    right: list[str] = []
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            same = _escaped(_shortened(old[start:end]))
            left.append(same)
            right.append(same)
            continue
        if start < end:
            left.append(f"<del>{_escaped(''.join(old[start:end]))}</del>")
        if new_start < new_end:
            right.append(f"<ins>{_escaped(''.join(new[new_start:new_end]))}</ins>")
    return "".join(left), "".join(right)


def _shortened(words: Sequence[str]) -> str:
    if len(words) <= 2 * CONTEXT_WORDS:
        return "".join(words)
    return "".join(words[:CONTEXT_WORDS]).rstrip() + " … " + "".join(words[-CONTEXT_WORDS:])


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose first column is text and whose others are numbers."""
    head = "".join(f"<th{_numeric(at)}>{_escaped(each)}</th>" for at, each in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(f"<td{_numeric(at)}>{each}</td>" for at, each in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _numeric(column: int) -> str:
    return ' class="n"' if column else ""
