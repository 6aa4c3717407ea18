#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rewrites the parts of docs/strategies.md that state facts, between `<!-- generated: NAME -->` and `<!-- end -->`.

What a strategy is comes from the catalogue itself, through the program docs/tools/catalogue_facts.cpp; what it costs
comes from perf/results/h200/strategies.json, and what became of the notes' claims from perf/results/h200/claims.json.
Where one of the two is absent, its parts say so.

strategies.json  {"gpu": text, "commit": text, "read_gbs": the measured read limit, "columns": [what stands in a row],
                  "rows": [["strategy": name, "type": "i32|f32|f64", "n": elements, "us": microseconds, "block": threads,
                  "chunks": n of fold_n, "tuned": false for the same configuration of all, true for the strategy's best]]}
                 Strategies that the catalogue lacks (Kokkos, CUB) are shown below it.
claims.json      {"gpu": text, "commit": text,
                  "claims": {KEY: {"verdict": "confirmed|refuted|partly", "number": text}},
                  "settings_001": [{"strategy": name, "us": microseconds}]}
                 KEY is one of those that docs/strategies.md marks with `generated: claim KEY`. settings_001 holds 2^26
                 32-bit integers at the blocks and chunks of note 001's program.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/strategies.md"
FIGURES = ROOT / "docs/figures"
RESULTS = ROOT / "perf/results/h200"
NOTHING = "not measured here"
SHOWN_SIZES = (1 << 24, 100_000_000, 1 << 29)
TYPES = {"i32": 4, "f32": 4, "f64": 8}  # bytes

# Note 001's table, in the order of its index; its unit is ms (it says s).
REPORTED = {
    "global_interleaved": ("reduce_global1", 0.878592),
    "global_neighbored": ("reduce_global2", 1.94355),
    "global_unroll": ("reduce_global_unroll", 0.53248),
    "shared_interleaved": ("reduce_shared", 1.12333),
    "shared_neighbored_strided": ("reduce_shared2", 1.152),
    "shared_shrink": ("reduce_shared_shrink", 0.529408),
    "shared_warp": ("reduce_shared_warp", 0.459776),
    "shared_unroll": ("reduce_shared_unroll", 0.448512),
    "shared_shuffle": ("reduce_shared_shuffle", 0.396288),
}
BASELINE = "global_interleaved"

MARK = re.compile(r"(<!-- generated: ([^>]+?) -->)(.*?)(<!-- end -->)", re.DOTALL)


def facts(program):
    """The catalogue's strategies, by running `program`, or by compiling catalogue_facts.cpp where none is given."""
    with tempfile.TemporaryDirectory() as folder:
        if program is None:
            compiler = os.environ.get("CXX") or shutil.which("c++") or "g++"
            program = pathlib.Path(folder) / "catalogue_facts"
            source = ROOT / "docs/tools/catalogue_facts.cpp"
            include = ROOT / "backends/cuda/include"
            subprocess.run([compiler, "-std=c++20", f"-I{include}", str(source), "-o", str(program)], check=True)
        return json.loads(subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout)


def load(name):
    path = RESULTS / name
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def size(n):
    power = n.bit_length() - 1
    if n == 1 << power:
        return f"2^{power}"
    text = str(n)
    zeros = len(text) - len(text.rstrip("0"))
    return f"10^{zeros}" if text == "1" + "0" * zeros else f"{n:,}"


def stages(row):
    return " · ".join(row[key] for key in ("thread", "block", "memory", "grid"))


def block_of(row, unit=""):
    words = f"{row['block_size']}{unit}"
    if row["folds_chunks"]:
        words += f", n = {row['chunks']}"
    if row["cluster_size"] > 1:
        words += f", clusters of {row['cluster_size']}"
    return words


def grid_of(row):
    if row["grid_size"]:
        return f"a grid of {row['grid_size']} block{'s' if row['grid_size'] > 1 else ''}"
    if row["blocks_per_sm"]:
        return f"up to {row['blocks_per_sm']} blocks a multiprocessor"
    return "as many blocks as the elements need"


def catalogue(rows):
    head = ("strategy", "source", "thread · block · memory · grid", "block size")
    return table(head, [(f"[`{r['name']}`](#{r['name']})", r["source"], stages(r), block_of(r)) for r in rows])


def facts_of(row):
    shared = f"{row['shared_bytes']:,} bytes of dynamic shared memory a block for floats" if row["shared_bytes"] else ""
    least = row["least_compute_capability"]
    others = [f"`{g}`" for g, why in row["finishes"].items() if why is None and g != row["grid"]]
    in_flight = f"{row['loads']} loads of 16 bytes in flight a thread" if row["loads"] > 1 else ""
    launch = ["one launch" if row["single_launch"] else "several launches"]
    launch.append("the result in the stream's order" if row["stream_ordered"] else "the result on the host only")
    lines = [
        f"- {row['purpose']}",
        f"- **{stages(row)}**; source: {row['source']}",
        "- " + "; ".join(filter(None, [f"blocks of {block_of(row, ' threads')}", grid_of(row), in_flight, shared])),
        f"- {'; '.join(launch)}; from compute capability {least // 10}.{least % 10}; "
        + ("the same bits in every run" if row["deterministic"] else "bits may differ from run to run"),
        f"- can also be finished by {', '.join(others)}" if others else "- no other grid stage fits it",
    ]
    return "\n".join(lines)


def refusals(rows):
    refused = {}
    for row in rows:
        for stage, why in row["finishes"].items():
            if why is not None:
                refused.setdefault(why, {}).setdefault(stage, []).append(row["name"])
    cells = []
    for why, by_stage in refused.items():
        stages_of = {}
        for stage, names in by_stage.items():
            stages_of.setdefault(tuple(names), []).append(f"`{stage}`")
        words = []
        for names, refusing in stages_of.items():
            rest = [r["name"] for r in rows if r["name"] not in names]
            who = "every strategy but `" + "`, `".join(rest) + "`" if len(rest) == 1 else "`" + "`, `".join(names) + "`"
            words.append(f"{', '.join(refusing)} for {who}")
        cells.append(("; ".join(words), why))
    return table(("refused", "the sentence"), cells)


class Measured:
    def __init__(self, document):
        self.document = document
        self.rows = [dict(zip(document["columns"], row)) for row in document["rows"]] if document else []
        for row in self.rows:
            row["gbs"] = row["n"] * TYPES[row["type"]] / row["us"] * 1e-3
            row["share"] = row["gbs"] / document["read_gbs"]
        sizes = {row["n"] for row in self.rows}
        self.sizes = [n for n in SHOWN_SIZES if n in sizes] or sorted(sizes)[-3:]

    def row(self, strategy, kind, n, tuned):
        for row in self.rows:
            if (row["strategy"], row["type"], row["n"], row["tuned"]) == (strategy, kind, n, tuned):
                return row
        return None

    @staticmethod
    def cells(row):
        if row is None:
            return ["", "", ""]
        return [f"{row['us']:.1f}", f"{row['gbs']:.0f}", f"{100 * row['share']:.1f} %"]

    @staticmethod
    def settings(row):
        if row is None:
            return ""
        return f"{row['block']}" + (f", n = {row['chunks']}" if row["chunks"] > 1 else "")

    def of(self, strategy):
        lines = []
        for kind in TYPES:
            for n in self.sizes:
                same, best = self.row(strategy, kind, n, False), self.row(strategy, kind, n, True)
                if same or best:
                    line = [kind, size(n)]
                    for row in (same, best):
                        line += [*self.cells(row), self.settings(row)]
                    lines.append(line)
        columns = ("GB/s", "of the limit", "at block")
        head = ("type", "n", "same configuration, µs", *columns, "best tuned, µs", *columns)
        return table(head, lines) if lines else NOTHING

    def all(self, names):
        if not self.rows:
            return NOTHING
        n = 100_000_000 if 100_000_000 in self.sizes else self.sizes[-1]
        others = sorted({row["strategy"] for row in self.rows} - set(names))
        parts = [f"{self.document['gpu']}, commit {self.document['commit']}, n = {size(n)}."]
        for kind in TYPES:
            base = self.row(BASELINE, kind, n, False)
            lines = []
            for name in [*names, *others]:
                same, best = self.row(name, kind, n, False), self.row(name, kind, n, True)
                if not (same or best):
                    continue
                gain = f"{base['us'] / same['us']:.2f}" if base and same else ""
                told = f"{REPORTED[BASELINE][1] / REPORTED[name][1]:.2f}" if name in REPORTED else ""
                shown = f"`{name}`" if name in names else name
                lines.append([shown, *self.cells(same), gain, told, *self.cells(best), self.settings(best)])
            head = (
                f"{kind}",
                "µs",
                "GB/s",
                "of the limit",
                f"x `{BASELINE}`",
                "x in 001",
                "best tuned, µs",
                "GB/s",
                "of the limit",
                "at block",
            )
            if lines:
                parts.append(table(head, lines))
        return "\n\n".join(parts)


def settings_001(claims):
    measured = {row["strategy"]: row["us"] for row in (claims or {}).get("settings_001", [])}
    base = measured.get(BASELINE)
    lines = []
    for name, (kernel, ms) in REPORTED.items():
        us = measured.get(name)
        lines.append(
            (
                f"`{kernel}`",
                f"`{name}`",
                f"{ms:.3f}",
                f"{REPORTED[BASELINE][1] / ms:.2f}",
                f"{us:.1f}" if us else NOTHING,
                f"{base / us:.2f}" if base and us else NOTHING,
            )
        )
    head = ("001's kernel", "strategy", "001, ms", "001, x `reduce_global1`", "H200, µs", f"H200, x `{BASELINE}`")
    return table(head, lines)


def claim(claims, key):
    entry = (claims or {}).get("claims", {}).get(key)
    if entry is None:
        return f"{NOTHING} |"
    if entry["verdict"] not in ("confirmed", "refuted", "partly"):
        sys.exit(f"claims.json: {key}: no verdict is called {entry['verdict']}")
    return f"**{entry['verdict']}** | {entry['number']}"


def tag(example, name):
    """A strategy's tag, as the example holds it."""
    text = (ROOT / "examples" / f"{example}.cpp").read_text(encoding="utf-8")
    found = re.search(rf"^struct {name} \{{\n.*?^\}};\n", text, re.DOTALL | re.MULTILINE)
    if found is None:
        sys.exit(f"examples/{example}.cpp has no struct {name}")
    return "```cpp\n" + found.group(0) + "```"


def complaints(text, rows):
    """What a generator cannot put right: a strategy without its section or figure, and the reverse."""
    names = [row["name"] for row in rows]
    headings = re.findall(r"^### `(\w+)`$", text, re.MULTILINE)
    wrong = [f"no section ### `{name}`" for name in names if headings.count(name) != 1]
    wrong += [f"the section {name} is no strategy of the catalogue" for name in headings if name not in names]
    for name in names:
        if f"](figures/{name}.svg)" not in text or not (FIGURES / f"{name}.svg").is_file():
            wrong.append(f"no figure figures/{name}.svg")
        for mark in (f"facts {name}", f"measured {name}"):
            if f"<!-- generated: {mark} -->" not in text:
                wrong.append(f"no mark <!-- generated: {mark} -->")
    return wrong


def rewrite(text, rows, strategies, claims):
    measured = Measured(strategies)
    by_name = {row["name"]: row for row in rows}

    def part(words):
        kind, *rest = words
        if kind == "catalogue":
            return catalogue(rows)
        if kind == "refusals":
            return refusals(rows)
        if kind == "facts" and rest and rest[0] in by_name:
            return facts_of(by_name[rest[0]])
        if kind == "measured" and rest == ["all"]:
            return measured.all(list(by_name))
        if kind == "measured" and rest and rest[0] in by_name:
            return measured.of(rest[0])
        if kind == "settings_001":
            return settings_001(claims)
        if kind == "tag" and len(rest) == 2:
            return tag(*rest)
        return None

    def replace(found):
        opening, words, _, closing = found.groups()
        kind, *rest = words.split()
        if kind == "claim" and rest:
            return f"{opening}{claim(claims, rest[0])}{closing}"
        content = part([kind, *rest])
        if content is None:
            sys.exit(f"docs/strategies.md: nothing is generated for the mark: {words}")
        return f"{opening}\n\n{content}\n\n{closing}"

    known = set(re.findall(r"<!-- generated: claim (\w+) -->", text))
    unknown = set((claims or {}).get("claims", {})) - known
    if unknown:
        sys.exit(f"claims.json: docs/strategies.md has no mark for: {', '.join(sorted(unknown))}")
    return MARK.sub(replace, text)


def main():
    parser = argparse.ArgumentParser(description="Rewrites the generated parts of docs/strategies.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 when something differs")
    parser.add_argument("--facts", help="the compiled catalogue_facts; compiled with $CXX where it is not given")
    options = parser.parse_args()

    rows = facts(options.facts)
    text = PAGE.read_text(encoding="utf-8")
    fresh = rewrite(text, rows, load("strategies.json"), load("claims.json"))
    wrong = complaints(fresh, rows)
    for line in wrong:
        print(f"docs/strategies.md: {line}")
    if options.check and fresh != text:
        print("docs/strategies.md is not what the catalogue and the results say: run docs/tools/strategies.py")
        return 1
    if not options.check:
        PAGE.write_text(fresh, encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
