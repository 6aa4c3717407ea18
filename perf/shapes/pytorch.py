#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds PyTorch to what fanin-perf-shapes measured: torch.sum over the same rows, columns and middle axes, on the same GPU.

usage: pytorch.py SHAPES.json

SHAPES.json is what fanin-perf-shapes --json wrote on a GPU. Each of its sums of rows, of columns and along a middle axis is
timed as there: as nodes of a CUDA graph, over arrays that take turns, the median of as many series; after its answer has
been compared with sums in double. Rows of the contender "pytorch" are added, or take the place of earlier ones, and
Fanin's rows get their ratio, whose bounds are of series that did not run beside each other. The file is written anew at
the end. Needs a PyTorch that sees the GPU; Fanin does not install one.
"""

import json
import math
import sys
from pathlib import Path

NAME = "pytorch"
AXES = {"rows": 1, "columns": 0, "middle": 1}
SIZES = {"f32": 4, "f64": 8}
TOLERANCES = {"f32": 1e-4, "f64": 1e-12}
# As perf/shapes/run.cpp has them.
BEYOND_CACHES = 512 << 20
SERIES_SECONDS = 0.02
MOST_CALLS = 2000
MOST_NODES = 20


class Refusal(Exception):
    """A sentence for the user."""


def read(path):
    try:
        run = json.loads(Path(path).read_text(encoding="utf-8"))
        gpu = run["meta"]["gpu"]
        if gpu is not None and all({"shape", "type", "contender"} <= row.keys() for row in run["rows"]):
            return run
    except OSError as error:
        raise Refusal(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refusal(f"{path} is not what fanin-perf-shapes --json writes") from error
    raise Refusal(f"{path} was measured on a host, and PyTorch is timed on a GPU: run fanin-perf-shapes on it first")


def text_of(run):
    """As the program writes it: a row a line."""
    return json.dumps(run, separators=(",", ":"), ensure_ascii=False).replace('{"shape"', '\n{"shape"') + "\n"


def cases(run):
    """The (shape, type) that torch.sum has, each once, in the file's order."""
    found = dict.fromkeys((row["shape"], row["type"]) for row in run["rows"])
    return [(shape, kind) for shape, kind in found if shape.split(":")[0] in AXES]


def extents_of(shape):
    return [int(extent) for extent in shape.split(":")[1].split("x")]


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def student_t95(degrees):
    """The t for which |T| < t with a probability of 95 %."""

    def within(t):  # Abramowitz and Stegun, 26.7.3 and 26.7.4
        angle = math.atan(t / math.sqrt(degrees))
        odd = degrees % 2
        term = math.cos(angle) if odd else 1.0
        total = 0.0
        for k in range(odd, degrees - 1, 2):
            total += term
            term *= math.cos(angle) ** 2 * (k + 1) / (k + 2)
        part = math.sin(angle) * total
        return 2 / math.pi * (angle + part) if odd else part

    low, high = 0.0, 1e3
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < 0.95 else (low, middle)
    return low


def geometric_mean(values):
    """With the share by which the upper 95 % bound is above it; None of one value."""
    logarithms = [math.log(value) for value in values]
    mean = sum(logarithms) / len(logarithms)
    if len(values) == 1:
        return math.exp(mean), None
    variance = sum((x - mean) ** 2 for x in logarithms) / (len(values) - 1)
    return math.exp(mean), math.expm1(student_t95(len(values) - 1) * math.sqrt(variance / len(values)))


def rounded(value, digits=4):
    return float(f"{value:.{digits}g}")


def row_of(shape, kind, series_us):
    n, m, *inner = extents_of(shape)
    inner = math.prod(inner)
    results = m if shape.startswith("columns:") else n * inner
    time = median(series_us)
    mean, width = geometric_mean(series_us)
    row = {"shape": shape, "type": kind, "contender": NAME, "time_us": rounded(time)}
    row |= {"gb_per_s": rounded((n * m * inner + results) * SIZES[kind] / time * 1e-3), "mean_us": rounded(mean)}
    return row | ({} if width is None else {"within_percent": rounded(width * 100, 3)})


def with_rows(run, rows, version):
    """The run with these as the rows of PyTorch, each behind its case's others, and the ratios of Fanin's to them."""
    measured = {(row["shape"], row["type"]): row for row in rows}
    kept = [row for row in run["rows"] if row["contender"] != NAME]
    last = {(row["shape"], row["type"]): at for at, row in enumerate(kept)}
    found = []
    for at, row in enumerate(kept):
        case = (row["shape"], row["type"])
        ratios = {peer: ratio for peer, ratio in row.get("ratios", {}).items() if peer != NAME}
        peer = measured.get(case, {})
        if row["contender"] == "fanin" and "mean_us" in row and "mean_us" in peer:
            ratio = peer["mean_us"] / row["mean_us"]
            widths = [one.get("within_percent") for one in (row, peer)]
            if None in widths:
                ratios[NAME] = [rounded(ratio), 0.0, None]
            else:  # not paired: the logarithms' variances add up
                width = math.exp(math.hypot(*(math.log1p(width / 100) for width in widths)))
                ratios[NAME] = [rounded(ratio), rounded(ratio / width), rounded(ratio * width)]
        found.append({key: value for key, value in row.items() if key != "ratios"} | ({"ratios": ratios} if ratios else {}))
        if last[case] == at and case in measured:
            found.append(measured[case])
    meta = run["meta"]
    return run | {"meta": meta | {"versions": (meta.get("versions") or {}) | {NAME: version}}, "rows": found}


def seconds_of(torch, enqueue):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    enqueue()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3


def measured(torch, shape, kind, series):
    """Microseconds of a call, of each series. Throws RuntimeError for a wrong answer."""
    of_type = {"f32": torch.float32, "f64": torch.float64}[kind]
    extents = extents_of(shape)
    axis = AXES[shape.split(":")[0]]
    count = math.prod(extents)
    stride = -(-count * SIZES[kind] // 256) * 256 // SIZES[kind]
    arrays = min(max(BEYOND_CACHES // (stride * SIZES[kind]), 1), MOST_NODES)
    pool = torch.empty(arrays * stride, dtype=of_type, device="cuda").uniform_(-0.25, 0.75)
    xs = [pool[k * stride : k * stride + count].view(extents) for k in range(arrays)]
    out = torch.empty(extents[:axis] + extents[axis + 1 :], dtype=of_type, device="cuda")

    def call(k):
        torch.sum(xs[k % arrays], axis, out=out)

    call(0)
    values = xs[0].cpu().double()
    sums = values.sum(axis)
    error = ((out.cpu().double() - sums).abs() / values.abs_().sum(axis).clamp_(min=1e-300)).max().item()
    del values
    if not error <= TOLERANCES[kind]:
        raise RuntimeError(f"wrong by {error:.1e}")
    call(0)
    nodes = min(max(int(SERIES_SECONDS / max(seconds_of(torch, lambda: call(0)), 1e-9)), 1), MOST_NODES)

    # What a first call allocates on another stream is not for a capture.
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        call(0)
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for k in range(nodes):
            call(k)

    def replays(launches):
        for _ in range(launches):
            graph.replay()

    def seconds_of_call(launches):
        graph.replay()  # keeps the device busy until the one that is timed has arrived
        return seconds_of(torch, lambda: replays(launches)) / (launches * nodes)

    seconds_of_call(1)
    calls = min(max(math.ceil(SERIES_SECONDS / max(seconds_of_call(1), 1e-9)), 1), MOST_CALLS)
    return [seconds_of_call(max(calls // nodes, 1)) * 1e6 for _ in range(series)]


def torch_on(gpu):
    """PyTorch, if it sees the GPU that is called so."""
    try:
        import torch
    except ImportError as error:
        raise Refusal(f"there is no PyTorch to measure: {error}; run this by a Python that has it") from error
    if not torch.cuda.is_available():
        raise Refusal(f"PyTorch {torch.__version__} sees no GPU: run this where fanin-perf-shapes ran")
    found = torch.cuda.get_device_name(0)
    if found != gpu:
        raise Refusal(f"the file was measured on {gpu}, and PyTorch sees {found}: run this where fanin-perf-shapes ran")
    return torch


def main(path):
    run = read(path)
    chosen = cases(run)
    if not chosen:
        raise Refusal(f"{path} has no sums of rows, of columns or along a middle axis, which torch.sum has")
    torch = torch_on(run["meta"]["gpu"]["name"])
    rows = []
    for shape, kind in chosen:
        try:
            rows.append(row_of(shape, kind, measured(torch, shape, kind, run["meta"]["series"])))
            print(f"{shape:<26} {kind:<5} {NAME:<16} {rows[-1]['time_us']:>12.2f} {rows[-1]['gb_per_s']:>9.2f}", flush=True)
        except RuntimeError as error:  # PyTorch's own of memory is one
            fault = str(error).split("\n", maxsplit=1)[0]
            rows.append({"shape": shape, "type": kind, "contender": NAME, "fault": fault})
            print(f"{shape:<26} {kind:<5} {NAME:<16} {fault}", flush=True)
        torch.cuda.empty_cache()
    Path(path).write_text(text_of(with_rows(run, rows, torch.__version__)), encoding="utf-8")
    return 1 if any("fault" in row for row in rows) else 0


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    try:
        sys.exit(main(sys.argv[1]))
    except Refusal as refusal:
        print(f"pytorch.py: {refusal}", file=sys.stderr)
        sys.exit(2)
