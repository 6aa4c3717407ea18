# SPDX-License-Identifier: Apache-2.0
"""whole_units.py CUBIN: whether every tagged unit is stored and loaded by one instruction, and settled before.

A unit's tag says that its other words are there, too, only if all come at once. PTX asks for that, but of a load of
which parts are never looked at ptxas makes several. Besides the units, a block loads one word so: how many launches there
were. Words of values with gaps, as counted_min's, go through a shuffle before a tag is made of them, and before they
go to the host, which is all that a lone block does; those of others do not.
"""

import re
import sys

import machine_code


def main():
    code = machine_code.of_cubin(sys.argv[1])
    kernel = None
    found = {}
    for line in code.splitlines():
        section = re.match(r"\.section\s+\.text\.(\w+)|^\.text\.(\w+):", line)
        if section:
            kernel = section[1] or section[2]
            found.setdefault(kernel, dict.fromkeys(("loads", "short loads", "stores", "short stores", "settled"), 0))
        access = re.search(r"\b(LDG|STG)\.\S*STRONG\.GPU", line)
        if kernel and access:
            what = "loads" if access[1] == "LDG" else "stores"
            found[kernel][what if ".128" in access[0] else "short " + what] += 1
        if kernel and "SHFL.IDX" in line:
            found[kernel]["settled"] += 1
    watching = {name: count for name, count in found.items() if count["stores"] + count["short stores"] > 0}
    wrong = [
        f"{name}: {count}"
        for name, count in watching.items()
        if count["loads"] == 0 or count["stores"] == 0 or count["short loads"] > 1 or count["short stores"] > 0
        or (count["settled"] >= 3) != ("counted_min" in name)
    ]
    lone = {name: count for name, count in found.items() if "5alone" in name}
    wrong += [
        f"{name}, to the host: {count}"
        for name, count in lone.items()
        if (count["settled"] >= 3) != ("counted_min" in name)
    ]
    print("\n".join(wrong))
    print(
        f"{len(watching)} kernels, {sum(count['loads'] for count in watching.values())} loads of whole units; "
        f"{len(lone)} lone blocks"
    )
    return 1 if wrong or len(watching) < 12 or len(lone) < 6 else 0


sys.exit(main())
