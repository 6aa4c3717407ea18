# SPDX-License-Identifier: Apache-2.0
"""Which functions a call passes: walk.py TREE FOLDER. See walk.sh, which makes FOLDER.

A function counts once, where it is defined in core, device or backends: the instances of a template are one, overloads
are several, and a lambda belongs to the function around it. The call is a common one: it succeeds, is not the first of
its size, has elements for more than a few blocks, and captures nothing. It passes what is reached by its calls, but for
  - a leaf: one statement, which calls nothing of Fanin's (a member is read, an instruction gets a name),
  - what the source itself calls rare (FANIN_DETAIL_NOINLINE),
  - NOT_PASSED below.
A function is *on the way* where it does one of ACTS, or calls one that is: the value itself goes through it. The others
stand beside the way: they check, plan, find memory. The compiler takes the calls down, with no optimisation: g++ on the
host, nvcc -G on the device.
"""

import glob
import os
import re
import subprocess
import sys

# What tests/cuda/walks.cu calls, and the kernel that it launches.
WALKS = {
    "a double of an array": ("walk_of_double", r"span_source<double>, fanin::detail::composite<fanin::sum<"),
    "an index functor": ("walk_of_functor", r"index_source<square>"),
    "an exact sum": ("walk_of_exact_sum", r"composite<fanin::exact_sum<"),
}
LAUNCH = "cudaLaunchKernelExC"

# CALLER > CALLEE, both patterns; without a caller it is any. What the common call does not pass:
NOT_PASSED = (
    # It succeeds, on the device that is current.
    "throw_.*|refuse.*|.*error|invalid_argument",
    "go_to_device|made_context|device_scope|~device_scope",
    "cuda_session::wait > capture_state_of|is_at_rest",
    # It is not the first of its size.
    "find_in_driver|kernel_facts",
    "cuda_state::reserve > .*",
    "cuda_state::own_workspace > (?!view).*",
    "captured_workspace",
    # It leaves the tuning to the strategy, and has elements for many blocks.
    "plan_grid_of|operator==",
    "reduce_blocking > record|identity|result",
    "watching_block::finish > post",
    "watching_block::reduce > join_as_watched|result",
    # The compiler's work.
    "check_array|check_reducers|check_functor|check_call|check_index|check_device_functor",
    # Numbers of a common range leave nothing in a spill.
    "publish > copy_by_threads",
    "gather_parcels > join_spills",
    "rescale_or_deposit > deposit",
    "partial_parcel::result > deposit|result_value",
)

# What happens to a value.
ACTS = {
    "launched": "cuda_session::launch",
    "loaded": "load_vector",
    "made of an index": "index_source::value",
    "added": "add|take_into_bin",
    "joined": ".*::(join|join_lanes|join_partials)",
    "left by the thread": "finish(_one)?|drain",
    "handed to another lane": "shuffle_down|sum_in_warp",
    "handed to another block": "store_unit",
    "taken from it": "load_unit",
    "made the result": "result_value|rounded_bits",
    "posted": "post",
    "read by the host": "cuda_session::wait|from_payload",
}


def short(name):
    """A demangled name without parameters and template arguments; and whether a lambda's, of that function."""
    text = name.replace("operator()", "operator@").replace("(anonymous namespace)::", "")
    kept, depth = "", 0
    for letter in re.sub(r"->|operator(<=>|<<|>>|<=|>=|<|>)", "", text):
        depth -= letter in ">)"
        kept += letter if depth == 0 and letter not in ">)" and letter not in "<(" else ""
        depth += letter in "<("
    function, *inside = kept.split("::{lambda")
    function = re.sub(r"( const| &| noexcept|\[.*\])+$", "", function.strip()).split(" ")[-1]
    return re.sub(r"^fanin::(detail::)?", "", function.replace("@", "()")), bool(inside)


class graph:
    """The functions of one side: where each is defined, and what it calls, in order; by demangled names, since of a
    constructor's two symbols one is defined."""

    def __init__(self, place, calls):
        symbols = sorted(set(place) | set(calls) | {callee for callees in calls.values() for callee in callees})
        out = subprocess.run(["c++filt"], input="\n".join(symbols), text=True, capture_output=True, check=True).stdout
        name = dict(zip(symbols, out.split("\n")))
        self.place = {name[symbol]: where for symbol, where in place.items()}
        self.calls = {}
        for symbol, callees in calls.items():
            self.calls.setdefault(name[symbol], []).extend(name[callee] for callee in callees)


def host_graph(files):
    """Out of what g++ -fcallgraph-info writes."""
    place, calls = {}, {}
    node = re.compile(r'node: \{ title: "([^"]*)" label: "([^"]*)"( shape : ellipse)? \}')
    edge = re.compile(r'edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)"')
    symbol = lambda title: title.split(":")[-1]
    for file in files:
        for line in open(file, errors="replace"):
            if (found := node.match(line)) and not found[3]:
                path, row, _ = found[2].split("\\n")[1].rsplit(":", 2)
                place[symbol(found[1])] = (path, int(row))
            elif found := edge.match(line):
                calls.setdefault(symbol(found[1]), []).append(symbol(found[2]))
    return graph(place, calls)


def device_graph(file):
    """Out of PTX of nvcc -G, which inlines nothing."""
    text = open(file).read()
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', text, re.M))
    head = r"^(?:\.visible |\.weak )*\.(?:func|entry)(?:\s*\([^)]*\))?\s+([\w$]+)\s*\([^)]*\)[^;{]*?"
    function = re.compile(head + r"\n\{(.*?)^\}", re.S | re.M)
    call = re.compile(r"^\s*call(?:\.uni)?\s*(?:\([^()]*\)\s*,)?\s*([\w$]+)\s*,", re.M)
    place, calls = {}, {}
    for symbol, body in function.findall(text):
        calls[symbol] = call.findall(body)
        if where := re.search(r"\.loc\s+(\d+)\s+(\d+)", body):
            place[symbol] = (files[where[1]], int(where[2]))
    return graph(place, calls)


def fits(name, pattern):
    """Whether a function has a name, with its class or without."""
    return re.fullmatch(rf"(?:.*::)?(?:{pattern})", name) is not None


used = set()  # of NOT_PASSED and ACTS


def is_passed(caller, callee):
    for rule in NOT_PASSED:
        *of, what = rule.split(" > ")
        if fits(callee, what) and (not of or fits(caller, of[0])):
            used.add(rule)
            return False
    return True


def does_act(name):
    found = [act for act in ACTS.values() if fits(name, act)]
    used.update(found)
    return bool(found)


class sources:
    def __init__(self, tree):
        self.tree, self.lines = os.path.realpath(tree), {}

    def own(self, path):
        """The path in the tree of what is Fanin's, else null."""
        path = os.path.relpath(os.path.realpath(path), self.tree) if path else ""
        return path if path.split("/")[0] in ("core", "device", "backends") else None

    def text(self, step):
        """From the line on in which a function begins."""
        _, path, row = step
        if path not in self.lines:
            with open(os.path.join(self.tree, path)) as file:
                self.lines[path] = file.read().split("\n")
        return "\n".join(self.lines[path][row - 1 :])

    def body(self, step):
        """Between a function's braces."""
        text, begin, depth = self.text(step), 0, 0
        for at, letter in enumerate(text):
            if letter == ";" and depth == 0:
                return ""
            # A brace behind a word is a member's in a constructor's list.
            if letter == "{" and depth == 0 and not re.match(r"\w", text[at - 1]):
                begin = at + 1
                break
            depth += (letter in "([{") - (letter in ")]}")
        depth = 1
        for at in range(begin, len(text)):
            depth += (text[at] == "{") - (text[at] == "}")
            if depth == 0:
                return text[begin:at]
        return text[begin:]

    def has_one_statement(self, step):
        """Or one in each branch that the compiler takes."""
        body = re.sub(r"//.*|^\s*#.*$", "", self.body(step), flags=re.M)
        if re.search(r"\b(for|while|do)\b", body):
            return False
        pieces = [piece.strip(" \n{}") for piece in body.split(";")]
        pieces = [piece for piece in pieces if piece and not re.match(r"using\b|static_assert\b|constexpr\b", piece)]
        return len(pieces) <= 1 or all(re.search(r"(if constexpr|else|^)[^;]*\breturn\b", piece) for piece in pieces)

    def is_rare(self, step):
        return step[1] is not None and "FANIN_DETAIL_NOINLINE" in self.text(step).split("\n")[0]


class walk:
    """The functions that a call passes, in the order in which it first does."""

    def __init__(self, tree, host, device, begin, kernel):
        self.sides, self.sources, self.kernel = {"host": host, "device": device}, sources(tree), kernel
        self.steps, self.hands_on, self.on_way, self.seen = [], set(), set(), {}
        self.visit("host", next(name for name in host.place if short(name)[0] == begin), begin)
        self.steps = [step for step in self.steps if step in self.hands_on or not self.sources.has_one_statement(step)]

    def visit(self, side, name, caller):
        """Walks on from a function; whether it is on the way, and whether anything of Fanin's is in it."""
        if name == LAUNCH:
            kernels = [k for k in self.sides["device"].place if "reduce_kernel<" in k and re.search(self.kernel, k)]
            return self.visit("device", kernels[0], caller)
        called, is_lambda = short(name)
        path, row = self.sides[side].place.get(name, ("", 0))
        step = (called, self.sources.own(path), row)
        if not is_passed(caller, called) or self.sources.is_rare(step):
            return False, False
        if (side, name) in self.seen:
            return self.seen[side, name]
        counts = step[1] is not None and not is_lambda
        self.seen[side, name] = False, counts
        if counts and step not in self.steps:
            self.steps.append(step)
        found = [self.visit(side, callee, called) for callee in self.sides[side].calls.get(name, [])]
        is_on_way = does_act(called) or any(way for way, _ in found)
        hands_on = any(own for _, own in found)
        if is_on_way:
            self.on_way.add(step)
        if hands_on:
            self.hands_on.add(step)
        self.seen[side, name] = is_on_way, counts or hands_on
        return self.seen[side, name]


def counts(steps):
    files = [path for _, path, _ in steps]
    folders = [os.path.dirname(path) for path in files]
    changes = sum(before != after for before, after in zip(folders, folders[1:]))
    return f"{len(steps)} functions in {len(set(files))} files, {changes} changes of folder"


def main():
    tree, folder = sys.argv[1:]
    host = host_graph(glob.glob(os.path.join(folder, "*.ci")))
    device = device_graph(os.path.join(folder, "walks.ptx"))
    for title, (begin, kernel) in WALKS.items():
        found = walk(tree, host, device, begin, kernel)
        way = [step for step in found.steps if step in found.on_way]
        print(f"The walk of {title} (* on the way):")
        for number, step in enumerate(found.steps, 1):
            print(f"{number:4} {'*' if step in way else ' '} {step[0]:45} {step[1]}:{step[2]}")
        print(f"  {counts(found.steps)}\n  on the way: {counts(way)}\n")
    if stale := [rule for rule in (*NOT_PASSED, *ACTS.values()) if rule not in used]:
        sys.exit("walk.py names what no call meets any more: " + ", ".join(stale))


if __name__ == "__main__":
    main()
