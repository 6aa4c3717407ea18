# SPDX-License-Identifier: Apache-2.0
"""Sets the answers on a real array beside numpy's, computed here from the file itself."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from runs import ReportError
from table import align, destination_text, measured_cells

NUMPY_TYPES = {
    "i32": np.int32,
    "i64": np.int64,
    "u32": np.uint32,
    "u64": np.uint64,
    "f32": np.float32,
    "f64": np.float64,
}


@dataclass
class Reference:
    value: object  # numpy's
    exact: float = 0.0  # of a float sum: correctly rounded
    index: int = -1


def load_input(facts, near):
    """The array, widened as fanin-perf widened it."""
    path = Path(facts["file"])
    if not path.exists() and not path.is_absolute():
        path = Path(near) / path
    try:
        loaded = np.load(path, allow_pickle=False)
    except OSError as error:
        raise ReportError(f"cannot read the input {facts['file']}: {error}") from error
    if isinstance(loaded, np.lib.npyio.NpzFile):
        name = facts["array"].removesuffix(".npy") or loaded.files[0]
        loaded = loaded[name]
    array = loaded.astype(NUMPY_TYPES[facts["type"]])
    if list(array.shape) != facts["shape"]:
        raise ReportError(f"{facts['file']} holds shape {array.shape} now; it has changed since the run")
    return array


def exact_sum(values):
    if not np.all(np.isfinite(values)):
        with np.errstate(invalid="ignore", over="ignore"):
            return float(np.sum(values, dtype=np.float64))
    return math.fsum(values)


def reference(array, operation):
    is_float = array.dtype.kind == "f"
    with np.errstate(over="ignore", invalid="ignore"):
        if operation in ("sum", "sum_of_squares"):
            terms = array if operation == "sum" else array * array
            value = np.sum(terms, dtype=array.dtype)
            if not is_float:
                return Reference(value)
            wide = array.astype(np.float64).ravel()
            return Reference(value, exact_sum(wide if operation == "sum" else wide * wide))
        if operation in ("min", "max"):
            return Reference(np.min(array) if operation == "min" else np.max(array))
        index = int(np.argmin(array) if operation == "min_loc" else np.argmax(array))
        return Reference(array.flat[index], index=index)


def same(a, b):
    return a == b or (a != a and b != b)


def fault(row, array, expected):
    """Empty where the row's answer agrees with numpy's, else why not."""
    kind = array.dtype.type
    got = row["answer"]
    is_float = array.dtype.kind == "f"
    value = kind(got["value"]) if is_float else int(got["value"])
    operation = row["operation"]
    if operation in ("sum", "sum_of_squares"):
        if not is_float:
            return "" if value == int(expected.value) else "differs from numpy's"
        if not math.isfinite(expected.exact) or not math.isfinite(value):
            return "" if same(float(value), float(expected.value)) else "differs from numpy's"
        # The squares that `exact` adds up are rounded to float64 themselves.
        slack = array.size * 2.0**-53 * abs(expected.exact) if operation == "sum_of_squares" else 0.0
        error = abs(float(value) - expected.exact)
        return "" if error <= row["error_bound"] + slack else f"off by {error:.3g}, bound {row['error_bound']:.3g}"
    if not same(value, expected.value if is_float else int(expected.value)):
        return "differs from numpy's"
    if operation in ("min_loc", "max_loc"):
        index = got["numpy_index"]
        # Kokkos may give any of equal elements; in Fortran order the first stored need not be numpy's first.
        if index != expected.index and not (0 <= index < array.size and same(array.flat[index], expected.value)):
            return f"index {index} does not hold the value"
    return ""


def answer_text(value, index):
    text = f"{value:.9g}" if isinstance(value, (float, np.floating)) else str(value)
    return f"{text} at {index}" if index >= 0 else text


HEADER = ["operation", "numpy", "contender", "result to", "answer", "", "time us", "GB/s", "of limit", "x Kokkos"]
FLUSH_RIGHT = {6, 7, 8, 9}


@dataclass
class InputTable:
    """The rows of one real array."""

    title: str
    cells: list  # under HEADER
    wrong: list  # for each line of cells, whether it disagrees
    left_out: str = ""

    def text(self):
        return f"{self.title}\n{align(HEADER, self.cells, FLUSH_RIGHT)}" + (
            f"\n\n{self.left_out}" if self.left_out else ""
        )


def input_title(facts):
    title = f"{facts['label']}: {facts['dtype']} {tuple(facts['shape'])}, {facts['n']} elements"
    if facts["note"]:
        title += f"; {facts['note']}"
    if facts["fortran_order"]:
        title += "; Fortran order, indices converted"
    return title


def input_tables(run):
    """A table for each real array."""
    tables = []
    for number, facts in enumerate(run.inputs):
        array = load_input(facts, run.path.parent)
        table = InputTable(input_title(facts), [], [])
        previous = None
        for row in (r for r in run.rows if r["input"] == number):
            operation = row["operation"]
            expected = reference(array, operation)
            problem = row["fault"] if not row["ok"] else fault(row, array, expected)
            got = row["answer"]
            value = float(got["value"]) if array.dtype.kind == "f" else int(got["value"])
            numpys = answer_text(expected.value, expected.index)
            table.wrong.append(bool(problem))
            table.cells.append(
                [
                    operation if operation != previous else "",
                    numpys if operation != previous else "",
                    row["label"],
                    destination_text(row),
                    answer_text(value, got.get("numpy_index", -1)),
                    problem or "agrees",
                    *(measured_cells(row) if row["ok"] else [""] * 4),
                ]
            )
            previous = operation
        if facts["left_out"]:
            names = ", ".join(facts["left_out"])
            table.left_out = f"The array holds NaN; left out, since they do not carry it: {names}"
        tables.append(table)
    return tables
