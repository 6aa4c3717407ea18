#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exact sums against Python: oracle_test.py PROGRAM [THREADS...]. Writes cases, lets oracle_program answer them with so many
threads (1, 2 and 7), and compares bits with math.fsum, where it gives an answer, and with fractions.Fraction."""

import math
import os
import random
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction

FORMATS = {64: ("d", "Q", 53, -1074, 1024), 32: ("f", "I", 24, -149, 128)}


def bits_of(x, width):
    letter, word, *_ = FORMATS[width]
    return struct.unpack("<" + word, struct.pack("<" + letter, x))[0]


def from_bits(bits, width):
    letter, word, *_ = FORMATS[width]
    return struct.unpack("<" + letter, struct.pack("<" + word, bits))[0]


def rounded_bits(exact, width):
    """The bits of the nearest number, ties to even."""
    _, _, precision, least, most = FORMATS[width]
    if exact == 0:
        return 0
    sign = 1 << (width - 1) if exact < 0 else 0
    exact = abs(exact)
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    if exact < Fraction(2) ** exponent:
        exponent -= 1
    unit = max(exponent - precision + 1, least)
    kept = round(exact / Fraction(2) ** unit)  # Python rounds ties to even
    if kept >= 2 ** (most - unit):
        return sign | ((1 << (width - precision)) - 1) << (precision - 1)
    return sign | (((unit - least) << (precision - 1)) + kept)


def special(values, width):
    """What infinities and NaN among `values` come to, or None where there are none."""
    if any(math.isnan(x) for x in values) or (math.inf in values and -math.inf in values):
        return (1 << 64) - 1
    for infinity in (math.inf, -math.inf):
        if infinity in values:
            return bits_of(infinity, width)
    return None


def exact_sum(values):
    """Of finite numbers: all as integers in units of the smallest."""
    total = 0
    for x in values:
        numerator, denominator = x.as_integer_ratio()
        total += numerator << 2200 - (denominator.bit_length() - 1)
    return Fraction(total, 1 << 2200)


def product(x, y):
    if math.isfinite(x) and math.isfinite(y):
        return Fraction(x) * Fraction(y)
    return x * y


def expected(kind, x, y):
    width = 32 if kind in ("sum32", "dot32", "sum64to32") else 64
    if kind.startswith("sum"):
        answer = special(x, width)
        if answer is not None:
            return answer
        exact = rounded_bits(exact_sum(x), width)
        if kind == "sum64":
            try:
                assert bits_of(math.fsum(x) + 0.0, 64) == exact, "math.fsum and Fraction differ"
            except OverflowError:
                pass
        return exact
    products = [product(a, b) for a, b in zip(x, x if kind == "norm64" else y)]
    answer = special([p for p in products if isinstance(p, float)], width)
    if answer is not None:
        return answer
    return rounded_bits(sum(products, Fraction(0)), width)


class Cases:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.all = []

    def add(self, kind, x, y=None):
        self.all.append((kind, list(x), list(y) if y is not None else None))

    def any_finite(self, width):
        while True:
            x = from_bits(self.random.getrandbits(width), width)
            if math.isfinite(x):
                return x

    def scaled(self, low, high):
        return math.ldexp(self.random.uniform(-1, 1), self.random.randint(low, high))

    def ill_conditioned(self, n, exponent):
        """Terms of up to 2^exponent whose sum is about 1: after Ogita, Rump and Oishi, the second half of the terms
        takes away what the terms before it come to."""
        x = [self.scaled(0, exponent) for _ in range(n // 2)]
        x[0] = math.ldexp(self.random.uniform(0.5, 1), exponent)
        total = exact_sum(x)
        for k in range(n - n // 2):
            height = exponent - exponent * (k + 1) // (n - n // 2)
            term = math.ldexp(self.random.uniform(-1, 1), height) - float(total)
            x.append(term)
            total += Fraction(term)
        self.random.shuffle(x)
        return x

    def anderson(self, n):
        """Anderson's: uniform numbers less their mean, so that nearly everything cancels."""
        x = [self.random.random() for _ in range(n)]
        mean = math.fsum(x) / n
        return [value - mean for value in x]

    def alternating(self, n):
        height = self.random.randint(-1000, 1020)
        x = []
        for _ in range(n // 2):
            huge = math.ldexp(self.random.uniform(0.5, 1), height)
            x += [huge, -huge]
            if self.random.random() < 0.5:
                x.append(self.scaled(-1070, height))
        return x

    def ties(self, n):
        """Sums that lie halfway between two doubles, or next to that."""
        e = self.random.randint(-1000, 960)
        x = [math.ldexp(self.random.randrange(2**52, 2**53), e), math.ldexp(1, e - 1)]
        if self.random.random() < 0.7:
            x.append(self.random.choice([-1, 1]) * math.ldexp(1, self.random.randint(-1074, e - 2)))
        for _ in range(n):
            value = self.any_finite(64)
            x += [value, -value]
        self.random.shuffle(x)
        return x

    def denormals(self, n):
        return [from_bits(self.random.getrandbits(1) << 63 | self.random.getrandbits(52), 64) for _ in range(n)]


def all_cases():
    cases = Cases(20240607)
    r = cases.random
    for kind in ("sum64", "sum64to32"):
        for x in ([], [0.0], [-0.0], [1e308, 1e308, -1e308], [1.0, math.inf, 2.0], [1e100, 1.0, -1e100],
                  [5e-324] * 1000, [math.inf, -math.inf], [math.nan, 1.0], [-math.inf, 1e308, 1e308],
                  [sys.float_info.max, 2.0**970], [sys.float_info.max, 2.0**970, -5e-324]):
            cases.add(kind, x)
    for _ in range(500):
        n = r.choice([2, 3, 10, 30, 100, 600])
        cases.add("sum64", [cases.any_finite(64) for _ in range(n)])
        cases.add("sum64", cases.ill_conditioned(max(n, 4), r.choice([50, 200, 600, 1000])))
        cases.add("sum64", cases.anderson(n))
        cases.add("sum64", cases.alternating(n))
        cases.add("sum64", cases.ties(n // 3))
        cases.add("sum64to32", [cases.scaled(-160, 120) for _ in range(n)])
        cases.add("sum32", [cases.any_finite(32) for _ in range(n)])
        cases.add("sum32", [from_bits(r.getrandbits(32) & 0x807FFFFF, 32) for _ in range(n)])
        cases.add("sum32", [from_bits(bits_of(r.gauss(0, 1), 32), 32) for _ in range(n)])
    for _ in range(100):
        cases.add("sum64", cases.denormals(r.randint(1, 400)))
        n = r.choice([1, 5, 40, 300])
        low = r.choice([-1074, -600, -20])
        high = r.choice([20, 500, 1020])
        x = [cases.scaled(low, high) for _ in range(n)]
        y = [cases.scaled(low, high) for _ in range(n)]
        cases.add("dot64", x, y)
        cases.add("dot64", x + x, y + [-b for b in y])  # all of it cancels
        cases.add("dot64", x + [1.0, 2.0**-53, 5e-324], y + [1.0, 1.0, r.choice([-5e-324, 5e-324])])
        cases.add("norm64", x)
        cases.add("dot32", [cases.any_finite(32) for _ in range(n)], [cases.any_finite(32) for _ in range(n)])
    for x, y in (([0.0], [math.inf]), ([math.inf, 1.0], [-1.0, math.nan]), ([1e300, -1e300], [1e300, 1e300]),
                 ([math.inf, math.inf], [1.0, -5e-324])):
        cases.add("dot64", x, y)
    # One array in many orders, and long ones.
    x = cases.ill_conditioned(500, 900)
    for _ in range(20):
        r.shuffle(x)
        cases.add("sum64", x)
    for n in (4096, 10_000, 65_537, 1_000_000):
        cases.add("sum64", [r.random() for _ in range(n)])
        cases.add("sum64", [r.gauss(0, 1) for _ in range(n)])
        cases.add("sum32", [from_bits(bits_of(r.random(), 32), 32) for _ in range(n)])
    for n in (10_000, 100_001):
        cases.add("sum64", [cases.scaled(-1074, 1020) for _ in range(n)])
        cases.add("sum64", cases.ill_conditioned(n, 1000))
        cases.add("sum64", [cases.scaled(-30, 30) for _ in range(n)])
        cases.add("dot64", [r.gauss(0, 1) for _ in range(n // 10)], [r.gauss(0, 1) for _ in range(n // 10)])
    return cases.all


def write(cases, path):
    with open(path, "wb") as file:
        for kind, x, y in cases:
            letter = "f" if kind in ("sum32", "dot32") else "d"
            file.write(f"{kind} {len(x)}\n".encode())
            for values in (x, y) if y is not None else (x,):
                file.write(struct.pack(f"<{len(values)}{letter}", *values))


def main():
    program = sys.argv[1]
    numbers_of_threads = [int(word) for word in sys.argv[2:]] or [1, 2, 7]
    cases = all_cases()
    wanted = [expected(*case) for case in cases]
    failures = 0
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "cases")
        write(cases, path)
        for threads in numbers_of_threads:
            environment = dict(
                os.environ, OMP_NUM_THREADS=str(threads), KOKKOS_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive"
            )
            answered = subprocess.run([program, path], env=environment, capture_output=True, text=True)
            sys.stderr.write(answered.stderr)
            lines = answered.stdout.splitlines()
            if answered.returncode != 0 or len(lines) != len(cases) + 1:
                sys.exit(f"{program} with {threads} threads: exit status {answered.returncode}, {len(lines)} lines")
            if lines[0] not in (f"threads {threads}", "threads 1"):
                sys.exit(f"asked for {threads} threads, and it says: {lines[0]}")
            for number, (line, want, (kind, x, _)) in enumerate(zip(lines[1:], wanted, cases)):
                got = [int(word, 16) for word in line.split()]
                if got != [want]:
                    failures += 1
                    if failures <= 20:
                        print(f"case {number}, {kind} of {len(x)}, {threads} threads: expected {want:x}, got {line}")
    if failures > 0:
        sys.exit(f"{failures} of {len(cases)} cases, each with {numbers_of_threads} threads, are wrong")
    print(f"{len(cases)} cases, with {numbers_of_threads} threads, agree to the bit")


if __name__ == "__main__":
    main()
