#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws how fast Fanin is over shapes, as a share of the speed of a flat sum of as many numbers in the same file.

usage: heat_map.py OUT.png SHAPES.json...

SHAPES.json are what fanin-perf-shapes --json wrote without --shapes, of one device: a panel for each file.
"""
import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402  the backend is chosen first
from PIL import Image  # noqa: E402

NAMES = {
    "rows": "rows",
    "columns": "columns",
    "md": "all but a halo",
    "segments": "segments",
    "powerlaw": "by a power law",
    "giant": "one giant",
    "runs": "runs",
}


def read(path):
    """(device, type, elements, {kind: {length of a row: share}})"""
    run = json.loads(Path(path).read_text(encoding="utf-8"))
    speeds = {}
    for row in run["rows"]:
        if row["contender"] != "fanin" or "gb_per_s" not in row or "elements" in row:
            continue  # a peer, a fault, or segments of a file, a matrix
        kind, extents = row["shape"].split(":")
        if kind not in NAMES or extents.count("x") != 1:
            continue
        n, m = (int(extent) for extent in extents.split("x"))
        if kind == "md" and min(n, m) < 64:
            continue  # whose halo is much of it
        speeds.setdefault(kind, {})[m] = (n * m, row["gb_per_s"])
    flat = max(speeds["rows"])
    elements, best = speeds["rows"][flat]
    shares = {kind: {m: speed / best for m, (_, speed) in of.items()} for kind, of in speeds.items()}
    return run["meta"].get("gpu", run["meta"]["host"]).get("name", "host"), run["rows"][0]["type"], elements, shares


def main(out, paths):
    runs = [read(path) for path in paths]
    lengths = sorted({m for *_, shares in runs for of in shares.values() for m in of})
    kinds = [kind for kind in NAMES if any(kind in shares for *_, shares in runs)]
    figure, panels = plt.subplots(len(runs), 1, figsize=(13, 1.9 * len(runs)), layout="constrained", squeeze=False)
    for panel, (_, of_type, elements, shares) in zip(panels[:, 0], runs):
        table = [[shares.get(kind, {}).get(m, float("nan")) for m in lengths] for kind in kinds]
        image = panel.pcolormesh(table, vmin=0, vmax=1, cmap="cividis", edgecolors="white", linewidth=1)
        for at, row in enumerate(table):
            for m, share in enumerate(row):
                if share == share:
                    panel.text(m + 0.5, at + 0.5, f"{share * 100:.0f}", ha="center", va="center", fontsize=8,
                               color="black" if share > 0.55 else "white")
        panel.set_yticks([at + 0.5 for at in range(len(kinds))], [NAMES[kind] for kind in kinds])
        names = [f"2^{m.bit_length() - 1}" if m >= 4096 and m & (m - 1) == 0 else str(m) for m in lengths]
        panel.set_xticks([m + 0.5 for m in range(len(lengths))], names, fontsize=8)
        panel.invert_yaxis()
        panel.spines[:].set_visible(False)
        power = elements.bit_length() - 1
        count = f"2^{power}" if elements == 1 << power else str(elements)
        panel.set_title(f"{count} {({'f32': 'floats', 'f64': 'doubles'}).get(of_type, of_type)}", fontsize=10, loc="left")
    panels[-1, 0].set_xlabel("numbers in a row of the array, in a segment")
    figure.suptitle(f"Sums on an {runs[0][0]}: percent of the flat sum's speed", fontsize=11)
    figure.colorbar(image, ax=panels[:, 0].tolist(), shrink=0.6)
    figure.savefig(out, dpi=90, metadata={"Software": None})
    with Image.open(out) as image:  # a palette takes a quarter of the bytes
        few = image.convert("RGB").quantize(64, Image.Quantize.FASTOCTREE, dither=0)
    few.save(out, optimize=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
