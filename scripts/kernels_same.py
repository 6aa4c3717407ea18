# SPDX-License-Identifier: Apache-2.0
"""Compares the kernels of two cubins: kernels_same.py BEFORE AFTER. See kernels-same.sh."""

import re
import struct
import subprocess
import sys

BYTES_OF_INSTRUCTION = 16  # from compute capability 7.0 on
KERNEL_NAMES = re.compile(r"fanin(_test)?::|detail::|cuda_strategy::|\(anonymous namespace\)::|\bvoid ")


def code_sections(path):
    """The bytes of every section .text.NAME of an ELF file of 64 bits, by NAME."""
    with open(path, "rb") as file:
        elf = file.read()
    if elf[:4] != b"\x7fELF":
        sys.exit(f"{path} is no cubin")
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    entry_bytes, entries, names_entry = struct.unpack_from("<HHH", elf, 0x3A)
    header = [struct.unpack_from("<IIQQQQ", elf, table + k * entry_bytes) for k in range(entries)]
    names_at = header[names_entry][4]
    found = {}
    for name_offset, _, _, _, offset, size in header:
        begin = names_at + name_offset
        name = elf[begin : elf.index(b"\0", begin)].decode()
        if name.startswith(".text."):
            found[name[len(".text.") :]] = elf[offset : offset + size]
    return found


def without_parameters(name):
    """A function's demangled name without the list of its parameters, whose types' names may change."""
    depth = 0
    for at, letter in enumerate(name):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "(" and depth == 0 and not name.startswith("(anonymous", at):
            return name[:at]
    return name


def kernels_of(path):
    code = code_sections(path)
    names = subprocess.run(["c++filt"], input="\n".join(code), text=True, capture_output=True, check=True).stdout.split("\n")
    return {KERNEL_NAMES.sub("", without_parameters(name)): bits for name, bits in zip(names, code.values())}


def main():
    before, after = (kernels_of(path) for path in sys.argv[1:3])
    both = sorted(before.keys() & after.keys())
    differ = [name for name in both if before[name] != after[name]]
    for name in differ:
        counts = [len(code[name]) // BYTES_OF_INSTRUCTION for code in (before, after)]
        print(f"{counts[0]:6} -> {counts[1]:6}  {name}")
    for name in sorted(before.keys() - after.keys()):
        print(f"gone              {name}")
    for name in sorted(after.keys() - before.keys()):
        print(f"new               {name}")
    print(f"{len(both) - len(differ)} of {len(both)} kernels are the same byte for byte.")
    if not both:
        sys.exit(2)
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
