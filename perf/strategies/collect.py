#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes perf/results/<gpu>/strategies.json and claims.json, which docs/tools/strategies.py reads, from measurements.

usage: collect.py STRATEGIES.json COUNTERS.csv PERF.json --out DIR [--unsynchronised PLAIN/RUNS,VOLATILE/RUNS]

STRATEGIES.json is of fanin-strategies --tune, COUNTERS.csv of profile.sh, PERF.json of fanin-perf (Kokkos, CUB and the read
limit). --unsynchronised: what unsynchronised.cu prints, how many of so many sums were wrong.
"""

import argparse
import csv
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "report"))

from runs import load_run  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("strategies")
parser.add_argument("counters")
parser.add_argument("perf")
parser.add_argument("--out", required=True)
parser.add_argument("--unsynchronised", default="")
arguments = parser.parse_args()

measured = json.load(open(arguments.strategies, encoding="utf-8"))
measured["rows"] = [dict(zip(measured["columns"], row)) for row in measured["rows"]]
perf = load_run(arguments.perf)
limit = perf.limit("gpu")
time = {(row["setting"], row["type"], row["n"], row["strategy"]): row["us"] for row in measured["rows"]}

columns = ["strategy", "type", "n", "us", "block", "chunks", "tuned"]
rows = []
for row in measured["rows"]:
    if row["setting"] in ("block 256", "tuned"):
        row["tuned"] = row["setting"] == "tuned"
        rows.append([row[key] for key in columns])
sizes = {row[2] for row in rows}
for row in perf.rows:
    if row["operation"] != "sum" or row["destination"] != "host" or row["contender"] not in ("kokkos", "cub"):
        continue
    if row["type"] in ("i32", "f32", "f64") and row["n"] in sizes:
        for tuned in (False, True):
            rows.append([row["contender"], row["type"], row["n"], row["time_us"], 0, 0, tuned])

conflicts = {}
divergent = {}
with open(arguments.counters, encoding="utf-8") as lines:
    for line in csv.reader(lines):
        strategy, kind, n, counter = line[:4]
        value = float("".join(line[4:]))
        if n == "1024" and "conflicts" in counter:
            key = (strategy, kind, "loads" if counter.endswith("ld.sum") else "stores")
            conflicts[key] = int(value)
        if "divergent" in counter:
            divergent[(strategy, kind)] = int(value)


def shared_conflicts(strategy, kind):
    return f"{conflicts[strategy, kind, 'loads']} of loads, {conflicts[strategy, kind, 'stores']} of stores"


def as_001(strategy):
    return time["001", "i32", 1 << 26, strategy]


def ratio(slow, fast):
    return f"{as_001(slow) / as_001(fast):.2f} times"


def claim(verdict, number):
    """`verdict` in words, or whether the note is right."""
    if isinstance(verdict, bool):
        verdict = "confirmed" if verdict else "refuted"
    return {"verdict": verdict, "number": number}


def is_faster(fast, slow):
    return claim(as_001(fast) < as_001(slow), ratio(slow, fast))


def has_conflicts(strategy, kind):
    return conflicts[strategy, kind, "loads"] + conflicts[strategy, kind, "stores"] > 0


big = 1 << 29
tenth = 100_000_000
host = {name: time["004, host_finish", "f64", tenth, name] for name in ("global_interleaved", "shared_interleaved")}
device = {name: time["004, second_pass", "f64", tenth, name] for name in ("global_interleaved", "shared_interleaved")}
own, tuned = time["own", "i32", big, "shared_shrink"], time["tuned", "i32", big, "shared_shrink"]
one_256 = time["000, one block of 256", "f64", tenth, "thread_partials"]
one_1024 = time["000, one block of 1024", "f64", tenth, "thread_partials"]
serial_24, tree_24 = (time["own", "f32", 1 << 24, name] for name in ("shared_thread0", "shared_tree"))
serial_29, tree_29 = (time["own", "f32", big, name] for name in ("shared_thread0", "shared_tree"))

claims = {
    "conflicts_strided_i32": claim(
        has_conflicts("shared_neighbored_strided", "i32"), shared_conflicts("shared_neighbored_strided", "i32")),
    "conflicts_divergent_i32": claim(
        not has_conflicts("shared_neighbored", "i32"), shared_conflicts("shared_neighbored", "i32")),
    "conflicts_interleaved_i32": claim(
        not has_conflicts("shared_interleaved", "i32"), shared_conflicts("shared_interleaved", "i32")),
    "conflicts_f64": claim("partly", "; ".join(
        f"{name}: {shared_conflicts(strategy, 'f64')}" for name, strategy in
        (("strided", "shared_neighbored_strided"), ("divergent", "shared_neighbored"),
         ("interleaved", "shared_interleaved")))),
    "shared_beats_global": claim("partly", (
        f"blocks of 128, 10^8 doubles: {host['global_interleaved']:.0f} us global, {host['shared_interleaved']:.0f} shared "
        f"with the host finishing; {device['global_interleaved']:.0f} and {device['shared_interleaved']:.0f} in a second "
        "pass: caches serve both")),
    "shared_slower_than_global": is_faster("global_interleaved", "shared_interleaved"),
    "conflicts_cost_little": claim(
        as_001("shared_neighbored_strided") < 1.1 * as_001("shared_interleaved"),
        ratio("shared_neighbored_strided", "shared_interleaved")),
    "neighbored_global": is_faster("global_interleaved", "global_neighbored"),
    "fold_first": is_faster("shared_shrink", "shared_interleaved"),
    "last_warp": is_faster("shared_warp", "shared_shrink"),
    "unrolled": is_faster("shared_unroll", "shared_warp"),
    "shuffles": is_faster("shared_shuffle", "shared_unroll"),
    "shuffle_tail": claim(as_001("shared_shuffle") < as_001("shared_shuffle_tail"), (
        f"{ratio('shared_unroll', 'shared_shuffle_tail')} the speed of shared_unroll; shared_shuffle "
        f"{ratio('shared_unroll', 'shared_shuffle')}")),
    "tuning": claim(tuned < own, f"shared_shrink, 2^29 int: {own:.0f} us, tuned {tuned:.0f}"),
    "one_block_1024": claim(one_1024 > 10 * time["own", "f64", tenth, "one_pass"], (
        f"10^8 doubles: {one_256 / 1e3:.1f} ms with 256 threads, {one_1024 / 1e3:.1f} ms with 1024; one_pass "
        f"{time['own', 'f64', tenth, 'one_pass'] / 1e3:.2f} ms")),
    "tree_over_thread0": claim("partly", (
        f"2^24 floats: {serial_24:.0f} us by thread 0, {tree_24:.0f} by the tree; 2^29: {serial_29:.0f} and {tree_29:.0f}")),
    "last_warp_divergence": claim(divergent["shared_tree_last_warp", "i32"] == 0, (
        f"{divergent['shared_tree_last_warp', 'i32']} divergent branches in shared_tree_last_warp")),
    "host_finish": claim(host["shared_interleaved"] > device["shared_interleaved"], (
        f"{host['shared_interleaved']:.0f} us, {device['shared_interleaved']:.0f} in a second pass")),
    "registers_suffice": claim(as_001("shared_shuffle") > as_001("shared_unroll"), (
        f"shuffles pass registers on: shared_shuffle {as_001('shared_shuffle'):.0f} us, shared_unroll "
        f"{as_001('shared_unroll'):.0f}")),
}
if arguments.unsynchronised:
    plain, volatile = arguments.unsynchronised.split(",")
    claims["no_sync_in_warp"] = claim(plain.startswith("0/"), f"wrong sums: {plain} with plain shared memory, {volatile} with volatile")

settings = [{"strategy": row["strategy"], "us": row["us"]} for row in measured["rows"] if row["setting"] == "001"]
out = pathlib.Path(arguments.out)
head = {"gpu": measured["gpu"], "commit": measured["commit"]}
lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
(out / "strategies.json").write_text(
    f'{json.dumps({**head, "read_gbs": limit, "columns": columns}, indent=1)[:-2]},\n "rows": [\n{lines}\n ]\n}}\n', encoding="utf-8")
(out / "claims.json").write_text(
    json.dumps({**head, "claims": claims, "settings_001": settings}, indent=1) + "\n", encoding="utf-8")
