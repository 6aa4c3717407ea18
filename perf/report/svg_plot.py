# SPDX-License-Identifier: Apache-2.0
"""Curves over size as inline SVG, both axes logarithmic. Colours come from the page's style sheet."""

import math
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 400, 282
LEFT, RIGHT, TOP, BOTTOM = 52, 390, 14, 236  # of the field in which curves are
ROOM = 17  # for a text beside a line

# About the point where they stand.
MARKS = [
    "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
    "m-2.6-2.6h5.2v5.2h-5.2z",
    "m0-3.4l3.3 5.8h-6.6z",
    "m0-3.7l3.7 3.7l-3.7 3.7l-3.7-3.7z",
    "m0 3.4l3.3-5.8h-6.6z",
    "m-3.4-1.2h2.2v-2.2h2.4v2.2h2.2v2.4h-2.2v2.2h-2.4v-2.2h-2.2z",
    "m-3.4 0l5.8-3.3v6.6z",
]

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass
class Point:
    n: int
    y: float
    text: str
    low: float | None = None  # bounds, where they are known
    high: float | None = None


@dataclass
class Curve:
    label: str
    style: int  # number of the colour and mark
    points: list
    mark: int = 0
    dash: str = ""  # "", "dashed" or "dotted"
    pair: int | None = None  # of a ratio: the number of the other contender


@dataclass
class Line:
    y: float
    text: str
    kind: str = "limit"
    below: bool = False  # the text stands under it, flush right; else above it, flush left


@dataclass
class Plot:
    name: str  # read out instead of the drawing
    unit: str
    curves: list
    lines: list = field(default_factory=list)


def power_text(n):
    """2²⁰ where n is a power of two, else digits in groups of three."""
    if n >= 1 and n & (n - 1) == 0:
        return "2" + str(n.bit_length() - 1).translate(SUPERSCRIPTS)
    return f"{n:,}".replace(",", "\u202f")


def power_svg(n):
    return f'2<tspan class="power" dy="-4">{n.bit_length() - 1}</tspan>'


def number_text(x):
    """Three digits or more, no exponent."""
    if x >= 1000:
        return f"{x:,.0f}".replace(",", "\u202f")
    digits = 0 if x >= 100 else 1 if x >= 10 else 2
    return f"{x:.{digits}f}"


def coordinate(x):
    text = f"{x:.1f}"
    return text.removesuffix(".0")


class Scale:
    """A logarithmic axis: `low` lies at `start`, `high` at `end`."""

    def __init__(self, low, high, start, end):
        self.low, self.high = low, high
        self.start, self.end = start, end

    def __call__(self, value):
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + (self.end - self.start) * share

    def holds(self, value):
        return self.low * 0.999999 <= value <= self.high * 1.000001


def decade_ticks(low, high, steps):
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [s * 10.0**k for k in range(first, last + 1) for s in steps if low <= s * 10.0**k <= high]


def ticks(low, high):
    """Round values between the ends, four at least where there are such."""
    found = []
    for steps in ([1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 6, 8]):
        found = decade_ticks(low, high, steps)
        if len(found) >= 4:
            return found
    # Less than a decade or so: even steps.
    span = math.floor(math.log10(high - low))
    for step in (s * 10.0**k for k in (span, span - 1) for s in (5, 2, 1)):
        even = [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1) if k > 0]
        if 4 <= len(even) <= 10:
            return even
    return found


def tick_text(value):
    if value >= 10000:  # beside the axis there is room for four digits
        return f"{value / 1000:.10g}k"
    return number_text(value) if value >= 1000 else f"{value:.10g}"


def size_ticks(low, high, most=7):
    first, last = max(0, math.ceil(math.log2(low))), math.floor(math.log2(high))
    step = next(s for s in (1, 2, 3, 4, 5, 6, 8, 10, 16, 32) if (last - first) // s < most)
    return [2**k for k in range(-(-first // step) * step, last + 1, step)]


def scales(plot):
    sizes = [p.n for c in plot.curves for p in c.points]
    values = [v for c in plot.curves for p in c.points for v in (p.y, p.low, p.high) if v]
    values += [line.y for line in plot.lines]
    low, high = min(values), max(values)
    # Room around the curves, and a field of some height where all is equal.
    margin = max((high / low) ** 0.06, 1.05)
    if high / low < 1.1:
        margin = max(margin, 1.15)
    low /= margin
    high *= margin
    # A text has its height between its line and the end of the field.
    room = ROOM / (BOTTOM - TOP)
    for line in (line for line in plot.lines if line.text):
        if line.below:
            low = min(low, line.y / (high / line.y) ** (room / (1 - room)))
        else:
            high = max(high, line.y * (line.y / low) ** (room / (1 - room)))
    narrow = 2 if min(sizes) == max(sizes) else (max(sizes) / min(sizes)) ** 0.02
    return (
        Scale(max(min(sizes) / narrow, 0.5), max(sizes) * narrow, LEFT, RIGHT),
        Scale(low, high, BOTTOM, TOP),
    )


def grid_svg(x, y, unit):
    paths = []
    texts = []
    for n in size_ticks(x.low, x.high):
        at = coordinate(x(n))
        paths.append(f"M{at} {TOP}V{BOTTOM}")
        texts.append(f'<text x="{at}" y="{BOTTOM + 21}" text-anchor="middle">{power_svg(n)}</text>')
    for value in ticks(y.low, y.high):
        at = y(value)
        paths.append(f"M{LEFT} {coordinate(at)}H{RIGHT}")
        texts.append(f'<text x="{LEFT - 5}" y="{coordinate(at + 3.5)}" text-anchor="end">{tick_text(value)}</text>')
    middle = (LEFT + RIGHT) / 2
    texts.append(f'<text x="{coordinate(middle)}" y="{HEIGHT - 5}" text-anchor="middle">elements</text>')
    up = (TOP + BOTTOM) / 2
    texts.append(
        f'<text x="10" y="{coordinate(up)}" text-anchor="middle" transform="rotate(-90 10 {coordinate(up)})">'
        f"{escape(unit)}</text>"
    )
    return f'<path class="grid" d="{"".join(paths)}"/><g class="axis">{"".join(texts)}</g>'


def line_svg(line, y):
    at = y(line.y)
    drawn = f'<path class="{line.kind}" d="M{LEFT} {coordinate(at)}H{RIGHT}"/>'
    if line.kind == "one":
        drawn = f'<path class="behind-area" d="M{LEFT} {coordinate(at)}H{RIGHT}V{BOTTOM}H{LEFT}z"/>{drawn}'
    if not line.text:
        return drawn
    anchor, text_x, text_y = ("end", RIGHT - 3, at + 12) if line.below else ("start", LEFT + 5, at - 5)
    return (
        f'{drawn}<text class="note" x="{text_x}" y="{coordinate(text_y)}" text-anchor="{anchor}">'
        f"{escape(line.text)}</text>"
    )


def band_svg(points, x, y):
    known = [p for p in points if p.low and p.high]
    if len(known) < 2:
        return ""
    corners = [(p.n, p.high) for p in known] + [(p.n, p.low) for p in reversed(known)]
    return f'<path class="band" d="M{"L".join(f"{coordinate(x(n))} {coordinate(y(v))}" for n, v in corners)}z"/>'


def curve_svg(curve, x, y):
    at = [(coordinate(x(p.n)), coordinate(y(p.y))) for p in curve.points]
    marks = "".join(
        f'<path class="m" d="M{px} {py}{MARKS[curve.mark % len(MARKS)]}"><title>{escape(p.text)}</title></path>'
        for p, (px, py) in zip(curve.points, at)
    )
    line = f'<path class="line" d="M{"L".join(" ".join(xy) for xy in at)}"/>' if len(at) > 1 else ""
    numbers = f"{curve.style}" if curve.pair is None else f"{curve.style} {curve.pair}"
    kind = f"c{curve.style} {curve.dash}".strip()
    # Bands of several curves over each other show nothing; the broken ones go without.
    band = "" if curve.dash else band_svg(curve.points, x, y)
    return f'<g class="curve {kind}" data-of="{numbers}">{band}{line}{marks}</g>'


def to_svg(plot):
    """The drawing; it has points."""
    x, y = scales(plot)
    parts = [grid_svg(x, y, plot.unit)]
    parts += [line_svg(line, y) for line in plot.lines if y.holds(line.y)]
    # The first curve is the one that matters most: drawn last, on top.
    parts += [curve_svg(curve, x, y) for curve in reversed(plot.curves)]
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(plot.name)}">'
        + "\n".join(parts)
        + "</svg>"
    )


def key_svg(style, mark):
    """A piece of curve for a legend."""
    line = f'<path class="line" d="M1 6H25"/><path class="m" d="M13 6{MARKS[mark % len(MARKS)]}"/>'
    return f'<svg class="swatch" viewBox="0 0 26 12" aria-hidden="true"><g class="c{style}">{line}</g></svg>'
