# SPDX-License-Identifier: Apache-2.0
"""Small mistakes in the library, each of which a test must find: mutate.py ROOT [arguments]. See mutate.sh, and
mutations.py for what they are. They are made in a copy of the tree, in build/mutants/GROUP/tree, and leave no trace in
the tree itself.
"""

import argparse
import datetime
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutations import HEADER, read_all, switched

SOURCES = ("device", "core", "backends")
NOT_COPIED = ("perf/results/",)
AT_ONCE = 10
TABLE = "docs/mutations.md"


# --- The copy and its programs -------------------------------------------------------------------------


def files_of(root):
    """Everything that belongs to the tree."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        paths = listed.stdout.split("\0")
    else:
        paths = [str(path.relative_to(root)) for path in root.rglob("*")]
    left_out = ("build", ".git/") + NOT_COPIED
    return [path for path in paths if not path.startswith(left_out) and (root / path).is_file()]


def write_if_other(path, content, mode=None):
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    if mode is not None:
        path.chmod(mode)


def read_sources(root, paths):
    return {path: (root / path).read_text() for path in paths
            if path.startswith(SOURCES) and path.endswith((".hpp", ".cuh", ".cpp", ".cu"))}


def write_tree(root, work, group, paths, texts):
    """The copy with all mutations of the group; files that are as they were keep their time."""
    tree = work / "tree"
    by_file = {}
    for mutation in group.mutations:
        by_file.setdefault(mutation.file, []).append(mutation)
    for path in paths:
        if path in by_file:
            inside = sorted(by_file[path], key=lambda one: (one.span[0], -one.span[1], one.number))
            content = switched(texts[path], 0, len(texts[path]), inside).encode()
        else:
            content = (root / path).read_bytes()
        write_if_other(tree / path, content, (root / path).stat().st_mode)
    known = set(paths)
    for path in [path for path in tree.rglob("*") if path.is_file() and str(path.relative_to(tree)) not in known]:
        path.unlink()
    write_if_other(work / "mutants.hpp", HEADER.encode())


def run_logged(what, command, log, **options):
    with open(log, "a") as out:
        out.write(f"\n$ {' '.join(map(str, command))}\n")
        out.flush()
        before = os.times()
        status = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False, **options).returncode
        after = os.times()
    if status != 0:
        print(f"{what} failed. The end of {log}:")
        for line in log.read_text(errors="replace").splitlines()[-40:]:
            print("  |", line)
        sys.exit(2)
    return after.children_user + after.children_system - before.children_user - before.children_system


def build(work, group, programs, log, jobs):
    """Configures, and builds these programs of the group; says what it took."""
    tree, binary = work / "tree", work / "build"
    flags = f'-w -include "{work / "mutants.hpp"}"'
    options = [f"-DCMAKE_CXX_FLAGS={flags}", "-DCMAKE_CXX_FLAGS_RELEASE=-Og -DNDEBUG", "-DFANIN_WARNINGS_AS_ERRORS=OFF",
               "-DFANIN_ENABLE_KOKKOS=OFF", "-DFANIN_ENABLE_PERF=OFF", "-DFANIN_ENABLE_EXAMPLES=OFF",
               "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON",  # the header of mutations comes before them
               "-DFANIN_INSTALL=OFF", f"-DFANIN_DEPS_DIR={work.parent.parent / '_deps'}"]
    configure = ["cmake", "--preset", "host", "-B", binary, *options, *group.options]
    compile_all = ["cmake", "--build", binary, "--parallel", str(jobs), "--target", *programs]
    seconds = run_logged(f"configuring {group.name}", configure, log, cwd=tree)
    return seconds + run_logged(f"building {group.name}", compile_all, log)


def find_program(work, name):
    found = [path for path in (work / "build" / "tests").rglob(name) if path.is_file() and os.access(path, os.X_OK)]
    if len(found) != 1:
        sys.exit(f"There is no program {name} in {work / 'build' / 'tests'}.")
    return found[0]


# --- Runs ----------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    is_red: bool
    test: str = ""  # which failed first
    how: str = ""
    cpu: float = 0


# As in cmake/FaninTest.cmake.
OF_RANKS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_plm": "isolated", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_pml": "ob1",
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


def run_program(work, group, program, test_filter, number=0, most_cpu=600, all_of_them=False):
    """One program with one mutation, until the first test fails."""
    environment = dict(os.environ, **OF_RANKS, FANIN_MUTANT=str(number), GTEST_COLOR="no", RC_PARAMS="seed=1",
                       OMP_WAIT_POLICY="passive", OMP_PROC_BIND="false")
    path = find_program(work, program)
    launcher = ["mpiexec", "-n", str(group.ranks)] if group.ranks else []
    end = signal.SIGTERM if group.ranks else signal.SIGKILL  # of which mpiexec tells the ranks
    child = subprocess.Popen([*launcher, path, f"--gtest_filter={test_filter}"], cwd=path.parent, env=environment, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", start_new_session=True,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (most_cpu, most_cpu + 5)))
    timer = threading.Timer(10 * most_cpu, lambda: os.killpg(child.pid, end))
    timer.start()
    test, failed = "", []
    for line in child.stdout:
        if line.startswith("[ RUN      ] "):
            test = line[13:].strip()
        elif ": Failure" in line and test not in failed:
            failed.append(test)
            if not all_of_them:
                os.killpg(child.pid, end)
                break
    child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    timer.cancel()
    cpu = used.ru_utime + used.ru_stime
    code = os.waitstatus_to_exitcode(status)
    if failed:
        return Outcome(True, ", ".join(failed), "fails", cpu)
    if code == -signal.SIGXCPU or (code == -signal.SIGKILL and cpu > most_cpu):
        return Outcome(True, test, "no end", cpu)
    return Outcome(code != 0, test, "crash" if code < 0 else f"exit status {code}" if code else "", cpu)


def count_tests(work, program, test_filter):
    listed = subprocess.run([find_program(work, program), f"--gtest_filter={test_filter}", "--gtest_list_tests"],
                            capture_output=True, text=True, check=True, env=dict(os.environ, **OF_RANKS)).stdout
    return sum(line.startswith("  ") for line in listed.splitlines())


def run_group(work, group, mutations, hunts, jobs):
    """Each of these mutations; {number: Outcome}."""
    usual = {}
    for program, test_filter in sorted({(one.program, one.filter) for one in mutations}):
        if count_tests(work, program, test_filter) == 0:
            sys.exit(f"{program} has no test {test_filter}.")
        usual[program, test_filter] = outcome = run_program(work, group, program, test_filter)
        if outcome.is_red:
            sys.exit(f"{program} {test_filter} fails with no mutation switched on: {outcome.how} in {outcome.test}.")

    def run_one(one):
        most_cpu = int(10 * usual[one.program, one.filter].cpu) + 20
        outcome = run_program(work, group, one.program, one.filter, one.number, most_cpu)
        result = f"{outcome.how} in {outcome.test}, {outcome.cpu:.1f} s" if outcome.is_red else "SURVIVED"
        lines = [f"  {one.group} {one.number:3d}  {one.name}: {result}"]
        if hunts and not outcome.is_red:
            for program in group.programs:
                other = run_program(work, group, program, "*-needed.*", one.number, 300, all_of_them=True)
                if other.is_red:
                    lines.append(f"        {program}: {other.how} in {other.test}")
        print("\n".join(lines), flush=True)
        return one.number, outcome

    with ThreadPoolExecutor(jobs) as pool:
        return dict(pool.map(run_one, mutations))


# --- What is chosen, and what is said ------------------------------------------------------------------


def chunks_of(groups):
    """Tens of mutations, each of one group."""
    chunks = []
    for group in groups:
        parts = (len(group.mutations) + AT_ONCE - 1) // AT_ONCE
        for k in range(parts):
            chunks.append(group.mutations[k * len(group.mutations) // parts:(k + 1) * len(group.mutations) // parts])
    return chunks


def rotating(root, groups):
    """Ten that the commit decides, or where there is none the day."""
    commit = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    if commit.returncode == 0:
        key, by = int(commit.stdout[:8], 16), f"commit {commit.stdout[:8]}"
    else:
        key, by = int(time.time() // 86400), time.strftime("the day, %F", time.gmtime())
    chunks = chunks_of(groups)
    chosen = chunks[key % len(chunks)]
    print(f"{chosen[0].group} {chosen[0].number} to {chosen[-1].number}, "
          f"part {key % len(chunks) + 1} of {len(chunks)}, by {by}")
    return chosen


def table_of(groups, outcomes):
    """docs/mutations.md."""
    def cell(text):
        return " ".join(text.split()).replace("|", "\\|")

    lines = ["<!-- Written by scripts/mutate.sh --all. -->", "# Mutations", "",
             "Slips that were made on purpose, one at a time, and the test that goes red first: `scripts/mutate.sh`.",
             "The lists are `tests/mutations/*/*.toml`; how to add one stands in HACKING.md.",
             f"This is of {datetime.date.today()}; entries added since are not in it.", ""]
    for group in groups:
        lines += [f"## {group.name}", "", "| slip | in | instead of | stands | found by |",
                  "| --- | --- | --- | --- | --- |"]
        for one in group.mutations:
            outcome = outcomes[group.name, one.number]
            how = outcome.test + {"fails": ""}.get(outcome.how, f" ({outcome.how})")
            slip = f"`{cell(one.to)}`" if one.to else "nothing"
            lines.append(f"| {cell(one.name)} | `{one.file}` | `{cell(one.code)}` | {slip} | {how} |")
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("root", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--hunt", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    root = given.root.resolve()

    paths = files_of(root)
    texts = read_sources(root, paths)
    groups, stale = read_all(root / "tests/mutations", texts)
    if stale:
        print("The list does not fit the sources:", *stale, sep="\n  ")
        return 1
    everything = [one for group in groups for one in group.mutations]
    print(f"{len(everything)} mutations: " + ", ".join(f"{len(group.mutations)} of {group.name}" for group in groups))
    if given.check:
        return 0

    if given.only:
        chosen = [one for one in everything if given.only in f"{one.group} {one.number} {one.name}"]
    else:
        chosen = everything if given.all else rotating(root, groups)
    outcomes = {}
    for group in groups:
        mine = [one for one in chosen if one.group == group.name]
        if not mine:
            continue
        work = root / "build/mutants" / group.name
        work.mkdir(parents=True, exist_ok=True)
        write_tree(root, work, group, paths, texts)
        programs = group.programs if given.hunt else sorted({one.program for one in mine})
        seconds = build(work, group, programs, work / "log", given.jobs)
        print(f"{group.name}: configured and built in {seconds:.0f} CPU seconds", flush=True)
        before = os.times()
        found = run_group(work, group, mine, given.hunt, given.jobs)
        after = os.times()
        seconds = after.children_user + after.children_system - before.children_user - before.children_system
        print(f"{group.name}: {len(mine)} ran in {seconds:.0f} CPU seconds", flush=True)
        outcomes.update({(group.name, number): outcome for number, outcome in found.items()})

    survivors = [one for one in chosen if not outcomes[one.group, one.number].is_red]
    for one in survivors:
        print(f"SURVIVED: {one.name} ({one.file}), which {one.program} {one.filter} should find")
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutations found")
    if given.all and not survivors:
        (root / TABLE).write_text(table_of(groups, outcomes))
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
