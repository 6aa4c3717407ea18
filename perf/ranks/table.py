#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins what fanin-perf-ranks --json wrote into one file of results, and prints a table for docs/over_ranks.md.

usage: table.py OUT.json META.json RUN.json...

META.json says of what the runs are: {"host": ..., "mpi": ..., "commit": ..., "date": ...}. In the file a row is the
scaling, how many ranks, the doubles of a rank (weak) or of all (strong), and medians in us, null where there is none.
"""
import json
import sys
from pathlib import Path

ARRAYS = [
    "loop, MPI_Allreduce",
    "Kokkos, MPI_Allreduce",
    "integer vectors, two MPI_Allreduce",
    "fanin sum",
    "fanin exact_sum",
]
MESSAGES = [
    "MPI_Allreduce of a double",
    "MPI_Allreduce of 576 bytes",
    "MPI_Iallreduce of 576 bytes, MPI_Wait",
    "fanin sum, async",
]


def shown(time):
    return "" if time is None else f"{time:.3g}" if time < 1000 else f"{time:.0f}"


def main(out, meta, paths):
    columns = ["scaling", "ranks", "doubles", *ARRAYS, *MESSAGES]
    rows = []
    for path in paths:
        run = json.loads(Path(path).read_text(encoding="utf-8"))
        doubles = run["elements"] * (run["ranks"] if run["scaling"] == "strong" else 1)
        rows.append([run["scaling"], run["ranks"], doubles, *(run["medians"].get(name) for name in columns[3:])])
    rows.sort(key=lambda row: (row[0] == "strong", row[2], row[1]))
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    Path(out).write_text(f'{{"meta": {json.dumps(json.loads(Path(meta).read_text(encoding="utf-8")))},\n'
                         f'"columns": {json.dumps(columns)},\n"rows": [\n{lines}\n]}}\n', encoding="utf-8")
    print("| doubles, ranks | " + " | ".join(ARRAYS) + " |")
    print("| --- |" + " --- |" * len(ARRAYS))
    for scaling, ranks, doubles, *times in rows:
        print(f"| {doubles} {'in all' if scaling == 'strong' else 'a rank'}, {ranks} | "
              + " | ".join(shown(time) for time in times[:len(ARRAYS)]) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]) if len(sys.argv) > 3 else __doc__)
