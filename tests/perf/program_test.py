# SPDX-License-Identifier: Apache-2.0
"""fanin-perf as a user runs it: its options, its mistakes, its JSON, and the report over it.

    program_test.py PROGRAM REPORT.PY [CLASS...]

Baseline compares times, which other processes take; the rest may run beside others.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

PROGRAM = sys.argv.pop(1)
REPORT = sys.argv.pop(1)
sys.path.insert(0, str(Path(REPORT).parent))

from runs import load_run  # noqa: E402

SHORT = ["--quick", "--sizes", "1000,2^12", "--series", "2", "--backends", "serial"]


def run(*arguments):
    return subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False, env=os.environ
    )


class Options(unittest.TestCase):
    def test_help_names_every_option_with_its_default(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        for option in (
            "backends strategies contenders types ops sizes timings host-max series data seed json input array "
            "with-synthetic quick list baseline"
        ).split():
            self.assertIn(f"--{option}", done.stdout)
        self.assertIn("=[f32,f64]", done.stdout)

    def test_list_names_what_can_be_chosen(self):
        done = run("--list")
        self.assertEqual(done.returncode, 0)
        for name in ("serial", "recursive_halving", "i32", "sum_of_squares", "std", "blocking"):
            self.assertIn(name, done.stdout)

    def test_unknown_names_are_answered_with_the_valid_ones(self):
        for option, valid in (
            ("--backends", "serial"),
            ("--strategies", "left_to_right"),
            ("--contenders", "std"),
            ("--types", "i32, i64, u32, u64, f32, f64, i8, u8, i16, f16, bf16, c32, c64, s64"),
            ("--ops", "sum, min, max, min_loc, max_loc, sum_of_squares, dot, several, exact_sum"),
            ("--timings", "all, between, host, calls, graph, blocking, between_small"),
        ):
            done = run(option, "nonesuch")
            self.assertEqual(done.returncode, 2, option)
            self.assertIn("nonesuch", done.stderr)
            self.assertIn(valid, done.stderr)

    def test_mistakes_are_refused(self):
        for arguments in (
            ["--sizes", "many"],
            ["--sizes", "2^50"],
            ["--series", "0"],
            ["--array", "a"],
            ["--input", "nonesuch.npy"],
            ["--nonesuch"],
            [*SHORT, "--json", "/nonesuch/folder/run.json"],
            [*SHORT, "--timings", "graph"],
            [*SHORT, "--timings", "between"],
            [*SHORT, "--data", "nonesuch"],
            [*SHORT, "--data", "loguniform"],
            [*SHORT, "--data", "worst:0"],
            [*SHORT, "--data", "worst:1", "--types", "i64"],
            [*SHORT, "--data", "worst:1", "--contenders", "std"],
            [*SHORT, "--data", "normal", "--types", "i32"],
            [*SHORT, "--data", "loguniform:400", "--types", "f32"],
            [*SHORT, "--contenders", "std", "--strategies", "left_to_right", "--backends", "nonesuch"],
        ):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertNotEqual(done.stderr, "")


class Runs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def measure(self, *arguments):
        file = self.path / "run.json"
        done = run(*SHORT, *arguments, "--json", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {**json.loads(file.read_text()), "rows": load_run(file).rows}

    def report(self, *arguments):
        return subprocess.run(
            [sys.executable, REPORT, str(self.path / "run.json"), "--out", str(self.path / "out"), *arguments],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


class Json(Runs):
    def test_every_row_is_whole(self):
        data = self.measure("--types", "i32,f64", "--ops", "all")
        self.assertEqual(data["schema"], 2)
        for key in ("commit", "dirty", "date", "compiler", "host", "gpu", "fanin", "versions"):
            self.assertIn(key, data["meta"])
        self.assertGreater(data["limits"]["host"]["read_gbs"], 0)
        # Two types, seven operations, two sizes; serial's three orders and std. Of `several` and `exact_sum`, f64 by
        # Fanin, the latter without halving.
        self.assertEqual(len(data["rows"]), 2 * 7 * 2 * 4 + 3 * 2 + 2 * 2)
        exact = [r for r in data["rows"] if r["operation"] == "exact_sum"]
        self.assertEqual({(r["type"], r["contender"]) for r in exact}, {("f64", "fanin")})
        several = [r for r in data["rows"] if r["operation"] == "several"]
        self.assertEqual({r["type"] for r in several}, {"f64"})
        for row in several:
            single = {r["operation"]: r for r in data["rows"] if (r["n"], r["type"]) == (row["n"], "f64")}
            for name in ("min", "max"):
                self.assertEqual(row["reference"][name], single[name]["reference"]["value"])
        for row in data["rows"]:
            self.assertTrue(row["ok"], row)
            self.assertEqual(row["timing"], "host")
            self.assertFalse([name for name in row if "series" in name])
            # The least of two, and their mean: the other is as far above it. Of two series the bounds are far apart.
            self.assertLessEqual(row["time_us"], row["mean_us"] * 1.001)
            deviation = math.log(row["mean_us"] / row["time_us"])
            self.assertAlmostEqual(math.log(row["high_us"] / row["mean_us"]), 12.7062 * deviation, delta=0.07)  # bounds have two digits
            self.assertTrue(math.isclose(row["low_us"] * row["high_us"], row["mean_us"] ** 2))
            arrays = 2 if row["operation"] == "dot" else 1
            size = 4 if row["type"] == "i32" else 8
            self.assertEqual(row["bytes"], row["n"] * size * arrays)

    def test_data_of_several_kinds(self):
        kinds = ["uniform", "loguniform:64", "anybits", "denormals"]
        data = self.measure("--types", "f32,c64", "--ops", "sum,exact_sum,min_loc", "--data", ",".join(kinds))
        self.assertEqual([r["data"] for r in data["rows"] if r["ok"]], [r["data"] for r in data["rows"]])
        cases = {(r["type"], r["operation"], r["n"], r["data"]) for r in data["rows"]}
        self.assertEqual(len(cases), (3 + 1) * 2 * len(kinds))
        answers = {r["data"]: r["reference"]["value"] for r in data["rows"] if (r["type"], r["n"]) == ("f32", 1000)}
        self.assertEqual(len(set(answers.values())), len(kinds))
        shown = self.report("--no-plots")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("share of the plain sum's speed over the same data, fanin lanes", shown.stdout)
        self.assertRegex(shown.stdout, r"(?m)^anybits +0\.\d\d +\d\.\d\d$")
        self.assertIn("By data", (self.path / "out/run.html").read_text(encoding="utf-8"))

    def test_the_worst_data_that_are_found_can_be_asked_for(self):
        data = self.measure("--strategies", "lanes", "--types", "f64", "--ops", "sum,exact_sum", "--data", "worst:0.3")
        (kind,) = {r["data"] for r in data["rows"]}
        self.assertNotEqual(kind, "uniform")
        again = self.measure("--types", "f64", "--ops", "sum", "--data", kind)
        first = {r["n"]: r["reference"] for r in data["rows"]}
        for row in again["rows"]:
            self.assertEqual((row["data"], row["reference"]), (kind, first[row["n"]]))

    def test_other_types_are_only_summed(self):
        kinds = {"i8": (1, 1), "u8": (1, 1), "i16": (2, 1), "f16": (2, 1), "bf16": (2, 1), "c32": (8, 2), "c64": (16, 2)}
        kinds["s64"] = (64, 8)
        data = self.measure("--types", ",".join(kinds), "--ops", "all")
        self.assertEqual(len(data["rows"]), len(kinds) * 3 * 2)
        for row in data["rows"]:
            size, components = kinds[row["type"]]
            self.assertTrue(row["ok"], row)
            self.assertEqual((row["operation"], row["contender"]), ("sum", "fanin"))
            self.assertEqual(row["bytes"], row["n"] * size)
            self.assertEqual(set(row["reference"]), {"value"})
            right = [float(part) for part in row["reference"]["value"].split(" ")]
            self.assertEqual(len(right), components)
            # Means of uniform values, and of bytes from -128 and 0 on.
            mean = {"i8": -0.5, "u8": 127.5, "i16": -0.5}.get(row["type"], 0.25)
            deviation = {"i8": 74, "u8": 74, "i16": 18919}.get(row["type"], 0.29)
            for part in right:
                self.assertLess(abs(part / row["n"] - mean), 6 * deviation / math.sqrt(row["n"]))
        reported = self.report()
        self.assertEqual(reported.returncode, 0, reported.stderr)
        self.assertIn("bf16", reported.stdout)

    def test_ratios_are_of_pairs_of_series(self):
        backends = run("--list").stdout
        if "kokkos-serial" not in backends:
            self.skipTest("built without Kokkos")
        rows = self.measure("--backends", "kokkos-serial")["rows"]
        kokkos = {r["n"]: r for r in rows if r["contender"] == "kokkos"}
        if not kokkos and "kokkos-cuda" in backends:
            self.skipTest("no GPU, which this build's Kokkos needs")
        self.assertEqual(len(kokkos), 2)
        for row in rows:
            if row["contender"] == "kokkos":
                self.assertEqual(row["ratios"], {})
                continue
            [(peer, (ratio, low, high))] = row["ratios"].items()
            self.assertEqual(peer, "kokkos serial")
            self.assertTrue(math.isclose(ratio, kokkos[row["n"]]["mean_us"] / row["mean_us"], rel_tol=2e-3))
            self.assertTrue(low <= ratio <= high)

    def test_a_baseline_that_cannot_be_used(self):
        (self.path / "text.json").write_text("no run")
        for name in ("text.json", "nonesuch.json"):
            done = run(*SHORT, "--baseline", self.path / name)
            self.assertEqual(done.returncode, 2, name)
            self.assertIn(name, done.stderr)
        self.measure("--ops", "min")
        file = self.path / "run.json"
        done = run(*SHORT, "--baseline", file)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no row of this run", done.stderr)
        file.write_text(file.read_text().replace('"schema": 2', '"schema": 1'))
        done = run(*SHORT, "--baseline", file)
        self.assertEqual(done.returncode, 2)
        self.assertIn("it is of schema 1, this fanin-perf reads and writes 2: measure again", done.stderr)

    def test_the_same_seed_gives_the_same_answers(self):
        np.save(self.path / "data.npy", np.arange(9.0))
        arguments = ["--input", self.path / "data.npy", "--with-synthetic"]

        def answers(seed):
            rows = self.measure(*arguments, "--seed", seed)["rows"]
            return [r["reference"] for r in rows if r["input"] is None], [r.get("answer") for r in rows]

        first = answers("5")
        self.assertEqual(first, answers("5"))
        self.assertNotEqual(first[0], answers("6")[0])

    def test_real_arrays_agree_with_numpy(self):
        random = np.random.default_rng(1)
        np.savez(
            self.path / "data.npz",
            floats=random.standard_normal((30, 41)).astype(np.float32),
            small=np.asfortranarray(random.integers(-9, 9, (12, 35), dtype=np.int16)),
            big=random.integers(-(2**62), 2**62, 999),
            nan=np.array([1.0, np.nan, -2.0, np.nan]),
        )
        np.save(self.path / "one.npy", np.float64(2.5))
        arguments = ["--input", self.path / "one.npy"]
        for name in ("floats", "small", "big", "nan"):
            arguments += ["--input", self.path / "data.npz", "--array", name]
        data = self.measure(*arguments)
        self.assertEqual(len(data["inputs"]), 5)
        self.assertIn("widened", data["inputs"][2]["note"])
        self.assertTrue(data["inputs"][2]["fortran_order"])
        self.assertTrue(data["inputs"][4]["has_nan"])
        self.assertEqual({r["input"] for r in data["rows"]}, set(range(5)))
        done = self.report("--no-plots")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("agrees", done.stdout)
        self.assertIn("left out", done.stdout)

    def test_integers_of_files_are_summed_in_64_bits(self):
        heights = np.arange(-400, 8600, dtype=np.int16).reshape(90, 100)  # squares beyond 32 bits
        np.save(self.path / "heights.npy", heights)
        np.save(self.path / "counts.npy", np.full(5000, 2**32 - 1, dtype=np.uint32))
        data = self.measure("--input", self.path / "heights.npy", "--input", self.path / "counts.npy")
        expected = [("i64", [int(h) for h in heights.flat]), ("u64", [2**32 - 1] * 5000)]
        for k, (name, numbers) in enumerate(expected):
            rows = [r for r in data["rows"] if r["input"] == k]
            squares = sum(number * number for number in numbers) % 2**64
            for operation, right in (("sum", sum(numbers)), ("sum_of_squares", squares)):
                answers = {int(r["answer"]["value"]) for r in rows if r["operation"] == operation}
                self.assertEqual(answers, {right}, operation)
            self.assertEqual({r["type"] for r in rows}, {name})
        done = self.report("--no-plots")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_report_sees_a_disagreement_with_numpy(self):
        np.save(self.path / "data.npy", np.arange(1000.0))
        self.measure("--input", self.path / "data.npy")
        np.save(self.path / "data.npy", np.arange(1000.0) + 1)
        done = self.report("--no-plots")
        self.assertEqual(done.returncode, 1)
        self.assertIn("WRONG", done.stderr)

    def test_synthetic_arrays_beside_real_ones(self):
        np.save(self.path / "data.npy", np.arange(100.0))
        data = self.measure("--input", self.path / "data.npy", "--with-synthetic")
        self.assertEqual({r["input"] for r in data["rows"]}, {0, None})

    def test_inputs_that_cannot_be_used(self):
        np.save(self.path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
        np.save(self.path / "empty.npy", np.zeros(0))
        (self.path / "text.npy").write_text("no array")
        for name in ("objects.npy", "empty.npy", "text.npy"):
            done = run(*SHORT, "--input", self.path / name)
            self.assertEqual(done.returncode, 2, name)
            self.assertIn(name, done.stderr)
            self.assertEqual(done.stderr.strip().count("\n"), 0, done.stderr)

    def test_report_writes_table_page_and_plots(self):
        self.measure("--types", "f32,f64", "--ops", "sum,dot")
        done = self.report()
        self.assertEqual(done.returncode, 0, done.stderr)
        for column in ("size", "type", "operation", "contender", "GB/s", "of limit", "x Kokkos"):
            self.assertIn(column, done.stdout)
        written = {p.name for p in (self.path / "out").iterdir()}
        self.assertEqual(written, {"run.txt", "run.html", "run-host.png", "run-host.svg"})
        self.assertTrue((self.path / "out/run-host.png").read_bytes().startswith(b"\x89PNG"))
        self.assertIn("<svg", (self.path / "out/run-host.svg").read_text())


class Baseline(Runs):
    def test_baseline(self):
        file = self.path / "run.json"
        self.measure("--contenders", "fanin")
        arguments = [*SHORT, "--contenders", "fanin", "--baseline", file]

        def compared(verdict, anew=lambda: None):
            """Again where other processes took the time of a run, of the stored one, too."""
            for _ in range(5):
                done = run(*arguments)
                if verdict in done.stdout:
                    break
                anew()
            self.assertIn(verdict, done.stdout, done.stderr)
            return done

        measure_anew = lambda: self.measure("--contenders", "fanin")  # noqa: E731
        self.assertEqual(compared("6 rows, 0 slower", measure_anew).returncode, 0)

        stored = json.loads(file.read_text())
        for case in stored["cases"]:
            for row in case["rows"]:
                if case["n"] == 1000:
                    row[1:4] = [row[1] / 1e12, row[1] / 1e12, 0]  # two series may be far apart
        file.write_text(json.dumps(stored))
        done = compared("6 rows, 3 slower")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("SLOWER"), 3)
        self.assertIn("f32 sum of 1000, fanin left_to_right to host (host)", done.stdout)

        stored["meta"]["host"]["cpu"] = "another"
        file.write_text(json.dumps(stored))
        done = run(*arguments)
        self.assertEqual(done.returncode, 2)
        self.assertIn('its host is "another"', done.stderr)


if __name__ == "__main__":
    unittest.main()
