# SPDX-License-Identifier: Apache-2.0
"""A colour for each contender, safe for colour-blind readers; strategies and forms of one differ by shade and mark."""

from dataclasses import dataclass

# On white and on black: at least 3:1 against either.
SHADES = {
    "fanin": [
        ("#0072B2", "#5AB4F0"),
        ("#2E93D1", "#9AD4FF"),
        ("#003F66", "#3B8FD9"),
        ("#4B79C9", "#B3C7FF"),
        ("#12848C", "#5FD3DB"),
        ("#6A5ACD", "#B7A8FF"),
    ],
    "kokkos": [("#D55E00", "#FF8A3D"), ("#B3780F", "#F0B55E")],
    "cub": [("#009166", "#2ED3A0")],
    "cub-wheel": [("#00563D", "#8FE3C5")],
    "thrust": [("#B85C94", "#EB9CCB")],
    "cublas": [("#94700A", "#E6C04D")],
    "std": [("#666666", "#B0B0B0")],
}
OTHERS = [("#000000", "#FFFFFF"), ("#8C564B", "#D9A79C"), ("#7F3C8D", "#D59BE0")]


@dataclass(frozen=True)
class Style:
    number: int  # in the order in which labels occur
    contender: str
    light: str
    dark: str
    mark: int  # which of a drawing's marks, modulo their number


def styles(rows):
    """A style for each label of the rows. Labels of one place, which share plots, differ."""
    found = {}
    seen = {}  # (place, contender) -> its labels so far
    marks = {}  # place -> labels so far
    unknown = {}
    for row in rows:
        label, name, place = row["label"], row["contender"], row["place"]
        if label in found:
            continue
        if name in SHADES:
            k = seen[place, name] = seen.get((place, name), -1) + 1
            light, dark = SHADES[name][k % len(SHADES[name])]
        else:
            light, dark = OTHERS[unknown.setdefault(label, len(unknown)) % len(OTHERS)]
        mark = marks[place] = marks.get(place, -1) + 1
        found[label] = Style(len(found), name, light, dark, mark)
    return found
