# SPDX-License-Identifier: Apache-2.0
"""Shows what fanin-perf measured: a table, a page of HTML, and plots as PNG and SVG.

    report.py RUN.json... --out DIR

Exits with 1 where an answer was wrong or differs from numpy's, with 2 where a file cannot be used.
"""

import argparse
import sys
from pathlib import Path

from data import data_tables
from page import to_html
from runs import ReportError, load_run
from table import comparison_table, explanation, heading


def report(run, out, every_size, with_plots):
    """Prints one run and returns the number of wrong answers."""
    wrong = sum(not r["ok"] for r in run.rows if r["input"] is None)
    full = [heading(run)]
    print(full[0])
    if run.synthetic():
        full.append(comparison_table(run, every_size=True))
        print("\n" + comparison_table(run, every_size))
    for of_data in data_tables(run):
        full.append(of_data.text())
        print("\n" + full[-1])
    tables = []
    if run.inputs:
        from numpy_check import input_tables

        tables = input_tables(run)
        wrong += sum(sum(t.wrong) for t in tables)
        full.append("Real arrays\n\n" + "\n\n".join(t.text() for t in tables))
        print("\n" + full[-1])
    full.append(explanation(run))
    print("\n" + full[-1] + "\n")

    out.mkdir(parents=True, exist_ok=True)
    table = out / f"{run.stem}.txt"
    table.write_text("\n\n".join(full) + "\n", encoding="utf-8")
    print(f"table, every size: {table}")
    page = out / f"{run.stem}.html"
    page.write_text(to_html(run, tables), encoding="utf-8")
    print(f"page: {page}")
    if with_plots:
        from plots import write_plots

        for path in write_plots(run, out):
            print(f"plot: {path}")
    if wrong:
        print(f"{wrong} answers are WRONG", file=sys.stderr)
    return wrong


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Shows what fanin-perf measured, as a table, a page and plots.")
    parser.add_argument("runs", nargs="+", metavar="RUN.json", help="written by fanin-perf --json")
    parser.add_argument(
        "--out", default=".", metavar="DIR", help="where to write table, page and plots (default: here)"
    )
    parser.add_argument("--all", action="store_true", help="print every size, not only a few")
    parser.add_argument("--no-plots", action="store_true", help="table and page only")
    chosen = parser.parse_args(arguments)
    try:
        wrong = sum([report(load_run(path), Path(chosen.out), chosen.all, not chosen.no_plots) for path in chosen.runs])
    except (ReportError, OSError) as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 2
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
