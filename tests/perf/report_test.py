# SPDX-License-Identifier: Apache-2.0
"""The report's parts on made-up runs.

    report_test.py FOLDER_OF_REPORT
"""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, sys.argv.pop(1))

import report  # noqa: E402
from runs import ReportError, load_run, size_text  # noqa: E402
from table import comparison_table, shown_sizes  # noqa: E402


def row(**changes):
    made = {
        "contender": "fanin",
        "backend": "cuda",
        "strategy": "one_pass",
        "form": "span",
        "label": "fanin one_pass",
        "place": "gpu",
        "operation": "sum",
        "type": "f32",
        "n": 1024,
        "bytes": 4096,
        "destination": "device",
        "timing": "calls",
        "input": None,
        "ok": True,
        "answer": {"value": "1.5"},
        "reference": {"value": "1.5"},
        "error_bound": 0.1,
        "calls_per_series": 100,
        "series_us": [2.0, 2.1],
        "median_us": 2.05,
        "min_us": 2.0,
        "statistic": "median",
        "time_us": 2.05,
        "gbs": 2.0,
        "share_of_limit": 0.001,
        "ratio_to_kokkos": 1.75,
        "is_kokkos_baseline": False,
    }
    made.update(changes)
    return made


def run_data(rows):
    return {
        "schema": 1,
        "meta": {
            "fanin": "0.1.0",
            "commit": "0123456789abcdef",
            "dirty": False,
            "date": "2026-01-02T03:04:05Z",
            "compiler": "GNU 12.2.0",
            "host": {"cpu": "A CPU", "threads": 2},
            "gpu": {"name": "A GPU", "driver": "580.1", "cuda_runtime": "13.0"},
            "versions": {"cub": "3.0.1"},
            "series": 7,
        },
        "limits": {"device": {"read_gbs": 4571.0, "blocking_floor_us": 7.0}},
        "inputs": [],
        "rows": rows,
    }


def gpu_rows():
    rows = []
    for contender, label in (("fanin", "fanin one_pass"), ("cub", "cub"), ("kokkos", "kokkos cuda")):
        for destination, timing in (("device", "calls"), ("host", "blocking")):
            for k in range(10, 30, 2):
                us = 3.0 + 4 * 2.0**k / 4.5e3 * 1e-3
                gbs = 4 * 2**k / us * 1e-3
                rows.append(
                    row(contender=contender, label=label, destination=destination, timing=timing, n=2**k,
                        time_us=us, gbs=gbs, share_of_limit=gbs / 4571)
                )  # fmt: skip
    return rows


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, data, name="run.json"):
        file = self.path / name
        file.write_text(data if isinstance(data, str) else json.dumps(data))
        return file

    def run_report(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = report.main([*map(str, arguments), "--out", str(self.path / "out")])
        return code, out.getvalue(), err.getvalue()

    def test_sizes(self):
        self.assertEqual([size_text(n) for n in (1000, 1024, 2**33, 2**20 + 7)], ["1000", "2^10", "2^33", "1048583"])
        self.assertEqual(shown_sizes([1, 2, 3]), {1, 2, 3})
        self.assertEqual(shown_sizes(range(1, 10)), {1, 5, 9})

    def test_table_shows_ratio_share_and_fault(self):
        run = load_run(self.write(run_data([row(), row(label="cub", ok=False, fault="7 where 8 is right")])))
        text = comparison_table(run, every_size=True)
        self.assertIn("2^10", text)
        self.assertIn("1.75", text)
        self.assertIn("WRONG", text)
        self.assertIn("7 where 8 is right", text)

    def test_a_wrong_answer_is_a_failure(self):
        code, _, err = self.run_report(self.write(run_data([row(ok=False, fault="bad")])), "--no-plots")
        self.assertEqual(code, 1)
        self.assertIn("WRONG", err)

    def test_gpu_runs_get_a_figure_with_both_destinations(self):
        code, out, err = self.run_report(self.write(run_data(gpu_rows())))
        self.assertEqual(code, 0, err)
        self.assertIn("4571", out)
        self.assertTrue((self.path / "out/run-gpu.png").exists())
        self.assertTrue((self.path / "out/run-gpu.svg").exists())
        self.assertFalse((self.path / "out/run-host.png").exists())

    def test_several_runs(self):
        first = self.write(run_data([row()]), "first.json")
        second = self.write(run_data([row()]), "second.json")
        code, out, _ = self.run_report(first, second, "--no-plots")
        self.assertEqual(code, 0)
        self.assertIn("first.txt", out)
        self.assertIn("second.txt", out)

    def test_files_that_cannot_be_used(self):
        for data in ("", "{}", "[]", json.dumps({"schema": 99}), json.dumps({"schema": 1})):
            with self.assertRaises(ReportError):
                load_run(self.write(data))
        code, _, err = self.run_report(self.path / "nonesuch.json")
        self.assertEqual(code, 2)
        self.assertIn("nonesuch.json", err)


if __name__ == "__main__":
    unittest.main()
