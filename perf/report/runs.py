# SPDX-License-Identifier: Apache-2.0
"""Reads what fanin-perf wrote."""

import json
from dataclasses import dataclass
from pathlib import Path

SCHEMA = 1


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

    def timed(self, synthetic=True):
        """Rows that hold times; of synthetic arrays or of real ones."""
        return [r for r in self.rows if r["ok"] and (r["input"] is None) == synthetic]

    def limit(self, place):
        """GB/s that the machine can read where the row ran, or None."""
        where = self.limits.get("device" if place == "gpu" else "host")
        return where["read_gbs"] if where else None


def load_run(path):
    path = Path(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReportError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise ReportError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ReportError(f"{path} is not a file that fanin-perf --json wrote (schema {SCHEMA})")
    try:
        return Run(path, data["meta"], data["limits"], data["inputs"], data["rows"])
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
