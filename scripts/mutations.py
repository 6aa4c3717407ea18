# SPDX-License-Identifier: Apache-2.0
"""The lists of mutations, and the sources with them.

tests/mutations has a folder for each group: what is built together. Its group.toml says which programs, with which
options of CMake, and on how many ranks they run, if they do; the other files hold mutations, each with
    name   what the slip is, in words; no two the same
    at     a piece of the sources of device, core or backends, which stands there once (white space does not count)
    from   what of it is replaced, which stands there once; all of it if left out
    to     what it is replaced by. A statement by a statement, which may be empty; an expression by an expression
    red    the test that must fail: a program, and a filter of GoogleTest's
    file   only where `at` stands in several files: a pattern of paths

All mutations of a group are in its sources at once, each behind a question that is answered at run time:
(FANIN_MUTANT(7) ? (slip) : (code)), or if (FANIN_MUTANT(7)) { slip } else { code }. FANIN_MUTANT=7 in the environment
of a program switches one on. So everything is compiled once.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

IS_STATEMENT = re.compile(r".*;$|(\{|(if|for|while|do|switch)\b).*\}$", re.DOTALL)

# Included before the first line of every unit.
HEADER = """#pragma once
#include <cstdlib>
inline int fanin_active_mutant = 0;
namespace {
__attribute__((constructor(101), used)) void fanin_read_mutant() {
  if (const char* const text = std::getenv("FANIN_MUTANT")) fanin_active_mutant = std::atoi(text);
}
}  // namespace
// Not where a compiler evaluates a constant.
#define FANIN_MUTANT(number) (!__builtin_is_constant_evaluated() && fanin_active_mutant == (number))
"""


class Stale(Exception):
    """A mutation does not fit the sources any more."""


@dataclass
class Mutation:
    group: str
    number: int
    name: str
    at: str
    code: str  # what is replaced
    to: str
    program: str
    filter: str
    pattern: str
    file: str = ""
    span: tuple = (0, 0)


@dataclass
class Group:
    name: str
    programs: list
    options: list
    ranks: int
    mutations: list


def read_group(folder):
    """The lists of one folder."""
    about = tomllib.loads((folder / "group.toml").read_text())
    group = Group(folder.name, about["programs"], about.get("options", []), about.get("ranks", 0), [])
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text()).get("mutation", []):
            if not {"name", "at", "to", "red"} <= set(entry) <= {"name", "at", "from", "to", "red", "file"}:
                raise Stale(f"{path.name}, {entry.get('name')}: it has name, at, to and red, and perhaps from and file")
            program, _, test_filter = entry["red"].partition(" ")
            if program not in group.programs:
                raise Stale(f"{entry['name']}: {program} is none of the programs of {group.name}")
            group.mutations.append(
                Mutation(group.name, len(group.mutations) + 1, entry["name"], entry["at"],
                         entry.get("from", entry["at"]).strip(), entry["to"].strip(), program, test_filter or "*",
                         entry.get("file", "*")))
    return group


def read_all(folder, texts):
    """Every group, its mutations placed in these sources, and what does not fit."""
    groups, stale = [], []
    for path in sorted(folder.glob("*/group.toml")):
        try:
            groups.append(read_group(path.parent))
        except (Stale, tomllib.TOMLDecodeError, KeyError) as wrong:
            stale.append(f"{path.parent.name}: {wrong}")
    everything = [one for group in groups for one in group.mutations]
    names = [one.name for one in everything]
    stale += [f"{name}: two are called so" for name in sorted(set(names)) if names.count(name) > 1]
    for one in everything:
        try:
            place(one, texts)
        except Stale as wrong:
            stale.append(str(wrong))
    return groups, stale


# --- Where a mutation stands ---------------------------------------------------------------------------


def anywhere(text):
    """A pattern for these tokens, whatever white space is between them."""
    tokens = re.findall(r"\w+|[^\w\s]", text)
    return re.compile(r"\s*".join(rf"\b{token}\b" if token[0].isalnum() or token[0] == "_" else re.escape(token)
                                  for token in tokens))


# What a compiler evaluates, whatever a program asks: from the end of the statement before up to a mutation.
IS_CONSTANT = re.compile(r"\bstatic_assert\b|\bconstexpr\b[^()]*=|\bif\s+constexpr\s*\((?:[^()]|\([^()]*\))*$")


def place(mutation, texts):
    """Finds the mutation's file and span."""
    found = [(path, match) for path, text in texts.items() if Path(path).match(mutation.pattern)
             for match in anywhere(mutation.at).finditer(text)]
    if len(found) != 1:
        where = "nowhere" if not found else "in " + ", ".join(path for path, _ in found)
        raise Stale(f"{mutation.name}: its text stands {where}: {mutation.at.strip()!r}")
    path, match = found[0]
    parts = list(anywhere(mutation.code).finditer(match.group()))
    if len(parts) != 1:
        raise Stale(f"{mutation.name}: `from` stands {len(parts)} times in `at`")
    mutation.file = path
    mutation.span = (match.start() + parts[0].start(), match.start() + parts[0].end())
    before = re.split(r"[;{}]", texts[path][:mutation.span[0]])[-1]
    if IS_CONSTANT.search(before) or re.match(r"(static\s+)?constexpr\b|static_assert\b", mutation.code):
        raise Stale(f"{mutation.name}: what must be constant cannot be switched: {mutation.at.strip()!r}")


def switched(text, start, end, mutations):
    """text[start:end] with these mutations, which lie in it, outer ones first."""
    result = ""
    rest = list(mutations)
    while rest:
        one = rest.pop(0)
        first, last = one.span
        inner = [other for other in rest if other.span[0] < last]
        rest = rest[len(inner):]
        if any(other.span[1] > last for other in inner):
            raise Stale(f"{one.name}: another mutation begins in it and ends behind it")
        code = switched(text, first, last, inner)
        question = f"FANIN_MUTANT({one.number})"
        if IS_STATEMENT.match(text[first:last]):
            code = f"{{ if ({question}) {{ {one.to} }} else {{ {code} }} }}"
        else:
            code = f"({question} ? ({one.to}) : ({code}))"
        result += text[start:first] + code
        start = last
    return result + text[start:end]
