"""What does an archive of a million pages cost the stream, Kafka through Redis to Kafka?

    python -m benchmarks.archive_stream [--pages 200000] [--archived 1000000] [--rounds 3] [--json]

The daemon takes the same pages in turns without an archive and with one (see `benchmarks.end_to_end`, which
also checks the answers). The keys of the archive are made up, so pages meet them by chance only: one key of
65,536 is taken for a known one. That there are such pages, and few, is checked too.
"""

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
from neardup_daemon.archives import archive_schema
from neardup_daemon.settings.settings import Settings

from benchmarks.archives import SEED, MadePages, build
from benchmarks.end_to_end import measure, print_table

SETTINGS = ["clusters.tombstone_ttl_seconds=1"]


def main() -> None:
    """Build an archive, run both variants in turns, check, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--archived", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="one JSON line instead of the table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "made.nda")
        build(path, MadePages(arguments.archived, np.random.default_rng(SEED)), archive_schema(Settings()))
        variants = {
            "without": SETTINGS,
            "with an archive": [*SETTINGS, f"archive.files={path}"],
        }
        figures = measure(arguments.pages, arguments.rounds, variants)
    asked = figures["with an archive"].archive_candidates
    assert figures["without"].archive_candidates == 0
    assert 0 < asked < arguments.pages / 100, f"{asked} candidates of made-up keys"
    if arguments.json:
        shown = {name: asdict(each) for name, each in figures.items()}
        print(json.dumps({"pages": arguments.pages, "archived": arguments.archived, **shown}))
    else:
        print_table(arguments.pages, figures)


if __name__ == "__main__":
    main()
