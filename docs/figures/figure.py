# SPDX-License-Identifier: Apache-2.0
"""The paper that draw.py draws on: rows of cells with arrows between them, a remark at each side, a legend below.
Colours follow the reader's light or dark scheme. Words that would not fit are an error."""

from html import escape

WIDTH = 820
LEFT = 168  # where the columns begin
MIDDLE = 440  # how wide they are together
RIGHT = LEFT + MIDDLE + 16  # where remarks begin
CELL = 24
STEP = 64  # from one row of cells to the next

STYLE = """
text { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1b2430; }
.small { font-size: 11px; } .title { font-size: 14px; font-weight: 600; } .mid { text-anchor: middle; }
.paper { fill: #fbfcfe; stroke: #c6d0dc; }
.input { fill: #dde3ea; stroke: #7c8896; } .global { fill: #a9cdf5; stroke: #2a6db5; }
.shared { fill: #ffd591; stroke: #b57610; } .registers { fill: #b7e4b2; stroke: #358a3a; }
.host { fill: #e3c8f1; stroke: #8a4bad; } .idle { fill: none; stroke: #9aa5b1; stroke-dasharray: 3 3; }
.take { stroke: #c2251f; stroke-width: 1.6; fill: none; } .keep { stroke: #7c8896; stroke-width: 1.2; fill: none; }
.head { fill: #c2251f; } .barrier { stroke: #56606c; stroke-dasharray: 7 4; } .frame { fill: none; stroke: #9aa5b1; }
@media (prefers-color-scheme: dark) {
  text { fill: #e8edf3; } .paper { fill: #161b22; stroke: #3b4653; }
  .input { fill: #3d4854; stroke: #93a0ae; } .global { fill: #1c4f8a; stroke: #6fb0f5; }
  .shared { fill: #7a4f08; stroke: #f0b34a; } .registers { fill: #235f2a; stroke: #79cf7c; }
  .host { fill: #5d3377; stroke: #cf9bea; } .idle { stroke: #6f7b88; } .frame { stroke: #6f7b88; }
  .take { stroke: #ff7b72; } .head { fill: #ff7b72; } .keep { stroke: #93a0ae; } .barrier { stroke: #a9b4c0; }
}
"""

KINDS = {
    "input": "the array (never written)",
    "global": "workspace",
    "shared": "shared memory",
    "registers": "registers",
    "host": "host",
}


class Figure:
    def __init__(self, title, columns, waits="all threads of the block wait"):
        self.title = title
        self.waits = waits
        self.columns = columns
        self.pitch = MIDDLE / columns
        self.y = 58
        self.shapes = []
        self.lines = []
        self.kinds = []
        self.has_barrier = False
        self.has_idle = False

    def x(self, column):
        return LEFT + (column + 0.5) * self.pitch

    def text(self, x, y, words, style=""):
        mark = f' class="{style}"' if style else ""
        if (
            "mid" not in style
            and x + len(words) * (5.7 if "small" in style else 6.2) > (WIDTH if x >= RIGHT else LEFT) - 4
        ):
            raise ValueError(f"{self.title}: no room for: {words}")
        self.shapes.append(f'<text x="{x:g}" y="{y:g}"{mark}>{escape(words)}</text>')

    def cell(self, column, words, kind, width=None):
        w = width or min(CELL + 10, self.pitch - 4)
        x = self.x(column)
        if kind in KINDS and kind not in self.kinds:
            self.kinds.append(kind)
        self.has_idle |= kind == "idle"
        self.shapes.append(
            f'<rect class="{kind}" x="{x - w / 2:.1f}" y="{self.y}" width="{w:.1f}" height="{CELL}" rx="4"/>'
        )
        if words:
            self.text(x, self.y + 16, words, "small mid")

    def row(self, words, kind, label, note="", idle=()):
        """A row of cells: words by column (a list, None leaves a gap; or a dict); what it is; a remark."""
        items = words.items() if isinstance(words, dict) else enumerate(words)
        for column, word in items:
            if word is not None:
                self.cell(column, word, kind)
        for column in idle:
            self.cell(column, "", "idle")
        self.say(label, note)

    def say(self, label="", note=""):
        for k, line in enumerate(label.split("\n")):
            self.text(16, self.y + (16 if "\n" not in label else 9 + 15 * k), line)
        for k, line in enumerate(note.split("\n")):
            self.text(RIGHT, self.y + (16 if "\n" not in note else 9 + 15 * k), line, "small")

    def down(self, step=STEP):
        self.y += step

    def arrow(self, source, target, step=STEP, style="take"):
        """From the row above to the row that comes next."""
        x1, y1 = self.x(source), self.y + CELL
        x2, y2 = self.x(target), self.y + step
        if style in ("keep", "through"):
            style = "take" if style == "through" else style
            self.lines.append(f'<path class="{style}" d="M{x1:.1f} {y1}L{x2:.1f} {y2}"/>')
            return
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        bx, by = x2 - 8 * ux, y2 - 8 * uy
        self.lines.append(f'<path class="take" d="M{x1:.1f} {y1}L{bx:.1f} {by:.1f}"/>')
        self.lines.append(
            f'<path class="head" d="M{x2:.1f} {y2}'
            f'L{bx - 4 * uy:.1f} {by + 4 * ux:.1f}L{bx + 4 * uy:.1f} {by - 4 * ux:.1f}Z"/>'
        )

    def barrier(self, step=STEP, words="barrier"):
        y = self.y + CELL + (step - CELL) / 2
        self.has_barrier = True
        self.lines.append(f'<path class="barrier" d="M{LEFT - 8} {y:g}H{RIGHT - 12}"/>')
        self.text(RIGHT, y + 4, words, "small")

    def frame(self, first, last, words, above=18):
        """Around the columns of a block, a warp or a thread, above the row that comes next."""
        x1, x2 = self.x(first) - self.pitch / 2 + 1, self.x(last) + self.pitch / 2 - 1
        y = self.y - 5
        self.shapes.append(f'<path class="frame" d="M{x1:.1f} {y}v-4H{x2:.1f}v4"/>')
        self.text((x1 + x2) / 2, y - above + 9, words, "small mid")

    def write(self, scale):
        y = self.y + CELL + 26
        x = 16
        legend = []
        for kind in self.kinds:
            legend.append(f'<rect class="{kind}" x="{x}" y="{y}" width="16" height="14" rx="3"/>')
            legend.append(f'<text class="small" x="{x + 22}" y="{y + 11}">{KINDS[kind]}</text>')
            x += 46 + 6 * len(KINDS[kind])
        y += 24
        legend.append(f'<path class="take" d="M16 {y + 7}H40"/><path class="head" d="M46 {y + 7}l-8 -4v8Z"/>')
        legend.append(f'<text class="small" x="52" y="{y + 11}">is taken in</text>')
        legend.append(f'<path class="keep" d="M132 {y + 7}H160"/>')
        legend.append(f'<text class="small" x="166" y="{y + 11}">stays where it is</text>')
        x = 282
        if self.has_idle:
            legend.append(f'<rect class="idle" x="{x}" y="{y}" width="16" height="14" rx="3"/>')
            legend.append(f'<text class="small" x="{x + 22}" y="{y + 11}">nobody works here</text>')
            x += 160
        if self.has_barrier:
            legend.append(f'<path class="barrier" d="M{x} {y + 7}H{x + 28}"/>')
            legend.append(f'<text class="small" x="{x + 34}" y="{y + 11}">{escape(self.waits)}</text>')
        legend.append(
            f'<text class="small" x="16" y="{y + 33}">t0, t1 ...: the thread that works. {escape(scale)}</text>'
        )
        height = y + 48
        return "\n".join(
            [
                '<svg xmlns="http://www.w3.org/2000/svg" '
                + f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
                + f'role="img" aria-label="{escape(self.title)}">',
                # REUSE-IgnoreStart
                "<!-- SPDX-License-Identifier: Apache-2.0 -->",
                # REUSE-IgnoreEnd
                "<!-- drawn by draw.py -->",
                f"<style>{STYLE}</style>",
                f'<rect class="paper" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
                f'<text class="title" x="16" y="26">{escape(self.title)}</text>',
                *self.lines,
                *self.shapes,
                *legend,
                "</svg>",
                "",
            ]
        )
