# SPDX-License-Identifier: Apache-2.0
"""Whether Fanin's headers call their own functions by full names wherever an argument's type may be an application's:
else a function of the same name in that type's namespace could be called instead. Clang's syntax tree says which calls
look there (ADL). Usage: calls.py CLANG COMPILE_COMMANDS"""

import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUFFIXES = (".hpp", ".cuh")
ELSEWHERE = ("exact_refused.hpp",)  # stands for others, by flags
FOLDERS = tuple(f"{ROOT}/{folder}/" for folder in ("core", "device", "backends"))

# Of each row the first unit that is compiled here, which knows the folders of headers, and whose headers are looked at.
UNITS = (
    (
        ("tests/mpi/ranks_test.cpp", ("core", "backends/serial", "backends/host", "backends/kokkos", "backends/mpi")),
        ("tests/kokkos/names_test.cpp", ("core", "backends/serial", "backends/host", "backends/kokkos")),
        ("tests/core/names_test.cpp", ("core", "backends/serial", "backends/host")),
    ),
    (
        ("tests/mpi/nccl_test.cpp", ("device", "backends/cuda", "backends/nccl")),
        ("tests/simulator/axes_test.cpp", ("device", "backends/cuda")),
    ),
)

# Of CUDA, of types of its own and built-in ones; and get of a tuple: docs/contract.md.
ALLOWED = {"get", "atomicAdd", "atomicExch", "cudaMemsetAsync", "__ldcg"}

PLACE = re.compile(r"(/[^\s:<>,]+):(\d+):(\d+)|line:(\d+):(\d+)|col:(\d+)")
CALL = re.compile(r"\(ADL\) = '([^']*)'")


def headers_of(folders):
    includes = [ROOT / folder / "include" for folder in folders]
    paths = [path.relative_to(include) for include in includes for path in include.rglob("*") if path.suffix in SUFFIXES]
    return sorted(str(path) for path in paths if path.name not in ELSEWHERE)


def tree_of(clang, command, headers):
    flags, words = [], shlex.split(command)
    for at, word in enumerate(words):
        if word == "-isystem" or (word == "-include" and not words[at + 1].endswith(".hxx")):
            flags += [word, words[at + 1]]
        elif word.startswith(("-I", "-D", "-std=")) or word == "-fopenmp":
            flags.append(word)
    if "/simulator/" in " ".join(flags) and "-include" not in flags:
        flags += ["-include", "simulator/language.hpp"]
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as unit:
        unit.writelines(f"#include <{header}>\n" for header in headers)
        unit.flush()
        arguments = [clang, *flags, "-w", "-fsyntax-only", "-fno-color-diagnostics", "-Xclang", "-ast-dump",
                     "-Xclang", "-ast-dump-filter=fanin", unit.name]
        ran = subprocess.run(arguments, capture_output=True, text=True, errors="replace")
    if ran.returncode != 0:
        sys.exit(ran.stderr)
    return ran.stdout


def calls_of(tree):
    """(file, line, column, name) of each call that looks into the namespaces of its arguments' types. A node's place says
    only what is not as in the node before."""
    file, line, column = "", 0, 0
    for node in tree.splitlines():
        begin = None
        for place in PLACE.finditer(node.split("'", 1)[0]):
            if place[1]:
                file, line, column = place[1], int(place[2]), int(place[3])
            elif place[4]:
                line, column = int(place[4]), int(place[5])
            else:
                column = int(place[6])
            begin = begin or (file, line, column)
        name = CALL.search(node)
        if name:
            yield *(begin or (file, line, column)), name[1]


def main(clang, compile_commands):
    commands = {one["file"]: one["command"] for one in json.loads(pathlib.Path(compile_commands).read_text())}
    found, looked_at, seen = set(), 0, 0
    for units in UNITS:
        there = [(commands[f"{ROOT}/{unit}"], folders) for unit, folders in units if f"{ROOT}/{unit}" in commands]
        if not there:
            continue
        command, folders = there[0]
        looked_at += 1
        for file, line, column, name in calls_of(tree_of(clang, command, headers_of(folders))):
            seen += 1
            if not file.startswith(FOLDERS) or name in ALLOWED or name.startswith("operator"):
                continue
            text = pathlib.Path(file).read_text().splitlines()[line - 1][column - 1 :]
            if not re.match(rf"{name}(<[^()]*>)?\(\)", text):  # without arguments there is nowhere to look
                found.add(f"{file}:{line}:{column}: {name}")
    if looked_at == 0 or seen < 100:
        sys.exit(f"{looked_at} units, {seen} calls: too few to tell")
    for one in sorted(found):
        print(one)
    if found:
        sys.exit("Called without a namespace, with arguments of types that may be an application's: write detail::")
    print(f"{looked_at} units, {seen} calls seen")


main(*sys.argv[1:])
