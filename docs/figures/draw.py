#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the figures of docs/strategies.md: who takes in whose value, one SVG a strategy.

usage: draw.py [--check]

Without arguments the figures beside this file are written; with --check they are only compared, and the exit code is 1
when one differs. The output depends on this folder's programs alone. Each function draws one strategy on the paper of
figure.py, out of parts.py; blocks, warps and chunks are drawn smaller than they are, and each figure says how.
"""

import pathlib
import sys

from figure import CELL, RIGHT, Figure
from parts import (
    chunks,
    finish_on_host,
    gather_stride,
    grid_stride_rows,
    leave_partial,
    numbers,
    second_pass,
    shuffles,
    tree,
    warp_tail,
    watched,
)


def thread_partials():
    fig = Figure("thread_partials: every thread keeps its own share", 16)
    fig.frame(0, 15, "one block")
    gather_stride(fig, 16, 4, 1, "registers", "grid stride, in\neach thread's register", "nobody combines")
    spots = [1.5, 5.5, 9.5, 13.5]
    for s in spots:
        fig.arrow(s, s)
    fig.down()
    for k, s in enumerate(spots):
        fig.cell(s, f"out[{k}]", "global", 50)
    fig.say("one result a thread", "256 or 1024 of them")
    finish_on_host(fig, spots)
    return fig.write("Drawn with 4 threads for 256.")


def shared_start(title, threads=8, blocks=1):
    fig = Figure(title, 16)
    gather_stride(fig, 16, threads, blocks, "registers", "grid stride,\nin registers")
    return fig


def shared_thread0():
    fig = shared_start("shared_thread0: one thread does all the work of a block", 8, 2)
    spots = [2 * t + 0.5 for t in range(8)]
    for s in spots:
        fig.arrow(s, s)
    fig.down()
    for t, s in enumerate(spots):
        fig.cell(s, f"s[{t % 4}]", "shared", 40)
    fig.say("shared memory", "two blocks")
    for k, s in enumerate(spots):
        fig.arrow(s, 0.5 if k < 4 else 8.5, style="take" if k % 4 else "keep")
    fig.barrier(words="barrier, then t0 alone")
    fig.down()
    for b in range(2):
        fig.cell(8 * b + 0.5, "t0", "shared", 40)
        for c in (2.5, 4.5, 6.5):
            fig.cell(8 * b + c, "", "idle", 40)
    fig.say("1 left a block", "one by one: the others look on")
    finish_on_host(fig, (0.5, 8.5))
    return fig.write("Drawn with 2 blocks of 4 threads for 256 blocks of 256.")


def shared_tree():
    fig = Figure("shared_tree: fold the sheet of paper in half, again and again", 8)
    grid_stride_rows(fig, 8)
    tree(fig, 8, "shared", "interleaved", lambda half, _: f"t < {half} works: t takes t + {half}", first=False)
    leave_partial(fig, "256 of them:\nthe host adds them up")
    return fig.write("Drawn with a block of 8 threads for 256.")


def shared_tree_last_warp():
    fig = Figure("shared_tree_last_warp: the last warp needs no barrier", 8)
    grid_stride_rows(fig, 8)
    tree(fig, 8, "shared", "interleaved", lambda half, _: f"loop: t < {half} works", stop=4, first=False)
    warp_tail(fig, 8)
    leave_partial(fig, "256 of them:\nthe host adds them up")
    return fig.write("Drawn with 8 threads for 256 and a warp of 2 lanes for 32: 4 values stand for 64.")


def shuffle():
    fig = Figure("shuffle: registers are handed from lane to lane", 8)
    for w in range(2):
        fig.frame(4 * w, 4 * w + 3, f"warp {w}")
    fig.row(
        [f"t{t}" for t in range(8)],
        "registers",
        "sums of the threads,\nin registers",
        "each thread has gone through\nthe array by the grid's width",
    )
    shuffles(fig, 2, 4)
    leave_partial(fig, "256 of them:\nthe host adds them up")
    return fig.write("Drawn with 8 threads for 256 and warps of 4 lanes for 32.")


def global_pairs(title, order, note_of):
    fig = Figure(title, 8)
    fig.frame(0, 7, "a block of 8 threads, one element each")
    fig.row(numbers(8), "input", "elements", "the first step reads the array\nand writes the workspace")
    tree(fig, 8, "global", order, note_of)
    second_pass(fig)
    return fig.write("Drawn with a block of 8 threads for 512.")


def global_interleaved():
    return global_pairs(
        "global_interleaved: the baseline, in global memory",
        "interleaved",
        lambda half, _: f"t < {half} works: t takes t + {half}",
    )


def global_neighbored():
    return global_pairs(
        "global_neighbored: neighbours, by threads that lie apart",
        "divergent",
        lambda half, stride: f"t % {2 * stride} == 0 works;\nevery warp runs on, ever emptier",
    )


def shared_pairs(title, order, note_of, scale, banks=None):
    fig = Figure(title, 8)
    fig.frame(0, 7, "a block of 8 threads, one element each")
    fig.row(numbers(8), "input", "elements")
    for c in range(8):
        fig.arrow(c, c)
    fig.down()
    fig.row([f"s[{c}]" for c in range(8)], "shared", "shared memory", banks or "")
    tree(fig, 8, "shared", order, note_of, first=False)
    second_pass(fig)
    return fig.write(scale)


def shared_interleaved():
    return shared_pairs(
        "shared_interleaved: threads side by side read words side by side",
        "interleaved",
        lambda half, _: (
            f"t < {half} works: t takes t + {half};\nno two lanes in one bank" if half > 1 else "t0 takes 1"
        ),
        "Drawn with a block of 8 threads for 512.",
    )


def shared_neighbored():
    return shared_pairs(
        "shared_neighbored: lanes apart, but each on its own word",
        "divergent",
        lambda half, stride: f"t % {2 * stride} == 0 works;\nno two lanes in one bank",
        "Drawn with a block of 8 threads for 512.",
    )


def shared_neighbored_strided():
    remarks = {
        1: "words 0 and 4 lie in one bank,\n2 and 6 too: two at a time",
        2: "words 0 and 4 in one bank again",
        4: "",
    }
    return shared_pairs(
        "shared_neighbored_strided: lanes together, on words that share banks",
        "strided",
        lambda half, stride: remarks[stride],
        "Drawn with a block of 8 threads for 512 and 4 banks for 32.",
        "drawn with 4 banks:\nword w lies in bank w % 4",
    )


def folded(title, count, kind, label, shown=None):
    fig = Figure(title, 8)
    chunks(fig, count, 8, shown)
    fig.down()
    fig.row([f"t{c}" for c in range(8)], kind, label, f"{count} elements a thread: nobody\nhas been idle so far")
    return fig


def global_unroll():
    fig = folded(
        "global_unroll: four chunks first, then a tree without a loop",
        4,
        "global",
        "sums of the columns,\nin the workspace",
    )
    tree(fig, 8, "global", "interleaved", lambda half, _: f"a step of its own, for {half}", stop=4, first=False)
    for half in (2, 1):
        for k in range(half):
            fig.arrow(k + half, k)
            fig.arrow(k, k, style="keep")
        if half == 2:
            fig.barrier()
        else:
            fig.text(RIGHT, fig.y + CELL + 24, "warp sync, no barrier", "small")
        fig.down()
        fig.row({k: f"t{k}" for k in range(half)}, "global", f"{half} left\nfirst warp", "", range(half, 8))
    second_pass(fig)
    return fig.write("Drawn with 8 threads for 1024 and a warp of 2 lanes for 32: 4 values stand for 64.")


SHRUNK = "Drawn with 8 threads for 1024"
FOLD = ("sums of the columns,\nin shared memory", "shared")


def shared_shrink():
    fig = folded("shared_shrink: every thread works before the first halving", 4, "shared", FOLD[0])
    tree(fig, 8, "shared", "interleaved", lambda half, _: f"loop: t < {half} works", first=False)
    second_pass(fig)
    return fig.write(SHRUNK + ".")


def shared_warp():
    fig = folded("shared_warp: the loop, then the last warp without barriers", 4, "shared", FOLD[0])
    tree(fig, 8, "shared", "interleaved", lambda half, _: f"loop: t < {half} works", stop=4, first=False)
    warp_tail(fig, 8)
    second_pass(fig)
    return fig.write(SHRUNK + " and a warp of 2 lanes for 32: 4 values stand for 64.")


def shared_unroll():
    fig = folded("shared_unroll: the same tree, and not one jump back", 4, "shared", FOLD[0])
    tree(
        fig,
        8,
        "shared",
        "interleaved",
        lambda half, _: f"a step of its own, for {half}:\nno counter, no branch back",
        stop=4,
        first=False,
    )
    warp_tail(fig, 8)
    second_pass(fig)
    return fig.write(SHRUNK + " and a warp of 2 lanes for 32: 4 values stand for 64.")


def shared_shuffle_tail():
    fig = folded("shared_shuffle_tail: shuffles, when all the shared memory was used already", 4, "shared", FOLD[0])
    tree(fig, 8, "shared", "interleaved", lambda half, _: f"a step of its own, for {half}", stop=4, first=False)
    for half in (2, 1):
        for k in range(half):
            fig.arrow(k + half, k)
            fig.arrow(k, k, style="keep")
        if half == 2:
            fig.barrier()
        fig.down()
        fig.row(
            {k: f"t{k}" for k in range(half)},
            "registers",
            "two values a lane,\ninto registers" if half == 2 else "shuffle by 1",
            "no barrier from here on",
            range(half, 8),
        )
    second_pass(fig)
    return fig.write(SHRUNK + " and a warp of 2 lanes for 32: 4 values stand for 64.")


def shared_shuffle():
    fig = folded(
        "shared_shuffle: chunks into registers, then two levels of shuffles",
        8,
        "registers",
        "sums of the columns,\nin registers",
        [0, 1, 7],
    )
    shuffles(fig, 2, 4)
    second_pass(fig)
    return fig.write(SHRUNK + " and warps of 4 lanes for 32; chunks 2 to 6 are not drawn.")


def global_halving():
    fig = Figure("global_halving: one launch for every halving", 11, "a launch ends: all blocks wait")
    left = 11
    fig.row(numbers(11), "input", "11 elements", "an odd number: the middle one\nwaits a step")
    launch = 1
    while left > 1:
        half = left - left // 2
        for k in range(half):
            fig.arrow(k, k, style="keep")
            if k + half < left:
                fig.arrow(k + half, k)
        fig.barrier(words="end of the launch")
        fig.down()
        fig.row(
            {k: f"t{k}" for k in range(half)},
            "global",
            f"after launch {launch}",
            f"t takes t + {half}" if half > 1 else "",
            range(half, 11),
        )
        left, launch = half, launch + 1
    return fig.write("Drawn with 11 elements; a thread each, in as many blocks as that takes.")


def wide_loads(fig, blocks, of_block):
    for b in range(blocks):
        fig.frame(b * of_block, (b + 1) * of_block - 1, f"tile of block {b}")
    fig.row(
        numbers(blocks * of_block),
        "input",
        "elements,\n16 bytes a load",
        "all loads of a round are in\nflight before one is used",
    )


def one_pass():
    fig = Figure("one_pass: wide loads, shuffles, one block that watches", 16)
    wide_loads(fig, 2, 8)
    for c in range(16):
        fig.arrow(c, 4 * (c // 4) + 1.5)
    fig.down()
    for c in range(4):
        fig.cell(4 * c + 1.5, f"t{c % 2}", "registers", 60)
    fig.say("a vector a thread,\nin registers", "rounds of tiles until the\narray is done")
    for b in range(2):
        fig.arrow(8 * b + 5.5, 8 * b + 1.5)
        fig.arrow(8 * b + 1.5, 8 * b + 1.5, style="keep")
    fig.down()
    for b in range(2):
        fig.cell(8 * b + 1.5, "t0", "registers", 60)
    fig.say("two levels of shuffles", "as in the figure of shuffle")
    watched(fig, 2, lambda k: 8 * k + 1.5)
    return fig.write("Drawn with 2 blocks of 2 threads and one load of four 4-byte elements for 4 loads.")


def one_pass_bulk():
    fig = Figure("one_pass_bulk: the copy engine fills a ring, the threads only fold", 16)
    for k in range(4):
        fig.frame(4 * k, 4 * k + 3, f"tile {k}")
    fig.row(numbers(16), "input", "elements of one block", "t0 asks for a tile; nobody\nspends registers on it")
    for k in range(4):
        fig.arrow(4 * k + 1.5, 4 * (k % 3) + 1.5)
    fig.down()
    for k in range(3):
        fig.cell(4 * k + 1.5, f"stage {k}", "shared", 96)
    fig.say("a ring of 3 stages", "tile 3 comes into stage 0\nwhen all have read tile 0")
    for k in range(3):
        for t in range(2):
            fig.arrow(4 * k + 1.5, 6 * t + 2.5)
    fig.barrier(words="wait for a stage's bytes")
    fig.down()
    for t in range(2):
        fig.cell(6 * t + 2.5, f"t{t}", "registers", 60)
    fig.say("folded, in registers")
    fig.arrow(8.5, 2.5)
    fig.arrow(2.5, 2.5, style="keep")
    fig.down()
    fig.cell(2.5, "t0", "registers", 60)
    fig.say("two levels of shuffles", "then as in the figure of one_pass")
    return fig.write("Drawn with 2 threads for 256 and tiles of 4 elements for 32 KiB.")


def cluster():
    fig = Figure("cluster: eight blocks are one before the grid stage", 8, "all blocks of the cluster wait")
    for k in range(2):
        fig.frame(4 * k, 4 * k + 3, f"cluster {k}")
    fig.row(
        [f"b{k}" for k in range(8)],
        "registers",
        "each block's value,\nin its thread 0",
        "gathered and shuffled\nas in one_pass",
    )
    for k in range(8):
        fig.arrow(k, k)
    fig.barrier(words="cluster barrier")
    fig.down()
    fig.row(
        [f"s[{k % 4}]" for k in range(8)],
        "shared",
        "shared memory of\nits first block",
        "distributed shared memory:\nother blocks write into it",
    )
    for k in range(8):
        fig.arrow(k, 4 * (k // 4), style="take" if k % 4 else "keep")
    fig.barrier(words="cluster barrier")
    fig.down()
    for k in (0, 4):
        fig.cell(k, f"b{k}", "registers")
    fig.say("1 left a cluster", "in the order of ranks; the\nother blocks are done")
    watched(fig, 2, lambda k: 4 * k, "one unit a cluster, not a block")
    return fig.write("b0, b1 ...: a block. Drawn with clusters of 4 blocks for 8.")


FIGURES = [
    thread_partials,
    shared_thread0,
    shared_tree,
    shared_tree_last_warp,
    shuffle,
    global_interleaved,
    global_neighbored,
    global_unroll,
    shared_interleaved,
    shared_neighbored,
    shared_neighbored_strided,
    shared_shrink,
    shared_warp,
    shared_unroll,
    shared_shuffle_tail,
    shared_shuffle,
    global_halving,
    one_pass,
    one_pass_bulk,
    cluster,
]


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    here = pathlib.Path(__file__).resolve().parent
    drawn = {f"{draw.__name__}.svg": draw() for draw in FIGURES}
    if not sys.argv[1:]:
        for name, text in drawn.items():
            (here / name).write_text(text, encoding="utf-8")
        return 0
    wrong = [
        name
        for name, text in drawn.items()
        if not (here / name).is_file() or (here / name).read_text(encoding="utf-8") != text
    ]
    wrong += [path.name for path in sorted(here.glob("*.svg")) if path.name not in drawn]
    for name in wrong:
        print(f"docs/figures/{name} is not what draw.py draws: run docs/figures/draw.py")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
