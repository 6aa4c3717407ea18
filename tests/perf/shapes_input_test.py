#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fanin-perf-shapes --input: which sums the axes of an array are, and what is refused, in words.

usage: shapes_input_test.py FANIN_PERF_SHAPES [unittest's arguments]
"""

import json
import struct
import subprocess
import sys
import tempfile
import unittest
from math import inf, nan, prod
from pathlib import Path

PROGRAM = ""


def write_npy(path, shape, fortran_order=False, numbers=None, form="d"):
    header = f"{{'descr': '<{'f8' if form == 'd' else 'f4' if form == 'f' else 'i8'}', 'fortran_order': {fortran_order}, 'shape': {shape}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    numbers = numbers or [float(k % 17) if form != "q" else k for k in range(prod(shape))]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     struct.pack(f"<{len(numbers)}{form}", *numbers))


class Input(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "array.npy"

    def run_with(self, *options):
        return subprocess.run([PROGRAM, "--quick", "--series", "1", *options], capture_output=True, text=True,
                              check=False)

    def shapes_of(self, *options):
        to = self.folder / "found.json"
        ended = self.run_with("--input", str(self.file), "--json", str(to), *options)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        found = json.loads(to.read_text(encoding="utf-8"))
        self.assertIn(str(self.file), found["meta"]["input"])
        return [list(dict.fromkeys(row[key] for row in found["rows"])) for key in ("shape", "type")]

    def test_axes_of_either_order(self):
        write_npy(self.file, (2, 3, 5))
        self.assertEqual(self.shapes_of(), [["columns:2x15", "middle:2x3x5", "rows:6x5"], ["f64"]])
        write_npy(self.file, (2, 3, 5), fortran_order=True)
        self.assertEqual(self.shapes_of(), [["rows:15x2", "middle:5x3x2", "columns:5x6"], ["f64"]])
        self.assertEqual(self.shapes_of("--axis", "-1,0")[0], ["columns:5x6", "rows:15x2"])

    def test_other_ranks(self):
        write_npy(self.file, (40,), form="f")
        self.assertEqual(self.shapes_of(), [["rows:1x40"], ["f32"]])
        write_npy(self.file, (3, 1, 4, 2))
        self.assertEqual(self.shapes_of("--axis", "0,1,2,3")[0], ["columns:3x8", "middle:3x1x8", "middle:3x4x2", "rows:12x2"])

    def test_infinities_and_nan_are_right_answers(self):
        write_npy(self.file, (3, 4), numbers=[1.0, nan, *range(9), inf])
        self.assertEqual(self.shapes_of()[0], ["columns:3x4", "rows:3x4"])

    def test_what_is_refused(self):
        def says(words, *options):
            ended = self.run_with(*options)
            self.assertNotEqual(ended.returncode, 0)
            self.assertIn(words, ended.stdout + ended.stderr)

        write_npy(self.file, (2, 3))
        says("has the shape (2, 3): --axis 2 is none of its axes", "--input", str(self.file), "--axis", "2")
        says("is none of its axes", "--input", str(self.file), "--axis", "-3")
        says("--shapes excludes --input", "--input", str(self.file), "--shapes", "rows:3x3")
        says("--types excludes --input", "--input", str(self.file), "--types", "f32")
        write_npy(self.file, (2, 3), form="q")
        says("holds <i8, and sums are of float32 and float64", "--input", str(self.file))
        write_npy(self.file, (0, 3))
        says("holds no elements", "--input", str(self.file))
        write_npy(self.file, (), numbers=[3.0])
        says("is one number: it has no axis", "--input", str(self.file))
        says("cannot read", "--input", str(self.folder / "none.npy"))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
