"""Fuzz: `python -m tests.fuzz --seconds 600 --target markup`.

Prints each finding, and keeps its input in `.cache/fuzz`; `python -m tests.fuzz --input FILE --target markup`
tries one again. Exits with 1 if anything was found. Inputs that only the limits of their process stopped are
reported as well: they harm nothing, and the scan of markup may learn of their kind.
"""

import argparse
import hashlib
import random
import secrets
import sys
import time
from pathlib import Path

from tests.fuzz.mutations import mutated
from tests.fuzz.oracles import Backstop, Finding, Target
from tests.fuzz.targets import TARGETS

FINDINGS = Path(".cache/fuzz")


def fuzz(name: str, target: Target, rng: random.Random, seconds: float) -> tuple[int, int]:
    """Return how many inputs were tried and how many broke a promise."""
    end = time.monotonic() + seconds
    tried = found = 0
    while time.monotonic() < end:
        content = mutated(rng, target.corpus.inputs, target.corpus.words)
        tried += 1
        try:
            target.try_out(content)
        except (Finding, Backstop) as finding:
            found += isinstance(finding, Finding)
            FINDINGS.mkdir(parents=True, exist_ok=True)
            path = FINDINGS / f"{name}-{hashlib.sha256(content).hexdigest()[:12]}"
            path.write_bytes(content)
            print(
                f"{path} ({len(content)} bytes): {type(finding).__name__}: {str(finding)[:300]}", flush=True
            )
    return tried, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="in all")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--input", type=Path, help="try this one only")
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)
    targets = {name: TARGETS[name]() for name in chosen.target or TARGETS}
    print(f"seed {chosen.seed}", flush=True)
    found = 0
    for name, target in targets.items():
        with target:
            if chosen.input:
                target.try_out(chosen.input.read_bytes())
                continue
            tried, new = fuzz(name, target, rng, chosen.seconds / len(targets))
        found += new
        print(f"{name}: {tried} inputs, {new} findings", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
