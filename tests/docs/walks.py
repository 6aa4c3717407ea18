# SPDX-License-Identifier: Apache-2.0
"""Whether every function that HACKING.md's section "How a call runs" names in a row | `function` | `file` | ... | is
defined in that file. A file may be named by the end of its path."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("core", "device", "backends")
SUFFIXES = (".hpp", ".cuh", ".cpp", ".cu")
NO_TYPES = ("return", "else", "do", "throw", "new", "delete", "case", "and", "or", "not")
LEAST_ROWS = 30


def rows():
    section = re.search(r"^## How a call runs\n(.*?)^## ", (ROOT / "HACKING.md").read_text(), re.S | re.M)
    return re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|", section[1], re.M) if section else []


def code_of(path):
    """Without comments and strings, on one line."""
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", path.read_text(), flags=re.S)
    return re.sub(r"\s+", " ", text)


def has_body(code, begin):
    """Whether a parameter list that begins there is followed by a body, and not by a semicolon."""
    depth = 0
    for at in range(begin, len(code)):
        depth += (code[at] == "(") - (code[at] == ")")
        if depth == 0:
            return re.match(r"[^;{]*{", code[at:]) is not None
    return False


def is_defined(name, code):
    """A type and then the name, its class before it or around it."""
    *holder, member = (re.escape(part) for part in name.split("::"))
    places = []
    if holder:
        places += re.finditer(rf"\b{holder[-1]}::{member} ?(?=\()", code)
    if not holder or re.search(rf"\b(?:class|struct) {holder[-1]}\b(?! ?;)", code):
        type_before = rf"([\w:]+|\S>|[\w>][&*]+|__launch_bounds__\([^()]*\)|decltype\(auto\)) {member} ?(?=\()"
        places += [found for found in re.finditer(type_before, code) if found[1] not in NO_TYPES]
    return any(has_body(code, found.end()) for found in places)


def main():
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    named, wrong = rows(), []
    for function, file in named:
        found = [path for path in files if f"/{path.relative_to(ROOT).as_posix()}".endswith(f"/{file}")]
        if len(found) != 1:
            wrong.append(f"{file}: {len(found)} files have that name")
        elif not is_defined(function, code_of(found[0])):
            wrong.append(f"{file} defines no {function}")
    if len(named) < LEAST_ROWS:
        wrong.append(f"{len(named)} rows in the section: the walks are not there, or not in rows")
    for fault in wrong:
        print(f"HACKING.md, How a call runs: {fault}")
    print(f"{len(named)} functions are named, {len(wrong)} faults")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
