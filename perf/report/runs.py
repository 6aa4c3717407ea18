# SPDX-License-Identifier: Apache-2.0
"""Reads what fanin-perf wrote."""

import json
from dataclasses import dataclass
from pathlib import Path

SCHEMA = 2


class ReportError(Exception):
    """One sentence for the user."""


@dataclass
class Run:
    path: Path
    meta: dict
    limits: dict
    inputs: list
    rows: list

    @property
    def stem(self):
        return self.path.stem

    def synthetic(self):
        """Rows of uniform numbers, which the plots and the tables by size are about; data.py has those of other data."""
        return [r for r in self.rows if r["input"] is None and r["data"] == "uniform"]

    def timed(self):
        """Those that hold times."""
        return [r for r in self.synthetic() if r["ok"]]

    def limit(self, place):
        """GB/s that the machine can read where the row ran, or None."""
        where = self.limits.get("device" if place == "gpu" else "host")
        return where["read_gbs"] if where else None


def bounds(mean, percent):
    """The 95 % bounds, which are a factor apart from their mean; None where there was one series only."""
    factor = None if percent is None else 1 + percent / 100
    return (mean / factor, mean * factor) if factor else (None, None)


def rows_of(case, data, run):
    """The rows of a case, each with all that the file says of it and what follows from that."""
    rows = []
    for values in case["rows"]:
        row = dict(zip(data["columns"], values))
        row = {**data["ways"][row["way"]], **{k: v for k, v in case.items() if k != "rows"}, **row}
        row["ok"] = "fault" not in row
        row.setdefault("data", "uniform")
        if row["ok"]:
            row["low_us"], row["high_us"] = bounds(row["mean_us"], row["within_percent"])
            row["gbs"] = row["bytes"] / row["time_us"] * 1e-3
            limit = run.limit(row["place"])
            row["share_of_limit"] = row["gbs"] / limit if limit else None
            row["ratios"] = {
                data["ways"][way]["label"]: (ratio, *bounds(ratio, percent)) for way, ratio, percent in row["ratios"]
            }
        rows.append(row)
    for row in (r for r in rows if r["ok"]):
        times = [
            r["time_us"]
            for r in rows
            if r["ok"] and r["is_kokkos_baseline"] and (r["place"], r["timing"]) == (row["place"], row["timing"])
        ]
        row["ratio_to_kokkos"] = min(times) / row["time_us"] if times else None
    return rows


def load_run(path):
    path = Path(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReportError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise ReportError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, dict) or "schema" not in data:
        raise ReportError(f"{path} is not a file that fanin-perf --json wrote")
    if data["schema"] != SCHEMA:
        raise ReportError(f"{path} is of schema {data['schema']}, this report reads {SCHEMA}: measure again")
    try:
        run = Run(path, data["meta"], data["limits"], data["inputs"], [])
        for case in data["cases"]:
            run.rows += rows_of(case, data, run)
        return run
    except KeyError as error:
        raise ReportError(f"{path} lacks the part {error}") from error


def size_text(n):
    """2^20 where it is one, else the number."""
    if n >= 1024 and n & (n - 1) == 0:
        return f"2^{n.bit_length() - 1}"
    return str(n)


def machine_text(meta):
    host = f"{meta['host']['cpu']}, {meta['host']['threads']} threads"
    gpu = meta.get("gpu")
    return f"{gpu['name']} (driver {gpu['driver']}, CUDA {gpu['cuda_runtime']}); {host}" if gpu else host
