# SPDX-License-Identifier: Apache-2.0
"""The run as plain text."""

from runs import machine_text, size_text

OPERATION_ORDER = ["sum", "min", "max", "min_loc", "max_loc", "sum_of_squares", "dot", "several", "exact_sum"]
TYPE_ORDER = ["f32", "f64", "i32", "i64", "u32", "u64", "i8", "u8", "i16", "f16", "bf16", "c32", "c64", "s64"]
NARROW_TYPES = {"i8", "u8", "i16", "f16", "bf16"}


def align(header, rows, right):
    """Columns of equal width; `right` holds the indices of those that are flush right."""
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]
    lines = []
    for line in [header, *rows]:
        cells = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths))]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "-" * len(lines[0]))
    return "\n".join(lines)


def shown_sizes(sizes, most=3):
    """A few sizes over the whole span, the ends among them."""
    sizes = sorted(sizes)
    if len(sizes) <= most:
        return set(sizes)
    return {sizes[round(i * (len(sizes) - 1) / (most - 1))] for i in range(most)}


def time_text(us):
    return f"{us:.2f}" if us < 1000 else f"{us:.0f}"


GRAPHS = {
    "graph": "graph",
    "between_small": "behind a small kernel",
    "between_small_hot": "behind a small kernel, hot",
    "between_axpy": "behind an axpy",
    "between_axpy_hot": "behind an axpy, hot",
}


def destination_text(row):
    return row["destination"] + (f", {GRAPHS[row['timing']]}" if row["timing"] in GRAPHS else "")


def measured_cells(row):
    ratio = row.get("ratio_to_kokkos")
    share = row.get("share_of_limit")
    return [
        time_text(row["time_us"]),
        f"{row['gbs']:.1f}" if row["gbs"] < 100 else f"{row['gbs']:.0f}",
        f"{share * 100:.0f} %" if share else "",
        f"{ratio:.2f}" if ratio is not None else "",
    ]


def comparison_table(run, every_size):
    rows = run.synthetic()
    few = shown_sizes({r["n"] for r in rows})
    if not every_size:
        rows = [r for r in rows if r["n"] in few or not r["ok"]]
    rows.sort(key=lambda r: (OPERATION_ORDER.index(r["operation"]), r["type"], r["n"]))
    header = ["size", "type", "operation", "contender", "result to", "time us", "GB/s", "of limit", "x Kokkos"]
    cells = []
    previous = None
    for r in rows:
        case = (r["operation"], r["type"], r["n"])
        first = [size_text(r["n"]), r["type"], r["operation"]] if case != previous else ["", "", ""]
        previous = case
        last = measured_cells(r) if r["ok"] else ["WRONG", r["fault"], "", ""]
        cells.append([*first, r["label"], destination_text(r), *last])
    return align(header, cells, right={0, 5, 6, 7, 8})


def heading(run):
    meta = run.meta
    dirty = " with changes" if meta["dirty"] else ""
    versions = ", ".join(f"{k} {v}" for k, v in meta["versions"].items())
    lines = [
        f"fanin-perf {meta['fanin']} ({meta['commit'][:12]}{dirty}), {meta['date']}",
        machine_text(meta),
        f"built by {meta['compiler']}" + (f"; {versions}" if versions else ""),
    ]
    host = run.limits.get("host")
    if host:
        lines.append(
            f"read limit of the host: {host['read_gbs']:.1f} GB/s ({host['read_one_thread_gbs']:.1f} with one thread)"
        )
    device = run.limits.get("device")
    if device:
        lines.append(
            f"read limit of the GPU: {device['read_gbs']:.0f} GB/s; "
            f"an empty kernel and a wait: {device['blocking_floor_us']:.1f} us"
        )
    return "\n".join(lines)


def explanation(run):
    lines = [
        "Every answer was checked before it was timed. Host times are the smallest, GPU times the median of "
        f"{run.meta['series']} series.",
        "x Kokkos: time of plain Kokkos (64-bit index, same place, same destination) over this time; above 1 is faster.",
    ]
    types = {r["type"] for r in run.rows}
    if types & {"i32", "i64", "u32", "u64"}:
        lines.append("Integers wrap in the type that stands in the table, here as in numpy; those of files are widened to 64 bits.")
    if types & NARROW_TYPES:
        lines.append("i8, u8 and i16 are summed in 32 bits, f16 and bf16 in f32.")
    if "s64" in types:
        lines.append("s64 is a struct of eight f64, summed by its components.")
    if any(r["destination"] == "device" for r in run.rows):
        lines.append(
            "Result to device: GPU time of calls back to back. Result to host: from the call to the value on the host."
        )
    if any(r["timing"] == "graph" for r in run.rows):
        lines.append("Result to device, graph: GPU time of the same calls as nodes of a CUDA graph.")
    if any(r["timing"].startswith("between") for r in run.rows):
        lines.append(
            "Behind a kernel: the same with a kernel before each call, less the time of a graph of these kernels alone: a small "
            "one that touches other data, or an axpy that writes the array which is reduced next. Hot: always the same array."
        )
    return "\n".join(lines)
