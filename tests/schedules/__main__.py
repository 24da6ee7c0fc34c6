"""Repeats a run, or does many new ones.

`python -m tests.schedules 123 --fault-profile slow` prints every call of this run;
`python -m tests.schedules 123 --runs 10000` runs so many, over all fault profiles in turn.
"""

import argparse
import logging
import sys
import time
from collections.abc import Collection, Iterator

from tests.schedules.broken import BROKEN
from tests.schedules.run import run
from tests.schedules.shared import Protocol
from tests.schedules.story import FAULT_PROFILES

_PROGRESS_SECONDS = 30.0


def _many(first_seed: int, count: int, fault_profiles: Collection[str], protocol: Protocol) -> Iterator[str]:
    """Yield lines that say what was broken, each with the seed and the fault profile of its run."""
    names = sorted(fault_profiles)
    reported_at = time.monotonic()
    for number in range(count):
        seed, fault_profile = first_seed + number // len(names), names[number % len(names)]
        for line in run(seed, FAULT_PROFILES[fault_profile], protocol).violations:
            yield f'{seed} --fault-profile "{fault_profile}": {line}'
        if time.monotonic() - reported_at > _PROGRESS_SECONDS or number + 1 == count:
            reported_at = time.monotonic()
            _print_line(
                f"{number + 1} of {count} runs, seeds {first_seed} to {seed}, {len(names)} fault profiles"
            )


def _print_line(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - it is a tool


def main() -> int:
    """Run what the arguments ask for; return 1 if an invariant was violated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--fault-profile", choices=FAULT_PROFILES, help="usual, or with --runs all")
    parser.add_argument("--broken", choices=BROKEN, help="a variant of the protocol without one of its parts")
    parser.add_argument("--runs", type=int, help="of the seeds from this one on")
    chosen = parser.parse_args()
    protocol = BROKEN[chosen.broken] if chosen.broken else Protocol()
    if chosen.runs is None:
        found = run(
            chosen.seed, FAULT_PROFILES[chosen.fault_profile or "usual"], protocol, _print_line
        ).violations
        for line in found:
            _print_line(line)
        return int(bool(found))
    logging.disable()  # daemons log their faults
    broken_count = 0
    for line in _many(
        chosen.seed, chosen.runs, [chosen.fault_profile] if chosen.fault_profile else FAULT_PROFILES, protocol
    ):
        _print_line(line)
        broken_count += 1
    _print_line(f"{broken_count} violations")
    return int(bool(broken_count))


if __name__ == "__main__":
    sys.exit(main())
