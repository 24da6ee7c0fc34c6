"""Live one run again: `python -m tests.schedules 123 --climate slow` tells every call that is made in it."""

import argparse

from tests.schedules.broken import BROKEN
from tests.schedules.daemon import Protocol
from tests.schedules.run import run
from tests.schedules.story import CLIMATES

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("seed", type=int)
parser.add_argument("--climate", choices=CLIMATES, default="usual")
parser.add_argument("--broken", choices=BROKEN, help="with this safeguard off")
chosen = parser.parse_args()
protocol = BROKEN[chosen.broken] if chosen.broken else Protocol()
for line in run(chosen.seed, CLIMATES[chosen.climate], protocol, print).violations:
    print(line)  # noqa: T201 - it is a tool
