#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What perf/shapes/pytorch.py makes of a file, with a PyTorch that numpy stands in for; and the heat map beside its rows.

usage: shapes_pytorch_test.py FOLDER_OF_SHAPES [unittest's arguments]
"""

import contextlib
import io
import json
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

FOLDER = Path(sys.argv.pop(1))
sys.path.insert(0, str(FOLDER))

import heat_map  # noqa: E402
import pytorch  # noqa: E402

GPU = "Some GPU"


def row(shape, contender="fanin", gb_per_s=5.0, **more):
    return {"shape": shape, "type": "f64", "contender": contender, "time_us": 10.0, "gb_per_s": gb_per_s, **more}


def run_of(*rows, gpu=GPU):
    return {"meta": {"gpu": gpu and {"name": gpu}, "host": {}, "versions": {"cub": "3.0.1"}, "series": 3}, "rows": [*rows]}


class Tensor:
    """Of PyTorch's what pytorch.py asks for."""

    def __init__(self, array):
        self.array = np.asarray(array)

    def uniform_(self, low, high):
        self.array[...] = np.random.default_rng(1).uniform(low, high, self.array.shape)
        return self

    def __getitem__(self, at):
        return Tensor(self.array[at])

    def view(self, extents):
        return Tensor(self.array.reshape(extents))

    def cpu(self):
        return Tensor(self.array.copy())

    def double(self):
        return Tensor(self.array.astype(float))

    def sum(self, axis):
        return Tensor(self.array.sum(axis))

    def abs(self):
        return Tensor(abs(self.array))

    def abs_(self):
        np.abs(self.array, out=self.array)
        return self

    def clamp_(self, min):
        np.maximum(self.array, min, out=self.array)
        return self

    def max(self):
        return Tensor(self.array.max())

    def item(self):
        return self.array.item()

    def __sub__(self, other):
        return Tensor(self.array - other.array)

    def __truediv__(self, other):
        return Tensor(self.array / other.array)


class StandIn:
    """A GPU whose calls take 10 us each. What is enqueued within graph() is what a replay runs."""

    float32, float64, __version__ = np.float32, np.float64, "9.9"

    def __init__(self, gpu=GPU, error=0.0):
        self.error = error
        self.now = 0.0
        self.captured = None
        self.turns = []  # arrays that each graph reads
        self.read = set()
        nothing = types.SimpleNamespace(wait_stream=lambda other: None)
        self.cuda = types.SimpleNamespace(
            is_available=lambda: gpu is not None, get_device_name=lambda index: gpu, empty_cache=lambda: None,
            Stream=lambda: nothing, current_stream=lambda: nothing, stream=lambda stream: contextlib.nullcontext(),
            Event=lambda enable_timing: self.Event(self), CUDAGraph=lambda: self.Graph(self), graph=self.capture)

    class Event:
        def __init__(self, of):
            self.of, self.at = of, None

        def record(self):
            self.at = self.of.now

        def synchronize(self):
            pass

        def elapsed_time(self, end):
            return end.at - self.at

    class Graph:
        def __init__(self, of):
            self.of, self.calls = of, 0

        def replay(self):
            self.of.now += self.calls * 0.01

    @contextlib.contextmanager
    def capture(self, graph):
        self.captured, self.read = graph, set()
        yield
        self.captured = None
        self.turns.append(len(self.read))

    def empty(self, extents, dtype, device):
        return Tensor(np.empty(extents, dtype))

    def sum(self, x, axis, out):
        if self.captured is not None:
            self.captured.calls += 1
            self.read.add(x.array.ctypes.data)
            return
        self.now += 0.01
        x.array.sum(axis, out=out.array)
        out.array += self.error


class OverFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "shapes.json"

    def main(self, run, torch):
        self.file.write_text(run if isinstance(run, str) else pytorch.text_of(run), encoding="utf-8")
        with mock.patch.dict(sys.modules, {"torch": torch}), contextlib.redirect_stdout(io.StringIO()):
            return pytorch.main(self.file)

    def rows(self):
        return json.loads(self.file.read_text(encoding="utf-8"))["rows"]


class Refusals(OverFiles):
    def says(self, words, run, torch=None):
        with self.assertRaises(pytorch.Refusal) as refused:
            self.main(run, torch)
        self.assertIn(words, str(refused.exception))
        self.assertEqual(self.file.read_text(encoding="utf-8"), run if isinstance(run, str) else pytorch.text_of(run))

    def test_in_words(self):
        of_rows = run_of(row("rows:4x5"))
        self.says("there is no PyTorch to measure", of_rows)
        self.says("PyTorch 9.9 sees no GPU", of_rows, StandIn(gpu=None))
        self.says("measured on Some GPU, and PyTorch sees Other GPU", of_rows, StandIn(gpu="Other GPU"))
        self.says("was measured on a host", run_of(row("rows:4x5"), gpu=None))
        self.says("has no sums of rows", run_of(row("md:4x5"), row("segments:a.npy", elements=5), row("runs:4x5")))
        for text in ("no run", "[]", "{}", '{"meta":{"gpu":{}},"rows":[3]}'):
            self.says("is not what fanin-perf-shapes --json writes", text)
        with self.assertRaisesRegex(pytorch.Refusal, "cannot read"):
            pytorch.main(self.file.parent / "none.json")


class Rows(OverFiles):
    def test_are_added_once(self):
        cub = row("rows:400x5", "cub", mean_us=20.0, within_percent=4)
        before = run_of(
            row("rows:400x5", mean_us=5.0, within_percent=3, ratios={"cub": [4.0, 3.8, 4.2]}), cub, row("columns:40x50"),
            row("middle:4x5x60", mean_us=20.0), row("md:4x5"), row("segments:o.npy", elements=5), row("spmv:stencil7:8", elements=9))
        for _ in range(2):
            torch = StandIn()
            self.assertEqual(self.main(before, torch), 0)
            self.assertEqual(torch.turns, [20, 20, 20])
            before = json.loads(self.file.read_text(encoding="utf-8"))
            self.assertEqual(before["meta"]["versions"], {"cub": "3.0.1", "pytorch": "9.9"})
            found = self.rows()
            self.assertEqual([one["contender"] for one in found], ["fanin", "cub", "pytorch"] + ["fanin", "pytorch"] * 2 + ["fanin"] * 3)
            self.assertEqual(found[1], cub)
            self.assertLess(found[2].pop("within_percent"), 1e-9)
            self.assertEqual(found[2], row("rows:400x5", "pytorch", gb_per_s=1.92, mean_us=10.0))
            self.assertEqual(found[0]["ratios"], {"cub": [4.0, 3.8, 4.2], "pytorch": [2.0, 1.942, 2.06]})
            self.assertEqual(found[4]["gb_per_s"], 1.64)
            self.assertNotIn("ratios", found[3])  # of an older program: no mean
            self.assertEqual(found[6]["gb_per_s"], 1.152)
            self.assertEqual(found[5]["ratios"], {"pytorch": [0.5, 0.0, None]})
            self.assertEqual(heat_map.read(self.file)[:3], (GPU, "f64", 2000))

    def test_wrong_answers_are_not_timed(self):
        self.assertEqual(self.main(run_of(row("rows:4x5", mean_us=1.0)), StandIn(error=1e-6)), 1)
        self.assertRegex(self.rows()[1]["fault"], "^wrong by .*e-0[67]$")
        self.assertNotIn("ratios", self.rows()[0])

    def test_not_a_number_is_wrong(self):
        self.assertEqual(self.main(run_of(row("columns:4x5")), StandIn(error=float("nan"))), 1)
        self.assertEqual(self.rows()[1]["fault"], "wrong by nan")


class Numbers(unittest.TestCase):
    def test_bounds(self):
        made = pytorch.row_of("rows:4x5", "f32", [12.0, 9.0, 10.0])
        half = 4.3027 * np.log([9, 10, 12]).std(ddof=1) / 3**0.5
        self.assertEqual((made["time_us"], made["mean_us"]), (10.0, 10.26))
        self.assertAlmostEqual(made["within_percent"], (np.exp(half) - 1) * 100, delta=0.1)
        (fanin, _) = pytorch.with_rows(run_of(row("rows:4x5", mean_us=5.0, within_percent=10) | {"type": "f32"}), [made], "9.9")["rows"]
        width = np.exp(np.hypot(half, np.log(1.1)))
        for found, right in zip(fanin["ratios"]["pytorch"], (2.052, 2.052 / width, 2.052 * width), strict=True):
            self.assertAlmostEqual(found, right, delta=0.005)
        alone = pytorch.row_of("rows:4x5", "f32", [12.0])
        self.assertNotIn("within_percent", alone)

    def test_median_of_even_many(self):
        self.assertEqual(pytorch.median([4.0, 1.0, 3.0, 2.0]), 2.5)


class Texts(unittest.TestCase):
    def test_files_stay_as_they_were_written(self):
        for file in (FOLDER.parent / "results" / "h200").glob("shapes_*.json"):
            text = file.read_text(encoding="utf-8")
            self.assertEqual(pytorch.text_of(json.loads(text)), text, file)

    def test_students_distribution(self):
        for degrees, t in ((1, 12.7062), (2, 4.3027), (3, 3.1824), (14, 2.1448)):
            self.assertAlmostEqual(pytorch.student_t95(degrees), t, delta=5e-5)


if __name__ == "__main__":
    unittest.main()
