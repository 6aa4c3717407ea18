# SPDX-License-Identifier: Apache-2.0
"""Curves over size: GB/s of every contender with the read limit, and the time to a host value."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator  # noqa: E402
from PIL import Image  # noqa: E402

from palette import OTHERS, SHADES  # noqa: E402
from runs import machine_text  # noqa: E402
from table import GRAPHS, OPERATION_ORDER, TYPE_ORDER, destination_text  # noqa: E402

MOST_OPERATIONS = {"host": 3, "gpu": 1}  # in one figure

COLOURS = 128  # of a PNG
MARKS = "os^DvPX*<>"
LABEL_BOX = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
GRID = {"color": "#D9D9D9", "linewidth": 0.6}


def shades_of(name, count):
    """Its colours; more than there are come from a colour map, after the first."""
    shades = [light for light, _ in SHADES.get(name, OTHERS)]
    if count <= len(shades):
        return shades
    spread = plt.get_cmap("viridis")
    return [shades[0], *(spread(i / (count - 2)) for i in range(count - 1))]


def styles(rows):
    """A style for each label, the same in every panel."""
    found = {}
    per_name = {}
    labels = {}
    for row in rows:
        labels.setdefault(row["contender"], set()).add(row["label"])
    for row in rows:
        label = row["label"]
        if label in found:
            continue
        k = per_name.get(row["contender"], 0)
        per_name[row["contender"]] = k + 1
        shades = shades_of(row["contender"], len(labels[row["contender"]]))
        found[label] = {
            "color": shades[k % len(shades)],
            "marker": MARKS[k % len(MARKS)],
            "linestyle": "--" if row["place"] == "one-thread" else "-",
            "linewidth": 2.0 if row["contender"] == "fanin" and k == 0 else 1.4,
            "markersize": 4.5,
        }
    return found


def draw_lines(axes, rows, style, quantity):
    for label in style:
        points = sorted((r["n"], r[quantity]) for r in rows if r["label"] == label)
        if points:
            axes.plot(*zip(*points), label=label, **style[label])


def set_sizes(axes, sizes):
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(LogLocator(base=16 if len(sizes) > 6 else 4, numticks=20))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"$2^{{{round(n).bit_length() - 1}}}$"))
    axes.grid(True, **GRID)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


# `line` holds the rows of all panels beside each other, which share an axis.
def bandwidth_panel(axes, rows, style, limit, line, logarithmic):
    draw_lines(axes, rows, style, "gbs")
    set_sizes(axes, {r["n"] for r in rows})
    top = max([limit or 0, *(r["gbs"] for r in line)])
    if logarithmic:
        axes.set_yscale("log")
        axes.set_ylim(min(r["gbs"] for r in line) * 0.7, top * 1.8)
    else:
        axes.set_ylim(0, top * 1.12)
    if limit:
        axes.axhline(limit, color="#222222", linewidth=1.1, linestyle=(0, (5, 3)))
        axes.annotate(
            f"read limit {limit:.0f} GB/s" if limit >= 100 else f"read limit {limit:.1f} GB/s",
            xy=(0.01, limit),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            fontsize=8,
            color="#222222",
            bbox=LABEL_BOX,
        )
    axes.set_ylabel("GB/s")


def time_panel(axes, rows, style, floor, line):
    draw_lines(axes, rows, style, "time_us")
    set_sizes(axes, {r["n"] for r in rows})
    axes.set_yscale("log")
    times = [*([floor] if floor else []), *(r["time_us"] for r in line)]
    axes.set_ylim(0.5 * min(times), 1.5 * max(times))
    if floor:
        axes.axhline(floor, color="#222222", linewidth=1.1, linestyle=(0, (1, 2)))
        axes.annotate(
            f"empty kernel and wait {floor:.1f} µs",
            xy=(0.99, floor),
            xycoords=("axes fraction", "data"),
            xytext=(0, -10),
            textcoords="offset points",
            fontsize=8,
            ha="right",
            color="#222222",
            bbox=LABEL_BOX,
        )
    axes.set_ylabel("µs to a host value")


def panel_rows(rows, on_gpu, operations):
    """What stands in each row of panels: (operation, quantity, the rows drawn)."""
    found = []
    for operation in operations:
        mine = [r for r in rows if r["operation"] == operation]
        if not on_gpu:
            found.append((operation, "bandwidth", mine))
            continue
        for timing in ("calls", *GRAPHS, "blocking"):
            alike = [r for r in mine if r["timing"] == timing]
            if alike:
                found.append((operation, "time" if timing == "blocking" else "bandwidth", alike))
    return found


def figure(run, rows, on_gpu, operations):
    types = [t for t in TYPE_ORDER if any(r["type"] == t and r["operation"] in operations for r in rows)]
    panels = panel_rows(rows, on_gpu, operations)
    style = styles([r for r in rows if r["operation"] in operations])
    limit = run.limit("gpu" if on_gpu else "host")
    floor = run.limits.get("device", {}).get("blocking_floor_us")

    width = 3.9 * len(types) + 3.0
    height = (3.4 if on_gpu else 2.75) * len(panels) + 1.3
    drawn, grid = plt.subplots(
        len(panels), len(types), figsize=(width, height), squeeze=False, sharex=True, sharey="row"
    )
    for line, (operation, quantity, mine) in zip(grid, panels):
        for column, (axes, kind) in enumerate(zip(line, types)):
            shown = [r for r in mine if r["type"] == kind]
            if not shown:
                axes.set_visible(False)
                continue
            if quantity == "bandwidth":
                bandwidth_panel(axes, shown, style, limit, mine, logarithmic=on_gpu)
            else:
                time_panel(axes, shown, style, floor, mine)
            destination = f", result to {destination_text(shown[0])}" if on_gpu else ""
            axes.set_title(f"{operation}, {kind}{destination}", fontsize=10, loc="left")
            axes.tick_params(labelbottom=True)
            if column:
                axes.set_ylabel("")
    for axes in grid[-1]:
        axes.set_xlabel("elements")

    handles = {}
    for axes in drawn.axes:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    where = machine_text(run.meta).split(";")[0] if on_gpu else machine_text({**run.meta, "gpu": None})
    what = "GPU: calls back to back, arrays cold in cache" if on_gpu else "Host: arrays beyond the caches"
    title_space = 0.75 / height
    drawn.tight_layout(rect=(0, 0, 1 - 2.75 / width, 1 - title_space))
    left = grid[0][0].get_position().x0
    drawn.text(left, 1 - 0.18 / height, where, fontsize=12, fontweight="bold", va="top")
    drawn.text(
        left,
        1 - 0.43 / height,
        f"{what}; fanin {run.meta['fanin']}, {run.meta['date'][:10]}",
        fontsize=9,
        color="#444444",
        va="top",
    )
    drawn.legend(
        [handles[k] for k in style if k in handles],
        [k for k in style if k in handles],
        loc="upper left",
        bbox_to_anchor=(1 - 2.7 / width, 1 - title_space),
        frameon=False,
        fontsize=9,
        title=None if on_gpu else "solid: all threads, dashed: one",
        title_fontsize=8,
        alignment="left",
    )
    return drawn


def write_plots(run, out):
    """Writes a figure for the host and one for the GPU, where there are rows; returns the paths."""
    written = []
    plt.rcParams.update({"font.size": 9, "svg.fonttype": "path", "svg.hashsalt": "fanin"})
    for name, on_gpu in (("host", False), ("gpu", True)):
        rows = [r for r in run.timed() if (r["place"] == "gpu") == on_gpu]
        operations = [o for o in OPERATION_ORDER if any(r["operation"] == o for r in rows)]
        most = MOST_OPERATIONS[name]
        for start in range(0, len(operations), most):
            chosen = operations[start : start + most]
            part = "-" + "-".join(chosen) if len(operations) > most else ""
            drawn = figure(run, rows, on_gpu, chosen)
            for suffix in ("png", "svg"):
                path = out / f"{run.stem}-{name}{part}.{suffix}"
                drawn.savefig(path, dpi=90, metadata={"Date": None} if suffix == "svg" else None)
                if suffix == "png":  # a palette takes a quarter of the bytes
                    with Image.open(path) as image:
                        few = image.convert("RGB").quantize(COLOURS, Image.Quantize.FASTOCTREE, dither=0)
                    few.save(path, optimize=True)
                written.append(path)
            plt.close(drawn)
    return written
