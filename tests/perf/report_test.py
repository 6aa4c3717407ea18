# SPDX-License-Identifier: Apache-2.0
"""The report's parts on made-up runs.

report_test.py FOLDER_OF_REPORT
"""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

import matplotlib.image
import numpy as np

FOLDER = sys.argv.pop(1)
sys.path.insert(0, FOLDER)

import report  # noqa: E402
from data import data_tables  # noqa: E402
from page import to_html  # noqa: E402
from palette import OTHERS, SHADES  # noqa: E402
from runs import ReportError, load_run, size_text  # noqa: E402
from sections import groups  # noqa: E402
from svg_plot import BOTTOM, LEFT, RIGHT, TOP, Curve, Line, Plot, Point, Scale, ticks, to_svg  # noqa: E402
from table import comparison_table, shown_sizes  # noqa: E402

RESULTS = Path(FOLDER).parent / "results"
HOSTILE = "<img src=x onerror=alert(1)>\"'&</script><!--"


def row(**changes):
    made = {
        "contender": "fanin",
        "backend": "cuda",
        "strategy": "one_pass",
        "form": "span",
        "label": "fanin one_pass",
        "place": "gpu",
        "operation": "sum",
        "type": "f32",
        "n": 1024,
        "destination": "device",
        "timing": "calls",
        "input": None,
        "reference": {"value": "1.5"},
        "statistic": "median",
        "is_peer": False,
        "is_kokkos_baseline": False,
        "time_us": 2.05,
        "mean_us": 2.0,
        "within_percent": 25,
        "ratios": [],  # the peer's row, the mean, per cent
    }
    made.update(changes)
    made.setdefault("bytes", 4 * made["n"])
    return made


WAY = "contender backend strategy form label place destination timing statistic is_peer is_kokkos_baseline".split()
CASE = "operation type n bytes input reference".split()
COLUMNS = "way time_us mean_us within_percent ratios answer error_bound fault".split()


def run_data(rows):
    """A file that holds these rows."""
    ways = []
    cases = {}

    def way_of(row):
        way = {name: row[name] for name in WAY}
        if way not in ways:
            ways.append(way)
        return ways.index(way)

    for r in rows:
        facts = {name: r[name] for name in [*CASE, "data"] if name in r}
        case = cases.setdefault(str(facts), {**facts, "rows": []})
        ratios = [[way_of(peer), *ratio] for peer, *ratio in r["ratios"]]
        values = {**r, "way": way_of(r), "ratios": ratios}
        values = [values.get(name) for name in COLUMNS]
        while values[-1] is None:
            values.pop()
        case["rows"].append(values)
    return {
        "schema": 2,
        "meta": {
            "fanin": "0.1.0",
            "commit": "0123456789abcdef",
            "dirty": False,
            "date": "2026-01-02T03:04:05Z",
            "compiler": "GNU 12.2.0",
            "host": {"cpu": "A CPU", "threads": 2},
            "gpu": {"name": "A GPU", "driver": "580.1", "cuda_runtime": "13.0"},
            "versions": {"cub": "3.0.1"},
            "series": 7,
        },
        "limits": {"device": {"read_gbs": 4571.0, "blocking_floor_us": 7.0}},
        "inputs": [],
        "ways": ways,
        "columns": COLUMNS,
        "cases": list(cases.values()),
    }


def wrong(fault, **changes):
    """A row with a wrong answer, which has no times."""
    return row(time_us=None, mean_us=None, within_percent=None, fault=fault, **changes)


def gpu_rows():
    rows = []
    for contender, label in (("fanin", "fanin one_pass"), ("cub", "cub"), ("kokkos", "kokkos cuda")):
        for destination, timing in (("device", "calls"), ("host", "blocking")):
            for k in range(10, 30, 2):
                us = 3.0 + 4 * 2.0**k / 4.5e3 * 1e-3
                made = {"contender": contender, "label": label, "destination": destination, "timing": timing}
                rows.append(row(**made, n=2**k, time_us=us))
    return rows


class Page(HTMLParser):
    """What the test asks of a page; complains about what does not nest."""

    EMPTY = {"meta"}

    def __init__(self, text):
        super().__init__()
        self.tags = []  # (name, attributes)
        self.stack = []
        self.said = {}  # tag -> the texts in it
        self.faults = []
        self.text = text
        self.feed(text)
        self.close()
        self.faults += [f"{name} is not closed" for name, _ in self.stack]

    def handle_starttag(self, name, attributes):
        self.tags.append((name, dict(attributes)))
        if name not in self.EMPTY:
            self.stack.append((name, dict(attributes)))

    def handle_startendtag(self, name, attributes):
        self.tags.append((name, dict(attributes)))

    def handle_endtag(self, name):
        if not self.stack or self.stack.pop()[0] != name:
            self.faults.append(f"</{name}> closes another")

    def handle_data(self, data):
        for name in {name for name, _ in self.stack}:
            self.said.setdefault(name, []).append(data)

    def all(self, name, **wanted):
        wanted = {k.replace("cls", "class"): v for k, v in wanted.items()}
        return [a for n, a in self.tags if n == name and all(a.get(k) == v for k, v in wanted.items())]

    def words(self, name):
        return " ".join(self.said.get(name, []))


def start(path):
    """Where a mark stands: the first point of its path."""
    return tuple(map(float, re.match(r"M([\d.]+) ([\d.]+)m", path).groups()))


class InTemporaryFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, data, name="run.json"):
        file = self.path / name
        file.write_text(data if isinstance(data, str) else json.dumps(data))
        return file

    def run_report(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = report.main([*map(str, arguments), "--out", str(self.path / "out")])
        return code, out.getvalue(), err.getvalue()

    def page(self, rows, **changes):
        page = Page(to_html(load_run(self.write({**run_data(rows), **changes}))))
        self.assertEqual(page.faults, [])
        ids = [a["id"] for _, a in page.tags if "id" in a]
        self.assertEqual(len(ids), len(set(ids)))
        return page


class Report(InTemporaryFolder):
    def test_sizes(self):
        self.assertEqual([size_text(n) for n in (1000, 1024, 2**33, 2**20 + 7)], ["1000", "2^10", "2^33", "1048583"])
        self.assertEqual(shown_sizes([1, 2, 3]), {1, 2, 3})
        self.assertEqual(shown_sizes(range(1, 10)), {1, 5, 9})

    def test_table_shows_ratio_share_and_fault(self):
        kokkos = row(label="kokkos cuda", is_kokkos_baseline=True, time_us=2.05 * 1.75)
        elsewhere = row(label="kokkos openmp", is_kokkos_baseline=True, place="all-threads", n=2**20, time_us=1.0)
        cub = wrong("7 where 8 is right", label="cub")
        run = load_run(self.write(run_data([row(n=2**20), {**kokkos, "n": 2**20, "bytes": 2**22}, elsewhere, cub])))
        text = comparison_table(run, every_size=True)
        self.assertIn("2^10", text)
        self.assertRegex(text, r"fanin one_pass +device +2\.05 +2046 +45 % +1\.75")
        self.assertIn("WRONG", text)
        self.assertIn("7 where 8 is right", text)

    def test_data_have_tables_of_their_own(self):
        kinds = {"anybits": 4.1, "sparse:3": 2.5}
        rows = [row(), row(operation="exact_sum", time_us=2.5)]
        for kind, time in kinds.items():
            rows += [row(data=kind), row(data=kind, operation="exact_sum", time_us=time)]
        rows.append({**wrong("bad", operation="exact_sum", n=4096), "data": "anybits"})
        rows.append(row(data="anybits", n=4096))
        run = load_run(self.write(run_data(rows)))
        (table,) = data_tables(run)
        self.assertEqual(table.header, ["data", "f32 2^10", "f32 2^12"])
        self.assertEqual(
            table.rows, [["uniform", "0.82", ""], ["anybits", "0.50", "WRONG"], ["sparse:3", "0.82", ""]]
        )
        self.assertEqual(comparison_table(run, every_size=True).count("one_pass"), 2)
        self.assertEqual(sum(len(of) for g in groups(run)[0] for of in g.rows.values()), 2)
        self.assertIn("<td>0.50</td><td>WRONG</td>", to_html(run))
        self.assertEqual(data_tables(load_run(self.write(run_data(rows[:2])))), [])

    def test_a_wrong_answer_is_a_failure(self):
        code, _, err = self.run_report(self.write(run_data([wrong("bad")])), "--no-plots")
        self.assertEqual(code, 1)
        self.assertIn("WRONG", err)

    def test_gpu_runs_get_a_figure_with_both_destinations(self):
        code, out, err = self.run_report(self.write(run_data(gpu_rows())))
        self.assertEqual(code, 0, err)
        self.assertIn("4571", out)
        self.assertTrue((self.path / "out/run-gpu.png").exists())
        self.assertTrue((self.path / "out/run-gpu.svg").exists())
        colours = matplotlib.image.imread(self.path / "out/run-gpu.png")[:, :, :3].reshape(-1, 3) * 255
        for name in ("fanin", "cub", "kokkos"):
            shade = [int(SHADES[name][0][0][i : i + 2], 16) for i in (1, 3, 5)]
            self.assertGreater(int(np.sum(np.abs(colours - shade).max(axis=1) <= 6)), 25, name)
        self.assertFalse((self.path / "out/run-host.png").exists())
        self.assertTrue((self.path / "out/run.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>"))

    def test_a_call_and_a_node_of_a_graph_are_told_apart(self):
        rows = [row(), row(timing="graph", time_us=1.25)]
        text = comparison_table(load_run(self.write(run_data(rows))), every_size=True)
        self.assertRegex(text, r"device +2\.05")
        self.assertRegex(text, r"device, graph +1\.25")
        code, _, err = self.run_report(self.write(run_data(rows)))
        self.assertEqual(code, 0, err)

    def test_several_runs(self):
        first = self.write(run_data([row()]), "first.json")
        second = self.write(run_data([row()]), "second.json")
        code, out, _ = self.run_report(first, second, "--no-plots")
        self.assertEqual(code, 0)
        self.assertIn("first.txt", out)
        self.assertIn("second.txt", out)

    def test_files_that_cannot_be_used(self):
        for data in ("", "{}", "[]", json.dumps({"schema": 99}), json.dumps({"schema": 2})):
            with self.assertRaises(ReportError):
                load_run(self.write(data))
        with self.assertRaisesRegex(ReportError, "is of schema 1, this report reads 2: measure again"):
            load_run(self.write(json.dumps({"schema": 1, "rows": []})))
        code, _, err = self.run_report(self.path / "nonesuch.json")
        self.assertEqual(code, 2)
        self.assertIn("nonesuch.json", err)


class Ranks(unittest.TestCase):
    """What is made of runs over ranks."""

    def test_a_table_and_a_chart(self):
        with tempfile.TemporaryDirectory() as folder:
            at = Path(folder)
            paths = []
            for scaling, ranks, elements in (("strong", 2, 1024), ("weak", 2, 1024), ("weak", 1, 1024), ("strong", 1, 2048)):
                medians = {"loop, MPI_Allreduce": 10.0 * ranks, "integer vectors, two MPI_Allreduce": 20.5,
                           "fanin sum": 1.25, "fanin exact_sum": 2.5}  # fmt: skip
                if scaling == "strong":
                    medians["Kokkos, MPI_Allreduce"] = 9.75
                run = {"ranks": ranks, "elements": elements, "scaling": scaling, "unit": "us", "medians": medians}
                paths.append(at / f"{scaling}-{ranks}.json")
                paths[-1].write_text(json.dumps(run), encoding="utf-8")
            meta = at / "meta.json"
            meta.write_text(json.dumps({"host": "a host", "mpi": "an MPI"}), encoding="utf-8")
            scripts, results, drawn = Path(FOLDER).parent / "ranks", at / "ranks.json", at / "ranks.svg"
            made = subprocess.run([sys.executable, scripts / "table.py", results, meta, *paths],
                                  check=True, capture_output=True, text=True)  # fmt: skip
            self.assertEqual(made.stdout.splitlines()[2:], [
                "| 1024 a rank, 1 | 10 |  | 20.5 | 1.25 | 2.5 |",
                "| 1024 a rank, 2 | 20 |  | 20.5 | 1.25 | 2.5 |",
                "| 2048 in all, 1 | 10 | 9.75 | 20.5 | 1.25 | 2.5 |",
                "| 2048 in all, 2 | 20 | 9.75 | 20.5 | 1.25 | 2.5 |",
            ])  # fmt: skip
            subprocess.run([sys.executable, scripts / "chart.py", results, drawn], check=True)
            svg = drawn.read_text(encoding="utf-8")
        for text in ("2^10 doubles a rank", "2^11 doubles in all", "a host, an MPI", "Kokkos, MPI_Allreduce"):
            self.assertIn(text, svg)
        self.assertEqual(svg.count(">loop, MPI_Allreduce<"), 1)


class Stored(unittest.TestCase):
    """What perf/results holds."""

    def test_it_is_small(self):
        sizes = {path: path.stat().st_size for path in RESULTS.rglob("*") if path.is_file()}
        self.assertLessEqual(sum(sizes.values()), 1_000_000, sorted(sizes.items(), key=lambda of: -of[1]))

    def test_runs_hold_means_with_bounds_and_paired_ratios(self):
        runs = [path for path in RESULTS.glob("*/*.json") if '"schema"' in path.read_text(encoding="utf-8")[:20]]
        self.assertTrue(runs)
        for path in runs:
            rows = load_run(path).rows
            beside = {}

            def together(r):
                return tuple(r.get(name) for name in ("operation", "type", "n", "input", "data", "timing"))

            for r in rows:
                if r["ok"]:
                    beside.setdefault(together(r), {})[r["label"]] = r
            with self.subTest(run=path.name):
                for r in rows:
                    if not r["ok"]:  # a peer may be wrong, over hard data
                        self.assertTrue(r["is_peer"] and r["fault"] and r["data"], r)
                        continue
                    self.assertTrue(0 < r["low_us"] <= r["mean_us"] <= r["high_us"], r)
                    # Means of the same series: a ratio's is that of the two times.
                    peers = beside[together(r)]
                    wanted = [] if r["is_peer"] else [k for k, p in peers.items() if p["is_peer"]]
                    self.assertEqual(sorted(r["ratios"]), sorted(wanted))
                    for label, (ratio, low, high) in r["ratios"].items():
                        self.assertAlmostEqual(ratio * r["mean_us"] / peers[label]["mean_us"], 1, delta=2e-3)
                        self.assertTrue(0 < low <= ratio <= high)


class Drawing(unittest.TestCase):
    def draw(self, points, lines=(), **options):
        curve = Curve("a", 0, [Point(n, y, f"{n}: {y}") for n, y in points], **options)
        return Page(to_svg(Plot("a plot", "GB/s", [curve], list(lines))))

    def test_scale(self):
        scale = Scale(1, 10000, 100, 500)
        self.assertEqual([scale(v) for v in (1, 10, 100, 10000)], [100, 200, 300, 500])

    def test_points_are_where_their_values_say(self):
        page = self.draw([(2**8, 1), (2**14, 10), (2**20, 1000)])
        (x0, y0), (x1, y1), (x2, y2) = [start(a["d"]) for a in page.all("path", cls="m")]
        self.assertAlmostEqual(x1, (x0 + x2) / 2, delta=0.1)
        self.assertAlmostEqual(y0 - y1, (y1 - y2) / 2, delta=0.1)  # one decade, then two
        self.assertTrue(LEFT < x0 < x2 < RIGHT and TOP < y2 < y0 < BOTTOM)
        # The line goes through them, and the numbers at the axes stand at them.
        (line,) = page.all("path", cls="line")
        self.assertEqual(line["d"], f"M{x0:g} {y0:g}L{x1:g} {y1:g}L{x2:g} {y2:g}")
        at = re.search(r'<text x="([\d.]+)"[^>]*>2<tspan[^>]*>14<', page.text)
        self.assertAlmostEqual(float(at[1]), x1, delta=0.1)
        at = re.search(r'y="([\d.]+)" text-anchor="end">10</text>', page.text)
        self.assertAlmostEqual(float(at[1]), y1 + 3.5, delta=0.1)

    def test_lines_stand_at_their_value(self):
        page = self.draw([(1024, 10), (2048, 4571)], [Line(4571, "read limit 4571 GB/s")])
        y = start(page.all("path", cls="m")[1]["d"])[1]
        (limit,) = page.all("path", cls="limit")
        self.assertEqual(limit["d"], f"M{LEFT} {y:g}H{RIGHT}")
        self.assertIn("read limit 4571 GB/s", page.said["text"])

    def test_two_lines_keep_their_texts_apart(self):
        for low, high in ((30.0, 36.0), (35.5, 36.0), (5.0, 36.0)):
            page = self.draw([(1024, 2), (2048, 10)], [Line(high, "all"), Line(low, "one", below=True)])
            upper, lower = (float(a["d"].split()[1].split("H")[0]) for a in page.all("path", cls="limit"))
            ys = [float(y) for y in re.findall(r'class="note" x="[\d.]+" y="([\d.]+)"', page.text)]
            self.assertLess(TOP + 10, ys[0])
            self.assertLess(ys[0], upper)
            self.assertLess(lower + 10, ys[1])
        # A line under all curves, with its text under it, is inside.
        page = self.draw([(1024, 20), (2048, 50)], [Line(8, "floor", "floor", below=True)])
        self.assertLess(float(re.search(r'class="note" x="[\d.]+" y="([\d.]+)"', page.text)[1]), BOTTOM)

    def test_band_spans_the_bounds(self):
        points = [Point(2**k, 2, "", low=1, high=4) for k in (10, 11)]
        page = Page(to_svg(Plot("", "", [Curve("a", 0, points)])))
        (band,) = page.all("path", cls="band")
        ys = [float(y) for y in re.findall(r"[\d.]+ ([\d.]+)", band["d"])]
        middle = start(page.all("path", cls="m")[0]["d"])[1]
        self.assertEqual((ys[0], ys[2]), (ys[1], ys[3]))
        self.assertAlmostEqual(middle, (ys[0] + ys[2]) / 2, delta=0.1)
        self.assertLess(ys[0], ys[2])

    def test_one_point_and_equal_values(self):
        for points in ([(1000, 3.0)], [(1, 5.0)], [(1024, 2.0), (2048, 2.0)]):
            for a in self.draw(points).all("path", cls="m"):
                x, y = start(a["d"])
                self.assertTrue(LEFT <= x <= RIGHT and TOP <= y <= BOTTOM)

    def test_ticks_are_round_and_enough(self):
        self.assertEqual(ticks(0.8, 5000), [1, 10, 100, 1000])
        for low, high in ((0.97, 1.04), (0.9, 3.1), (4, 35), (7, 600), (0.02, 185), (4000, 4700)):
            found = ticks(low, high)
            self.assertTrue(3 <= len(found) <= 12, (low, high, found))
            self.assertTrue(all(low <= t <= high for t in found))

    def test_colours_stand_out_from_the_ground(self):
        def luminance(colour):
            parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
            linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

        grounds = re.findall(r"--ground: (#\w+)", (Path(FOLDER) / "page.css").read_text())
        self.assertEqual(len(grounds), 2)
        for shade in [*sum(SHADES.values(), []), *OTHERS]:
            for colour, ground in zip(shade, grounds):
                dark, light = sorted((luminance(colour), luminance(ground)))
                self.assertGreaterEqual((light + 0.05) / (dark + 0.05), 3, (colour, ground))


class Html(InTemporaryFolder):
    def test_facts_plots_and_tables(self):
        page = self.page(gpu_rows())
        for fact in ("A GPU", "580.1", "13.0", "cub 3.0.1", "0123456789ab", "2026-01-02T03:04:05Z"):
            self.assertIn(fact, page.words("dl"))
        self.assertEqual(len(page.all("svg", cls="plot")), 4)  # GB/s and µs, each with its ratios
        # Three contenders at ten sizes, twice; two ratios at ten sizes, twice.
        self.assertEqual(len(page.said["title"]) - 1, 3 * 10 * 2 + 2 * 10 * 2)
        self.assertIn("read limit 4\u202f571 GB/s", page.said["text"])
        self.assertIn("empty kernel and wait 7.0 µs", page.said["text"])
        self.assertIn("fanin one_pass, 2¹²: 3.00 µs (mean 1.60 to 2.50), 5.45 GB/s", page.said["title"])
        self.assertEqual(page.said["sup"].count("28"), 4 + 2)  # a line in each table, and the notes below
        self.assertNotIn("alarm", [a.get("class") for _, a in page.tags])

    def test_it_asks_for_nothing_from_outside(self):
        page = self.page(gpu_rows())
        self.assertNotRegex(page.text, r"https?:|@import|url\(|\bsrc(set)?=")
        links = [a["href"] for _, a in page.tags if "href" in a]
        ids = {a["id"] for _, a in page.tags if "id" in a}
        self.assertTrue(links and all(link[0] == "#" and link[1:] in ids for link in links))
        self.assertTrue(any("default-src 'none'" in a.get("content", "") for a in page.all("meta")))

    def test_whatever_a_run_says_stays_text(self):
        rows = [
            row(label=HOSTILE, contender=HOSTILE, operation=HOSTILE, type=HOSTILE, timing=HOSTILE, place=HOSTILE),
            row(),
            wrong(HOSTILE, label="cub", contender="cub"),
        ]
        data = run_data(rows)
        data["meta"].update(versions={HOSTILE: HOSTILE}, date=HOSTILE, compiler=HOSTILE)
        data["meta"]["gpu"].update(name=HOSTILE)
        page = self.page(rows, meta=data["meta"])
        self.assertEqual(page.all("img"), [])
        self.assertEqual(len(page.all("script")), 1)
        for place in ("h1", "h2", "h3", "dd", "button", "li", "td", "figcaption"):
            self.assertIn(HOSTILE, page.words(place), place)

    def test_what_a_run_need_not_hold(self):
        bare = row(place="one-thread", destination="host", timing="host", contender="std", label="std")
        bare["within_percent"] = None  # one series
        meta = {**run_data([])["meta"], "gpu": None, "versions": {}}
        page = self.page([bare], meta=meta, limits={})
        self.assertIn("A CPU", page.words("h1"))
        self.assertIn("std, 2¹⁰: 2.05 µs, 2.00 GB/s", page.said["title"])
        self.assertEqual(len(page.all("svg", cls="plot")), 1)  # no ratios without Fanin
        self.assertEqual(page.all("path", cls="limit"), [])
        self.assertEqual(self.page([], meta=meta, limits={}).all("svg"), [])

    def test_the_limits_of_the_host(self):
        rows = [row(place=place, destination="host", timing="host") for place in ("all-threads", "one-thread")]
        for one, said in ((30.0, ["read limit of all threads 60.0 GB/s"] * 2 + ["read limit of one thread 30.0 GB/s"]),
                          (58.0, ["read limit 60.0 GB/s", "read limit of one thread 58.0 GB/s"])):  # fmt: skip
            page = self.page(rows, limits={"host": {"read_gbs": 60.0, "read_one_thread_gbs": one}})
            self.assertEqual(sorted(t for t in page.said["text"] if t.startswith("read")), said)

    def test_a_wrong_answer_comes_first_and_has_no_point(self):
        broken = wrong("7 where 8 is right", label="cub", contender="cub")
        page = self.page([row(), broken])
        self.assertIn("7 where 8 is right", page.words("li"))
        self.assertLess(page.text.index("1 wrong answer"), page.text.index("<svg"))
        self.assertEqual(len(page.all("td", cls="wrong")), 1)
        self.assertFalse(any(title.startswith("cub") for title in page.said["title"]))

    def test_real_arrays_stand_beside_numpys_answers(self):
        np.save(self.path / "ramp.npy", np.arange(5.0))
        facts = {"file": "ramp.npy", "array": "", "label": "ramp.npy", "dtype": "<f8", "type": "f64", "note": ""}
        facts.update(shape=[5], fortran_order=False, n=5, has_nan=False, left_out=["thrust", "cub"])
        right = row(input=0, operation="max", type="f64", n=5, answer={"value": "4"}, error_bound=0.1)
        other = {**right, "label": "kokkos cuda", "answer": {"value": "3"}}
        total = {**right, "operation": "sum", "answer": {"value": "10"}}
        code, _, err = self.run_report(self.write(json.dumps({**run_data([right, other, total]), "inputs": [facts]})))
        self.assertEqual(code, 1, err)
        page = Page((self.path / "out/run.html").read_text(encoding="utf-8"))
        self.assertEqual(page.faults, [])
        self.assertEqual(page.all("svg"), [])
        self.assertEqual([a["rowspan"] for a in page.all("th", scope="rowgroup")], ["2", "1"])
        self.assertEqual(page.said["td"].count("agrees"), 2)
        self.assertEqual(len(page.all("tr", cls="wrong")), 1)
        self.assertIn("ramp.npy: <f8 (5,), 5 elements: kokkos cuda: 3, differs from numpy's", page.words("li"))
        self.assertIn("thrust, cub", page.words("p"))

    def test_ratios_are_of_the_times_where_none_are_paired(self):
        page = self.page([row(time_us=2.0), row(label="cub", contender="cub", time_us=3.0)])
        self.assertIn("cub / fanin one_pass, 2¹⁰: 1.50", page.said["title"])
        self.assertEqual(page.all("path", cls="band"), [])

    def test_paired_ratios_carry_their_bounds(self):
        def rows(percent):
            cubs = [row(n=n, label="cub", contender="cub", time_us=3.0) for n in (1024, 2048)]
            return [*(row(n=cub["n"], time_us=2.0, ratios=[(cub, 0.9, percent)]) for cub in cubs), *cubs]

        page = self.page(rows(25))
        self.assertIn("cub / fanin one_pass, 2¹⁰: 0.90 (0.72 to 1.12)", page.said["title"])
        self.assertEqual(len(page.all("path", cls="band")), 1)
        # Fanin is behind where the bounds leave no doubt of it.
        self.assertEqual(page.all("td", cls="behind"), [])
        self.assertEqual(len(self.page(rows(5)).all("td", cls="behind")), 2)
        self.assertIn("cub / fanin one_pass, 2¹⁰: 0.90", self.page(rows(None)).said["title"])

    def test_nodes_of_graphs_have_plots_of_their_own(self):
        rows = gpu_rows()
        rows += [{**r, "timing": "graph"} for r in rows if r["timing"] == "calls"]
        page = self.page(rows)
        self.assertEqual(len(page.all("svg", cls="plot")), 6)
        self.assertIn("as nodes of a CUDA graph", page.words("figcaption"))

    def test_calls_between_kernels_are_told_apart(self):
        rows = gpu_rows()
        calls = [r for r in rows if r["timing"] == "calls"]
        names = ("between_small", "between_small_hot", "between_axpy", "between_axpy_hot")
        rows += [{**r, "timing": timing} for r in calls for timing in names]
        page = self.page(rows)
        self.assertEqual(len(page.all("svg", cls="plot")), 4 + 2 * len(names))
        self.assertIn("each behind the axpy that wrote its array, one array", page.words("figcaption"))
        text = comparison_table(load_run(self.write(run_data(rows))), every_size=True)
        for shown in ("behind a small kernel", "behind a small kernel, hot", "behind an axpy", "behind an axpy, hot"):
            self.assertRegex(text, rf"device, {shown} +\d")

    def test_of_many_strategies_the_fastest_have_ratios(self):
        names = [f"fanin s{k}" for k in range(5)]
        rows = [row(label=label, time_us=9.0 - k) for k, label in enumerate(names)]
        rows += [row(label="fanin s4, f(i)", form="f(i)", time_us=1.0), row(label="cub", contender="cub")]
        found, style = groups(load_run(self.write(run_data(rows))))
        self.assertEqual(found[0].own(), ["fanin s4", "fanin s3", "fanin s4, f(i)"])
        self.assertEqual(len({(s.light, s.mark) for s in style.values()}), len(style))
        self.assertIn("Of Fanin's 6 the 3 fastest", self.page(rows).words("p"))

    def test_the_same_run_gives_the_same_bytes(self):
        file = self.write(run_data(gpu_rows()))
        pages = []
        for seed in ("1", "2"):
            command = [
                sys.executable,
                str(Path(FOLDER) / "report.py"),
                str(file),
                "--no-plots",
                "--out",
                str(self.path),
            ]
            subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True)
            pages.append((self.path / "run.html").read_bytes())
        self.assertEqual(*pages)


if __name__ == "__main__":
    unittest.main()
