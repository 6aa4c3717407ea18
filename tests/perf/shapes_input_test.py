#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fanin-perf-shapes over files: which sums the axes of an array are, segments by offsets; its matrices; and what is
refused, in words.

usage: shapes_input_test.py FANIN_PERF_SHAPES [unittest's arguments]
"""

import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
from math import inf, nan, prod
from pathlib import Path

PROGRAM = ""
FORMS = {"d": "f8", "f": "f4", "q": "i8", "i": "i4", "Q": "u8", "I": "u4"}


def write_npy(path, shape, fortran_order=False, numbers=None, form="d"):
    header = f"{{'descr': '<{FORMS[form]}', 'fortran_order': {fortran_order}, 'shape': {shape}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    numbers = numbers or [float(k % 17) if form != "q" else k for k in range(prod(shape))]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     struct.pack(f"<{len(numbers)}{form}", *numbers))


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "array.npy"

    def run_with(self, *options, **how):
        return subprocess.run([PROGRAM, "--quick", "--series", "1", *options], capture_output=True, text=True,
                              errors="surrogateescape", check=False, **how)

    def known(self):
        """The contenders that this build and machine have, as the program tells where one is asked for that is not."""
        said = self.run_with("--shapes", "rows:4x4", "--contenders", "nobody").stderr
        return said.split('there is no contender "nobody"; there are: ')[1].strip().split(", ")

    def few(self):
        """Fanin's, and plain loops on a host."""
        return ("--contenders", ",".join(name for name in self.known() if name == "loops" or name.startswith("fanin")))

    def says(self, words, *options):
        ended = self.run_with(*options)
        self.assertEqual(ended.returncode, 2, ended.stdout + ended.stderr)
        self.assertIn(words, ended.stdout + ended.stderr)


    def rows_of(self, shape, *options):
        to = self.folder / "found.json"
        ended = self.run_with("--shapes", shape, "--json", str(to), *options)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        found = json.loads(to.read_text(encoding="utf-8"))["rows"]
        self.assertEqual({row["shape"] for row in found}, {shape})
        self.assertEqual(len({(row["results"], row["elements"]) for row in found}), 1)
        return found[0]["results"], found[0]["elements"]


class Input(Runs):
    def shapes_of(self, *options):
        to = self.folder / "found.json"
        ended = self.run_with("--input", str(self.file), "--json", str(to), *options)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        found = json.loads(to.read_text(encoding="utf-8"))
        self.assertIn(str(self.file), found["meta"]["input"])
        return [list(dict.fromkeys(row[key] for row in found["rows"])) for key in ("shape", "type")]

    def test_names_that_are_not_there(self):
        names = self.known()
        self.assertTrue(any(name.startswith("fanin") for name in names), names)
        self.says(f'no contender "nobody"; there are: {names[0]}', "--shapes", "rows:4x4", "--contenders",
                  f"{names[0]},nobody")

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
        says = self.says
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


class Segments(Runs):
    def test_offsets_of_every_type(self):
        for form in "qiQI":  # the first is not 0, some are empty, one is long
            write_npy(self.file, (7,), numbers=[3, 3, 4, 70, 70, 900, 901], form=form)
            only = () if form == "q" else (*self.few(), "--types", "f32")
            self.assertEqual(self.rows_of(f"segments:{self.file}", *only), (6, 901))

    def test_arrays_of_an_archive(self):
        write_npy(self.file, (4,), numbers=[0, 2, 2, 7], form="i")
        archive = self.folder / "matrix.npz"
        with zipfile.ZipFile(archive, "w") as to:
            to.write(self.file, "indptr.npy")
        self.assertEqual(self.rows_of(f"segments:{archive}", *self.few()), (3, 7))
        with zipfile.ZipFile(archive, "a") as to:
            to.write(self.file, "indices.npy")
        self.assertEqual(self.rows_of(f"segments:{archive}:indptr", *self.few()), (3, 7))
        self.says("holds several arrays and none was named", "--shapes", f"segments:{archive}")
        self.says("holds no array named 'data'", "--shapes", f"segments:{archive}:data")

    def test_a_name_that_is_no_utf8(self):
        named = self.folder / os.fsdecode(b"\xff.npy")
        write_npy(named, (2,), numbers=[0, 5], form="q")
        to = self.folder / "found.json"
        ended = self.run_with("--shapes", f"segments:{named}", *self.few(), "--json", str(to))
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(json.loads(to.read_text(encoding="utf-8"))["rows"][0]["elements"], 5)

    def test_more_than_memory_holds(self):
        write_npy(self.file, (2,), numbers=[0, 2**40], form="q")
        limit = 8 << 30
        ended = self.run_with("--shapes", f"segments:{self.file}", "--types", "f64",
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        if "ReserveShadowMemoryRange failed" in ended.stderr:
            self.skipTest("AddressSanitizer needs more address space than the limit that this sets")
        self.assertEqual(ended.returncode, 2, ended.stdout + ended.stderr)
        self.assertIn("there is no memory for 1099511627776 elements", ended.stderr)

    def test_what_is_refused(self):
        def says(words, numbers, form="q", shape=None):
            write_npy(self.file, shape or (len(numbers),), numbers=numbers, form=form)
            self.says(words, "--shapes", f"segments:{self.file}")

        says("offset 2 is 4, less than 5, the one before it: offsets may not fall", [0, 5, 4, 9])
        says("offset 0 is -1: offsets are 0 or more", [-1, 5])
        says("offset 1 is 1099511627777, and 2^40 is the most elements", [0, 2**40 + 1])
        says("offset 1 is 18446744073709551615, and 2^40 is the most elements", [0, 2**64 - 1], form="Q")
        says("all offsets are 3: there is nothing to sum", [3, 3, 3])
        says("has the shape (1,): the offsets of n segments are n + 1 integers, two at least", [0])
        says("has the shape (2, 2): the offsets of n segments are n + 1 integers", [0, 1, 2, 3], shape=(2, 2))
        says("holds <f8, and offsets are integers", [0.0, 1.0], form="d")
        self.says("cannot read", "--shapes", f"segments:{self.folder}/none.npy")
        self.file.write_text("0 5 7", encoding="utf-8")
        self.says("does not begin with the mark of a .npy file", "--shapes", f"segments:{self.file}")
        self.says("segments:5 is no shape", "--shapes", "segments:5")
        self.says("rows:2^40x2^40 has more than 2^40 elements", "--shapes", "rows:2^40x2^40")
        self.says("middle:2^20x2^20x2 has more than 2^40 elements", "--shapes", "middle:2^20x2^20x2")


class Matrices(Runs):
    def elements_of(self, matrix):
        return self.rows_of(f"spmv:{matrix}", *self.few(), "--types", "f32")

    def test_elements(self):
        # A box of 3 x 4 x 5: those whose neighbours are outside have fewer.
        self.assertEqual(self.elements_of("stencil7:60"), (60, 7 * 60 - 2 * (3 * 4 + 4 * 5 + 3 * 5)))
        self.assertEqual(self.elements_of("stencil27:60"), (60, (3 * 3 - 2) * (3 * 4 - 2) * (3 * 5 - 2)))
        self.assertEqual(self.elements_of("stencil7:7"), (7, 3 * 7 - 2))
        self.assertEqual(self.elements_of("denserow:10"), (10, 3 * 10 - 2 - 3 + 10))
        self.assertEqual(self.elements_of("denserow:1"), (1, 1))
        rows, elements = self.elements_of("powerlaw:1000")
        self.assertEqual(rows, 1000)
        self.assertTrue(8000 < elements <= 16000, elements)
        self.assertEqual(self.elements_of("powerlaw:1"), (1, 1))

    def test_what_is_refused(self):
        self.says("spmv:stencil5:60 is no matrix; write spmv:stencil7:2^20", "--shapes", "spmv:stencil5:60")
        self.says("spmv:stencil7 is no matrix", "--shapes", "spmv:stencil7")
        self.says("spmv:stencil7:2..8 has several sizes", "--shapes", "spmv:stencil7:2..8")
        self.says("spmv:stencil27:2^27 has 2^31 elements or more, of 27 a row, and its offsets have 32 bits; 79536431 rows are "
                  "the most", "--shapes", "spmv:stencil27:2^27")
        self.says("is no size", "--shapes", "spmv:denserow:many")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
