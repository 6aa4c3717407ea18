#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws time over ranks, of a file of results that table.py made: a panel for each number of elements, of a rank or in
all.

usage: chart.py RESULTS.json OUT.svg|OUT.png
"""

import io
import json
import re
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "fanin"
matplotlib.rcParams["svg.fonttype"] = "none"
matplotlib.rcParams["font.sans-serif"] = ["DejaVu Sans", "Verdana"]
import matplotlib.pyplot as plt  # noqa: E402  the backend is chosen first
from PIL import Image  # noqa: E402

# By the names that fanin-perf-ranks gives.
STYLES = {
    "fanin sum": ("#0072b2", "o", "-"),
    "fanin exact_sum": ("#0072b2", "s", "--"),
    "loop, MPI_Allreduce": ("#d55e00", "^", "-"),
    "Kokkos, MPI_Allreduce": ("#009166", "v", "-"),
    "integer vectors, two MPI_Allreduce": ("#b85c94", "D", "--"),
}


def power(n):
    return f"2^{n.bit_length() - 1}" if n > 1 and n & (n - 1) == 0 else str(n)


def main(results, out):
    stored = json.loads(Path(results).read_text(encoding="utf-8"))
    panels = defaultdict(list)
    for row in stored["rows"]:
        run = dict(zip(stored["columns"], row))
        panels[run["scaling"] == "strong", run["doubles"]].append(run)
    panels = {key: sorted(runs, key=lambda run: run["ranks"]) for key, runs in sorted(panels.items()) if len(runs) > 1}
    columns = 3
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(13, 3.6 * rows), layout="constrained", squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, ((strong, of), runs) in zip(axes.flat, panels.items()):
        ranks = [run["ranks"] for run in runs]
        for name, (colour, mark, line) in STYLES.items():
            times = [run.get(name) for run in runs]
            if None not in times:
                axis.plot(ranks, times, color=colour, marker=mark, linestyle=line, label=name)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xticks(ranks, [str(number) for number in ranks])
        axis.set_title(f"{power(of)} double{'s' if of > 1 else ''} {'in all' if strong else 'a rank'}", fontsize=11)
        axis.set_xlabel("ranks")
        axis.set_ylabel("us, from call to result")
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    entries = {}
    for axis in axes.flat:
        entries.update(zip(*reversed(axis.get_legend_handles_labels())))
    labels = [name for name in STYLES if name in entries]
    figure.legend([entries[name] for name in labels], labels, loc="outside lower center", ncols=len(labels), frameon=False)
    meta = stored["meta"]
    figure.suptitle(f"Sums over ranks: {meta['host']}, {meta['mpi']}", fontsize=12)
    if Path(out).suffix == ".png":
        figure.savefig(out, dpi=90, metadata={"Software": None})
        with Image.open(out) as image:  # a palette takes a quarter of the bytes
            few = image.convert("RGB").quantize(64, Image.Quantize.FASTOCTREE, dither=0)
        few.save(out, optimize=True)
        return
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    short = re.sub(r"\n +", "\n", re.sub(r"(\d+\.\d{2})\d+", r"\1", drawn.getvalue()))
    Path(out).write_text(short, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
