# SPDX-License-Identifier: Apache-2.0
"""loads_together.py CUBIN: whether threads ask for all elements of a round before they wait for the first.

To save registers ptxas puts a fold, or a store to the block's memory, between two loads of a round, so that the loads
behind it wait for those before it: a third more time and more, and nothing that a test of values sees. Which edit does it
nobody can tell: it may be one of code that the kernel has elsewhere.

Of each kernel below: what first uses loaded elements, and how many loads stand together in front of it, in the rounds
that have most; how many at the most in front of what is not to stand between loads; and which keep nothing in memory
for want of registers.
"""

import re
import sys

import machine_code

FLOATS = "contiguous_elementIfE"
DOUBLES = "contiguous_elementIdE"
WITHOUT_GAPS = "segments_by_warps_kernelILNS0_11staged_gapsE0"
WITH_GAPS = "segments_by_warps_kernelILNS0_11staged_gapsE1"
EXPECTED = {
    (WITHOUT_GAPS, FLOATS): {"STS": [8], "FADD": [8, 8]},
    (WITHOUT_GAPS, DOUBLES): {"STS": [4, 4], "DADD": [8, 8]},
    (WITH_GAPS, FLOATS): {"STS": [8], "FADD": [8, 8]},
    (WITH_GAPS, DOUBLES): {"STS": [4, 4], "DADD": [8, 8]},
    ("segments_by_warps_kernel", "productIfE"): {"FMUL": [12] * 6},
    ("segments_by_warps_kernel", "productIdE"): {"DMUL": [12] * 6},
    ("segments_by_blocks_kernelILb0", FLOATS): {"FADD": [16] * 4},
    ("segments_by_blocks_kernelILb0", DOUBLES): {"DADD": [16, 8, 8, 8, 8]},
    ("segments_by_blocks_kernelILb1", FLOATS): {"FADD": [16] * 4},
    ("segments_by_blocks_kernelILb1", DOUBLES): {"DADD": [8, 8, 8, 8]},
    ("segments_by_block_each_kernel", FLOATS): {"FADD": [16, 16, 15, 15]},
    ("segments_by_block_each_kernel", DOUBLES): {"DADD": [8, 8, 8, 8]},
    ("long_segments_kernel", FLOATS): {"FADD": [16, 16]},
    ("long_segments_kernel", DOUBLES): {"DADD": [16, 8]},
    ("unlisted_segments_kernel", "productIfE"): {"FMUL": [24] * 3 + [12] * 5},
    ("unlisted_segments_kernel", "productIdE"): {"DMUL": [12] * 7},
    ("prepared_segments_kernelILi4", "productIfE"): {"FMUL": [24] * 8},
    ("prepared_segments_kernelILi3", "productIdE"): {"DMUL": [24] * 8},
    ("prepared_segments_kernelILi4", "productIdE"): {"DMUL": [12] * 8},
    ("prepared_segments_kernelILi5", "productIdE"): {"DMUL": [12] * 8},
    ("md_source", "element_of_boxIfE"): {"FADD": [8, 4, 2]},
    ("md_source", "element_of_boxIdE"): {"DADD": [8, 4, 2]},
    ("runs_by_warps_kernel", FLOATS): {"FADD": [8] * 8},
    ("runs_by_warps_kernel", DOUBLES): {"STS": [8], "DADD": [8] * 7},
}
# Of few elements a thread: what goes to memory for want of a register is an eighth of the traffic.
WITHOUT_SPILLS = {"segments_by_block_each_kernel"}
# Of floats that are products; with 5 where few elements are left a matrix of 27 floats a row took no more time.
AT_MOST = {
    ("segments_by_warps_kernel", "productIfE"): ("STS", 5),
    ("unlisted_segments_kernel", "productIfE"): ("STS", 1),
}

USES = {"STS", "STG", "SHFL", "VOTE", "FADD", "FMUL", "DADD", "DMUL"}
ENDS = {"BRA", "EXIT", "RET", "CALL", "BAR"}


def instructions(code):
    """Of each kernel, the names of its instructions."""
    all_of = {}
    kernel = None
    for line in code.splitlines():
        begin = re.match(r"\.text\.(\w+):", line)
        if begin:
            kernel = all_of.setdefault(begin[1], [])
        name = re.match(r"\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9]*)", line)
        if kernel is not None and name:
            kernel.append(name[1])
    return all_of


def loads_before(names):
    """How many loads stand together in front of each kind of use, most first."""
    found = {}
    loads = 0
    for name in names:
        if name == "LDG":
            loads += 1
        elif name in USES or name in ENDS:
            if loads > 0:
                found.setdefault(name, []).append(loads)
            loads = 0
    return {name: sorted(counts, reverse=True) for name, counts in found.items()}


def main():
    code = machine_code.of_cubin(sys.argv[1])
    all_of = instructions(code)
    kernels = {name: loads_before(names) for name, names in all_of.items()}
    wrong = 0
    for name, names in all_of.items():
        if any(kernel in name for kernel in WITHOUT_SPILLS) and "STL" in names:
            print(f"{name} keeps values in memory")
            wrong += 1
    for (kernel, elements), expected in EXPECTED.items():
        those = [found for name, found in kernels.items() if kernel in name and elements in name]
        if len(those) != 1:
            print(f"{kernel} of {elements}: {len(those)} of them are in {sys.argv[1]}")
            wrong += 1
            continue
        for use, least in expected.items():
            found = those[0].get(use, [])
            is_right = len(found) >= len(least) and all(have >= want for have, want in zip(found, least))
            print(f"{kernel} of {elements}, before {use}: {found[:len(least)]}{'' if is_right else f', not {least}'}")
            wrong += not is_right
        use, most = AT_MOST.get((kernel, elements), (None, 0))
        if use is not None and max(those[0].get(use, [0])) > most:
            print(f"{kernel} of {elements}, before {use}: {those[0][use]}, none of which is to be more than {most}")
            wrong += 1
    return 1 if wrong else 0


sys.exit(main())
