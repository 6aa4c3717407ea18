#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins what fanin-perf-ranks --json wrote into one file of results, and prints a table for docs/over_ranks.md.

usage: table.py OUT.json META.json RUN.json...

META.json says of what the runs are: {"host": ..., "mpi": ..., "commit": ..., "date": ...}.
"""
import json
import sys
from pathlib import Path

NAMES = [
    "loop, MPI_Allreduce",
    "Kokkos, MPI_Allreduce",
    "integer vectors, two MPI_Allreduce",
    "fanin sum",
    "fanin exact_sum",
]


def main(out, meta, paths):
    runs = [json.loads(Path(path).read_text(encoding="utf-8")) for path in paths]
    runs.sort(key=lambda run: (run["scaling"] == "strong", run["elements"] * run["ranks"] ** (run["scaling"] == "strong"), run["ranks"]))
    lines = ",\n ".join(json.dumps(run) for run in runs)
    Path(out).write_text(f'{{"meta": {json.dumps(json.loads(Path(meta).read_text(encoding="utf-8")))},\n'
                         f'"runs": [\n {lines}\n]}}\n', encoding="utf-8")
    print("| doubles of a rank, ranks | " + " | ".join(NAMES) + " |")
    print("| --- |" + " --- |" * len(NAMES))
    for run in runs:
        cells = " | ".join(f"{run['medians'][name]:.3g}" if name in run["medians"] else "" for name in NAMES)
        of = f"{run['elements'] * run['ranks']} in all" if run["scaling"] == "strong" else run["elements"]
        print(f"| {of}, {run['ranks']} | {cells} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]) if len(sys.argv) > 3 else __doc__)
