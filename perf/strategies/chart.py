#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws strategies.json as bars: read bandwidth of every strategy at one setting and tuned, with Kokkos and CUB.

usage: chart.py STRATEGIES.json OUT.svg
"""

import io
import json
import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "fanin"
matplotlib.rcParams["svg.fonttype"] = "none"  # text as text: two thirds of the bytes
matplotlib.rcParams["font.sans-serif"] = ["DejaVu Sans", "Verdana"]
import matplotlib.pyplot as plt  # noqa: E402  the backend is chosen first

data = json.load(open(sys.argv[1], encoding="utf-8"))
data["rows"] = [dict(zip(data["columns"], row)) for row in data["rows"]]
for row in data["rows"]:
    row["gbs"] = row["n"] * (8 if row["type"] == "f64" else 4) / row["us"] * 1e-3
size = 1 << 29
types = {"i32": "int", "f32": "float", "f64": "double"}
rows = {(row["type"], row["strategy"], row["tuned"]): row for row in data["rows"] if row["n"] == size}
names = []
for row in data["rows"]:
    if row["n"] == size and row["strategy"] not in names:
        names.append(row["strategy"])
names.sort(key=lambda name: rows["i32", name, True]["gbs"])
limit = data["read_gbs"]

figure, panels = plt.subplots(1, 3, figsize=(13, 7.5), sharey=True, layout="constrained")
for panel, (kind, title) in zip(panels, types.items()):
    for place, name in enumerate(names):
        peer = name in ("kokkos", "cub")
        tuned = rows[kind, name, True]["gbs"]
        panel.barh(place, tuned, color="#d98c4a" if peer else "#a8d0ec", height=0.76)
        if not peer:
            panel.barh(place, rows[kind, name, False]["gbs"], color="#0072b2", height=0.42)
        panel.text(tuned + 60, place, f"{tuned:.0f}", va="center", fontsize=8)
    panel.axvline(limit, color="black", linestyle="--", linewidth=1)
    panel.set_title(f"{title}, 2^29 elements", fontsize=11)
    panel.set_xlabel("GB/s, call to value on the host")
    panel.set_xlim(0, limit * 1.18)
    panel.spines[["top", "right"]].set_visible(False)
panels[0].set_yticks(range(len(names)), names)
figure.suptitle(f"Sums on an {data['gpu']}: dark, blocks of 256; light, best of a sweep; dashed, read limit {limit:.0f} GB/s",
                fontsize=12)
drawn = io.StringIO()
figure.savefig(drawn, format="svg", metadata={"Date": None})
# Hundredths of a point, and no indents: a seventh less.
short = re.sub(r"\n +", "\n", re.sub(r"(\d+\.\d{2})\d+", r"\1", drawn.getvalue()))
Path(sys.argv[2]).write_text(short, encoding="utf-8")
