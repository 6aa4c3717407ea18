# SPDX-License-Identifier: Apache-2.0
"""A run's rows as the page shows them: by place and operation, by type, by what was timed."""

import math
from dataclasses import dataclass

from palette import styles
from table import OPERATION_ORDER, TYPE_ORDER

PLACES = {"gpu": "GPU", "all-threads": "host, all threads", "one-thread": "host, one thread"}
TIMINGS = {
    "calls": "result on the device, calls in a row",
    "graph": "result on the device, as nodes of a CUDA graph",
    "between_small": "the same, each behind a small kernel",
    "between_small_hot": "the same, each behind a small kernel, one array",
    "between_axpy": "the same, each behind the axpy that wrote its array",
    "between_axpy_hot": "the same, each behind the axpy that wrote its array, one array",
    "blocking": "from the call to the value on the host",
    "host": "from the call to the value",
}
OWN = "fanin"
MOST_OWN = 3  # in a plot of ratios


@dataclass(frozen=True)
class Ratio:
    """Time of the peer over the own one."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def bounded(self):
        return self.low is not None and self.high is not None

    @property
    def slower(self):
        """The own time is the longer one; where bounds are known, beyond doubt."""
        return (self.high if self.bounded else self.value) < 1


@dataclass
class Group:
    """Rows of one case that were timed alike, each label's by size."""

    place: str
    operation: str
    type: str
    timing: str
    rows: dict  # label -> {n: row}
    styles: dict

    @property
    def sizes(self):
        return sorted({n for of_label in self.rows.values() for n in of_label})

    def timed(self, label):
        return [r for _, r in sorted(self.rows[label].items()) if r["ok"] and r["n"] > 0 and r["time_us"] > 0]

    def own(self):
        """Fanin's labels in it with times, a few: the fastest over an array, then others that are fast."""
        labels = [k for k in self.rows if self.styles[k].contender == OWN and self.timed(k)]
        least = {}
        for label in labels:
            for r in self.timed(label):
                least[r["n"]] = min(least.get(r["n"], math.inf), r["time_us"])

        def slowness(label):
            logs = [math.log(r["time_us"] / least[r["n"]]) for r in self.timed(label)]
            return sum(logs) / len(logs)

        fastest = sorted(labels, key=slowness)[:MOST_OWN]
        fastest.sort(key=lambda k: (next(iter(self.rows[k].values()))["form"] != "span", slowness(k)))
        return fastest[:1] + sorted(fastest[1:], key=lambda k: self.styles[k].number)

    def peers(self):
        return [k for k in self.rows if self.styles[k].contender != OWN and self.timed(k)]

    def ratios(self, own, peer):
        """By size: paired, where the run has them, else from the two times."""
        found = {}
        for row in self.timed(own):
            other = self.rows[peer].get(row["n"])
            if peer in row["ratios"]:
                found[row["n"]] = Ratio(*row["ratios"][peer])
            elif other and other["ok"]:
                found[row["n"]] = Ratio(other["time_us"] / row["time_us"])
        return found


def place_in(order, item):
    known = list(order)
    return (known.index(item), "") if item in known else (len(known), str(item))


def groups(run):
    """Every group of the run's arrays of uniform numbers, in the page's order, and the styles of its labels."""
    rows = run.synthetic()
    style = styles(rows)
    found = {}
    for r in rows:
        key = (r["place"], r["operation"], r["type"], r["timing"])
        group = found.setdefault(key, Group(*key, rows={}, styles=style))
        group.rows.setdefault(r["label"], {})[r["n"]] = r
    orders = (PLACES, OPERATION_ORDER, TYPE_ORDER, TIMINGS)
    keys = sorted(found, key=lambda key: [place_in(order, part) for order, part in zip(orders, key)])
    return [found[k] for k in keys], style
