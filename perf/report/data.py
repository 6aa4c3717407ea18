# SPDX-License-Identifier: Apache-2.0
"""What the data cost: exact sums beside plain ones, by data kind."""

from dataclasses import dataclass

from table import align, destination_text
from runs import size_text

UNIFORM = "uniform"


@dataclass
class DataTable:
    title: str
    header: list  # "data", then types and sizes
    rows: list  # of text

    def text(self):
        return self.title + "\n" + align(self.header, self.rows, right=set(range(1, len(self.header))))


def is_of_data(run):
    return any(r["data"] != UNIFORM for r in run.rows)


def cell(plain, exact):
    """The plain sum's time over the exact one's."""
    if plain is None or exact is None:
        return ""
    if not (plain["ok"] and exact["ok"]):
        return "WRONG"
    return f"{plain['time_us'] / exact['time_us']:.2f}"


def table_of_way(way, rows):
    found = {(r["operation"], r["type"], r["n"], r["data"]): r for r in rows}
    columns = sorted({(r["type"], r["n"]) for r in rows if r["operation"] == "exact_sum"})
    kinds = list(dict.fromkeys(r["data"] for r in rows))
    lines = [
        [kind, *(cell(*(found.get((op, *column, kind)) for op in ("sum", "exact_sum"))) for column in columns)]
        for kind in kinds
    ]
    return DataTable(
        f"Exact sums: share of the plain sum's speed over the same data, {way[0]}, result to {way[1]}",
        ["data", *(f"{of_type} {size_text(n)}" for of_type, n in columns)],
        lines,
    )


def data_tables(run):
    """One for each way in which a contender of the run was timed over both sums; none where all data are uniform."""
    if not is_of_data(run):
        return []
    ways = {}
    for r in run.rows:
        if r["input"] is None and r["operation"] in ("sum", "exact_sum"):
            ways.setdefault((r["label"], destination_text(r)), []).append(r)
    return [
        table_of_way(way, rows)
        for way, rows in ways.items()
        if len({r["operation"] for r in rows}) == 2
    ]
