# SPDX-License-Identifier: Apache-2.0
"""whole.py CUBIN: whether every tagged unit is loaded by one instruction, as they are written.

A unit's tag says that its other words are there, too, only if all come at once. PTX asks for that, but of a load of
which parts are never looked at ptxas makes several. Besides the units, a block loads one word so: how many launches there were.
"""

import importlib.util
import pathlib
import re
import subprocess
import sys

SKIPPED = 77


def disassembler():
    found = importlib.util.find_spec("nvidia")
    for folder in found.submodule_search_locations if found else []:
        for path in pathlib.Path(folder).glob("*/bin/nvdisasm"):
            return path
    return None


def main():
    tool = disassembler()
    if tool is None:
        print("skipped: no nvdisasm; scripts/test.sh installs it (scripts/requirements-test.txt)")
        return SKIPPED
    code = subprocess.run([tool, "-c", sys.argv[1]], capture_output=True, text=True, check=True).stdout
    kernel = None
    loads = {}
    for line in code.splitlines():
        section = re.match(r"\.section\s+\.text\.(\w+)|^\.text\.(\w+):", line)
        if section:
            kernel = section[1] or section[2]
        elif kernel and "LDG" in line and "STRONG.GPU" in line:
            wide, narrow = loads.get(kernel, (0, 0))
            loads[kernel] = (wide + 1, narrow) if ".128" in line else (wide, narrow + 1)
    wrong = [f"{name}: {wide} whole, {narrow} of less" for name, (wide, narrow) in loads.items() if narrow > 1 or wide == 0]
    print("\n".join(wrong))
    print(f"{len(loads)} kernels, {sum(wide for wide, _ in loads.values())} loads of whole units")
    return 1 if wrong or len(loads) < 12 else 0


sys.exit(main())
