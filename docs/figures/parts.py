# SPDX-License-Identifier: Apache-2.0
"""What several figures of draw.py have in common: the stages, drawn."""

from figure import CELL, RIGHT, STEP


def numbers(count, first=0):
    return [str(first + k) for k in range(count)]


def finish_on_host(fig, columns, note="the host adds them up"):
    """Partial results in the row that stands go to the host."""
    for c in columns:
        fig.arrow(c, fig.columns / 2 - 0.5)
    fig.down()
    fig.cell(fig.columns / 2 - 0.5, "sum", "host", 60)
    fig.say("on the host", note)


def tree(fig, width, kind, order, note_of, barrier="barrier", stop=1, first=True, worker=str):
    """Steps from `width` values in the row that stands down to `stop`; order: interleaved, divergent or strided."""
    stride, left = 1, width
    while left > stop:
        half = left // 2
        for k in range(half):
            target = k if order == "interleaved" else 2 * stride * k
            source = target + (half if order == "interleaved" else stride)
            fig.arrow(source, target)
            fig.arrow(target, target, style="keep")
        if barrier and not first:
            fig.barrier(words=barrier)
        first = False
        fig.down()
        words = {}
        for k in range(half):
            target = k if order == "interleaved" else 2 * stride * k
            words[target] = f"t{k}" if order != "divergent" else f"t{target}"
        idle = [c for c in range(width) if c not in words]
        fig.row(words, kind, f"{half} left" if half > 1 else "1 left", note_of(half, stride), idle)
        stride, left = stride * 2, half


def chunks(fig, count, width, shown=None):
    """Chunks above one another: thread t owns column t."""
    shown = shown or list(range(count))
    fig.frame(0, width - 1, f"a block of {width} threads owns {count} chunks")
    for k in shown:
        note = "thread t takes element t\nof every chunk" if k == shown[0] else ""
        fig.row(numbers(width, k * width), "input", f"chunk {k}", note)
        if k != shown[-1]:
            for c in range(width):
                fig.arrow(c, c, 32, "through")
            fig.down(32)
    for c in range(width):
        fig.arrow(c, c)


def gather_stride(fig, elements, threads, blocks, kind, label, note=""):
    """Element i to thread i mod threads; the threads stand over the first columns."""
    fig.row(numbers(elements), "input", "elements")
    spread = elements / threads
    for i in range(elements):
        fig.arrow(i, (i % threads + 0.5) * spread - 0.5)
    fig.down()
    of_block = threads // blocks
    for t in range(threads):
        fig.cell((t + 0.5) * spread - 0.5, f"t{t % of_block}", kind)
    fig.say(label, note)


def grid_stride_rows(fig, width):
    """Two rounds of a grid stride, as seen by one block of `width` threads."""
    fig.frame(0, width - 1, "what one block of the grid gathers")
    fig.row(
        [f"t{t}" for t in range(width)],
        "registers",
        "sums of the threads,\nin registers",
        "each thread has gone through\nthe array by the grid's width",
    )
    for c in range(width):
        fig.arrow(c, c)
    fig.down()
    fig.row([f"s[{t}]" for t in range(width)], "shared", "shared memory")


def leave_partial(fig, note, kind="global"):
    fig.arrow(0, 0)
    fig.down()
    fig.cell(0, "out[b]", kind, 50)
    fig.say("one result a block", note)


def warp_tail(fig, columns):
    """4 values to 1 by a warp drawn 2 lanes wide; idle cells keep the block's width."""
    for half, words in ((2, "the barrier above is the last one"), (1, "")):
        for k in range(half):
            fig.arrow(k + half, k)
            fig.arrow(k, k, style="keep")
        if half == 2:
            fig.barrier()
        else:
            fig.text(RIGHT, fig.y + CELL + 24, "warp sync, no barrier", "small")
        fig.down()
        fig.row(
            {k: f"t{k}" for k in range(half)},
            "shared",
            f"{half} left\nfirst warp, unrolled",
            words,
            [c for c in range(columns) if c >= half],
        )


def shuffles(fig, warps, lanes, label="in registers"):
    """Each warp's registers by shuffles, then one value a warp through shared memory to the first warp."""
    width = warps * lanes
    half = lanes // 2
    while half:
        for w in range(warps):
            for k in range(half):
                fig.arrow(w * lanes + k + half, w * lanes + k)
                fig.arrow(w * lanes + k, w * lanes + k, style="keep")
        fig.down()
        words = {w * lanes + k: f"t{w * lanes + k}" for w in range(warps) for k in range(half)}
        fig.row(
            words,
            "registers",
            f"shuffle by {half}",
            "no barrier, no memory",
            [c for c in range(width) if c not in words],
        )
        half //= 2
    for w in range(warps):
        fig.arrow(w * lanes, w)
    fig.down()
    fig.row({w: f"s[{w}]" for w in range(warps)}, "shared", "one value a warp")
    for w in range(warps):
        fig.arrow(w, w)
    fig.barrier(words="the only barrier")
    fig.down()
    fig.row(
        {w: f"t{w}" for w in range(warps)},
        "registers",
        "the first warp",
        "lanes beyond the warps there\nare load the identity",
    )
    half = warps // 2
    while half:
        for k in range(half):
            fig.arrow(k + half, k)
            fig.arrow(k, k, style="keep")
        fig.down()
        fig.row({k: f"t{k}" for k in range(half)}, "registers", f"shuffle by {half}", "", range(half, warps))
        half //= 2


def second_pass(fig, note="as many as there are blocks:\nlaunched again over them,\nuntil one is left"):
    leave_partial(fig, note)


def watched(fig, blocks, at, note="16-byte units, each with the\nlaunch's number: no fence,\nno atomic, no ticket"):
    for k in range(blocks - 1):
        fig.arrow(at(k), at(k))
    fig.arrow(at(blocks - 1), at(blocks - 1), 2 * STEP, "keep")
    fig.down()
    for k in range(blocks - 1):
        fig.cell(at(k), f"unit {k}", "global", 56)
    fig.say("handed over", note)
    for k in range(blocks - 1):
        fig.arrow(at(k), at(blocks - 1))
    fig.down()
    fig.cell(at(blocks - 1), "sum", "registers", 56)
    fig.say("the last-indexed block", "watches for the units, takes\nthem in, and delivers")
