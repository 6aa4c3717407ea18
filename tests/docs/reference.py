# SPDX-License-Identifier: Apache-2.0
"""Whether docs/reference.md names, as code, everything that the headers declare in namespace fanin (but for detail) or
define as a macro, and whether each header that it names is there. Of classes: their names, not their members'."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("core", "device", "backends")
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
DIRECTIVE = re.compile(r"^ *#(?:\\\n|[^\n])*", re.M)
MACRO = re.compile(r"^ *# *define (FANIN_(?!DETAIL_|BUILT_)\w+)", re.M)
GROUP = re.compile(r"\([^(){}]*\)|(?:\bnamespace ([^;{}]*))?\{([^(){}]*)\}")  # innermost ones
NOISE = re.compile(r"<[^<>;¶]*>|requires\s*§|static_assert\s*§")
TYPE = re.compile(r"\b(?:struct|class|enum class|concept) (\w+)\b(?!::)")
OTHER = re.compile(r"^[^=]*?(?<![\w:])(\w+)\s*(?:§|=|$)")
LEAST_NAMES = 150


def collapse(group):
    """What is in brackets is no declaration, but for that of a namespace."""
    if group[0].startswith("("):
        return "§"
    if group[1] is None:
        return "¶"
    return "" if re.search(r"\bdetail\b", group[1]) else re.sub(r"^|[;¶]", r"\g<0>¤", group[2]) + ";"


def names_in(text):
    names = set(MACRO.findall(text))
    code = DIRECTIVE.sub(" ", COMMENT_OR_STRING.sub(" ", text))
    for pattern, replacement in (GROUP, collapse), (NOISE, " "):
        found = True
        while found:
            code, found = pattern.subn(replacement, code)
    parts = (part for part in re.split("[;¶]", code) if part.lstrip().startswith("¤"))
    return names | {found[1] for part in parts if (found := TYPE.search(part) or OTHER.search(part))}


def main():
    headers = {}
    for folder in FOLDERS:
        for path in (ROOT / folder).glob("**/include/fanin/**/*.[hc]*"):
            headers["fanin" + path.as_posix().partition("/include/fanin")[2]] = names_in(path.read_text())
    headers["fanin/config.hpp"] = names_in((ROOT / "cmake/config.hpp.in").read_text())
    names = set().union(*headers.values())
    code = " ".join(re.findall(r"```cpp\n.*?```|`[^`\n]+`", (ROOT / "docs/reference.md").read_text(), re.S))
    wrong = [f"{name} is not named" for name in sorted(names - set(re.findall(r"\w+", code)))]
    wrong += [f"there is no {name}" for name in re.findall(r"fanin/[\w/]+\.(?:hpp|cuh)", code) if name not in headers]
    if len(names) < LEAST_NAMES:
        wrong.append(f"{len(names)} names in the headers: they are not read right")
    for fault in wrong:
        print(f"docs/reference.md: {fault}")
    print(f"{len(names)} names, {len(wrong)} faults")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
