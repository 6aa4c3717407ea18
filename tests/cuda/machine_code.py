# SPDX-License-Identifier: Apache-2.0
"""What tests read of machine code, by the nvdisasm that scripts/test.sh installs (scripts/requirements-test.txt)."""

import importlib.util
import pathlib
import subprocess
import sys

SKIPPED = 77


def of_cubin(path):
    """Its text. Ends the program, as one that was skipped, where there is no nvdisasm."""
    found = importlib.util.find_spec("nvidia")
    for folder in found.submodule_search_locations if found else []:
        for tool in pathlib.Path(folder).glob("*/bin/nvdisasm"):
            return subprocess.run([tool, "-c", path], capture_output=True, text=True, check=True).stdout
    print("skipped: no nvdisasm; scripts/test.sh installs it (scripts/requirements-test.txt)")
    sys.exit(SKIPPED)
