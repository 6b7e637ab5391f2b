"""Measures us and pi 1.6.0 under Node on large session files: `make bench`.

Each figure is the median of some rounds, in fresh processes, us and pi in turn. The time that
programs take to start and to import is left out on both sides.
"""

import argparse
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.figures import Table
from tests.bench.listing import measure_listing
from tests.bench.load import load_text, measure_load
from tests.bench.measuring import compare_sizes, measure

SIZES = (10_000, 100_000)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--entries", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--appends", type=int, default=400, help="appends measured in a round")
    parser.add_argument("--requests", type=int, default=2_000, help="the same, of a load")
    parser.add_argument("--files", type=int, default=300, help="sessions of a list")
    parser.add_argument("--json", action="store_true", help="print all values of all rounds")
    options = parser.parse_args()
    tables: list[Table] = []
    for entries in options.entries:
        tables.append(measure(entries, options.rounds, options.appends))
        if not options.json:
            print(tables[-1].text(), end="\n\n", flush=True)
    if len(tables) > 1:
        across = compare_sizes(tables[0], tables[-1])
        tables.append(Table("the largest file beside the smallest", [across]))
        if not options.json:
            print(tables[-1].text().replace("pi 1.6.0", "smallest"), end="\n\n")
    tables.append(measure_listing(options.files, options.rounds))
    if not options.json:
        print(tables[-1].text(), end="\n\n", flush=True)
    tables.append(measure_load(options.rounds, options.requests))
    if not options.json:
        print(load_text(tables[-1]), end="\n\n")
    load = os.getloadavg()[0]
    if options.json:
        plain = [table.plain() for table in tables]
        print(json.dumps({"load": load, "cores": os.cpu_count(), "tables": plain}, indent=2))
    else:
        print(f"Medians of {options.rounds} rounds; load {load:.1f} on {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
