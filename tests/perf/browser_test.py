# SPDX-License-Identifier: Apache-2.0
"""The report's page in a real browser: that it runs, fits a phone, and is readable.

    browser_test.py PROGRAM REPORT.PY RUN.json FOLDER

Builds pages of RUN.json and of a small run of PROGRAM, loads them in Chromium without a window, and asks
them from a script that stands in a copy of each. Pages and screenshots stay in FOLDER.
Prints "skipped: ..." where there is no Chromium.
"""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from html import unescape
from pathlib import Path

import matplotlib.image
import numpy as np

PROGRAM, REPORT, RUN, FOLDER = sys.argv[1:5]
sys.path.insert(0, str(Path(REPORT).parent))

from runs import load_run  # noqa: E402

OUT = Path(FOLDER)
BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
PHONE, DESKTOP = 390, 1280
DARK = "--blink-settings=preferredColorScheme=0"

# Stands before all else in the page's head.
WATCH = """<script>
var faults = [];
addEventListener("error", (event) => faults.push(event.message));
addEventListener("securitypolicyviolation", (event) => faults.push("loads " + event.blockedURI));
</script>
"""

# Stands at the end of the page, after its own script.
ASK = """<script>
addEventListener("load", () => {
  const box = (element) => element.getBoundingClientRect();
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  const plots = [...document.querySelectorAll("svg.plot")].map((svg) => {
    const frame = box(svg);
    const texts = [...svg.querySelectorAll("text")];
    const numbers = [...svg.querySelectorAll(".axis text, .note")].map((text) => ({
      text: text.textContent,
      frame: box(text),
    }));
    return {
      width: frame.width,
      height: frame.height,
      letters: Math.min(...texts.map((text) => parseFloat(getComputedStyle(text).fontSize))) * frame.width / 400,
      outside: texts.map(box).filter((b) => b.left < frame.left - 1 || b.right > frame.right + 1 ||
                                            b.top < frame.top - 1 || b.bottom > frame.bottom + 1).length,
      overlaps: numbers.filter((a) => numbers.some((b) => a !== b && !apart(a.frame, b.frame))).map((a) => a.text),
    };
  });
  const shown = () => [...document.querySelectorAll(".curve")].filter((curve) => box(curve).width > 0).length;

  const button = document.querySelector(".key button");
  const clicks = [shown()];
  const pressed = [button.getAttribute("aria-pressed")];
  for (let i = 0; i < 2; ++i) {
    button.click();
    clicks.push(shown());
    pressed.push(button.getAttribute("aria-pressed"));
  }

  const figure = document.querySelector("figure.reads");
  const svg = figure.querySelector("svg.plot");
  const read = () => [...figure.querySelectorAll("output span")].map((line) => line.textContent);
  const frame = box(svg);
  svg.dispatchEvent(new PointerEvent("pointermove", {clientX: frame.right - 5, clientY: frame.top + 50}));
  const pointed = read();
  svg.dispatchEvent(new PointerEvent("pointerleave"));
  const left = read();
  figure.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
  const first = read();
  figure.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}));

  const found = document.createElement("pre");
  found.id = "found";
  found.textContent = JSON.stringify({
    faults, plots, clicks, pressed, pointed, left, first,
    width: innerWidth,
    content: document.documentElement.scrollWidth,
    ground: getComputedStyle(document.body).backgroundColor,
    boxes: [...document.querySelectorAll(".scroll")].filter((one) => box(one).right > innerWidth).length,
    buttons: Math.min(...[...document.querySelectorAll(".key button")].map((one) => box(one).height)),
  });
  document.body.append(found);
});
</script>
"""


def browse(page, *options):
    """What the browser prints; its profile is thrown away."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
        ]
        command += ["--enable-logging=stderr", f"--user-data-dir={profile}", *options, page.resolve().as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@functools.cache
def ask(page, width, *options):
    """What ASK finds at this width; a browser starts once for each."""
    text = page.read_text(encoding="utf-8")
    asking = page.with_suffix(".asked.html")
    asking.write_text(text.replace("<head>\n", "<head>\n" + WATCH, 1).replace("</body>", ASK + "</body>", 1), "utf-8")
    dom, console = browse(asking, f"--window-size={width},844", "--dump-dom", *options)
    found = re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)
    if not found:
        raise RuntimeError(f"{page} did not answer: {console}")
    return {**json.loads(unescape(found[1])), "console": console}


def screenshot(page, width, height, name, *options):
    """Its pixels, 0 to 255. Contenders stand some pixels apart, as those of one speed would hide each other, and
    their colours are in curves alone."""
    file = OUT / name
    apart = "".join(f".curve.c{k}{{transform:translateY({3 * k}px)}}" for k in range(10))
    apart += ".key svg{visibility:hidden}"
    shown = page.with_suffix(".apart.html")
    shown.write_text(page.read_text(encoding="utf-8").replace("</head>", f"<style>{apart}</style></head>", 1), "utf-8")
    browse(shown, f"--window-size={width},{height}", f"--screenshot={file}", *options)
    return np.rint(matplotlib.image.imread(file)[:, :, :3] * 255).astype(int)


def pixels_of(image, colour):
    wanted = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
    return int(np.sum(np.abs(image - wanted).max(axis=2) <= 6))


def make_page(run):
    command = [sys.executable, REPORT, str(run), "--out", str(OUT), "--no-plots"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return OUT / f"{Path(run).stem}.html"


def synthetic(run):
    """The rows that plots show."""
    return [r for r in load_run(run).rows if r["input"] is None]


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        OUT.mkdir(parents=True, exist_ok=True)
        small, array = OUT / "small.json", OUT / "ramp.npy"
        np.save(array, np.linspace(-1, 1, 5000))
        command = [PROGRAM, "--quick", "--sizes", "1000,2^12,2^16", "--series", "2", "--backends", "serial"]
        command += ["--types", "f32,i64", "--ops", "sum,min_loc", "--json", str(small)]
        command += ["--input", str(array), "--with-synthetic"]
        subprocess.run(command, check=True, capture_output=True, timeout=300, env=os.environ)
        cls.pages = {Path(run): make_page(run) for run in (RUN, small)}

    def test_it_runs_and_fits(self):
        for run, page in self.pages.items():
            rows = synthetic(run)
            for width in (320, PHONE, DESKTOP):
                with self.subTest(page=page.name, width=width):
                    found = ask(page, width)
                    self.assertEqual(found["faults"] + found["console"], [])
                    self.assertEqual(found["width"], width)
                    self.assertLessEqual(found["content"], width)
                    self.assertEqual(found["boxes"], 0)
                    self.assertGreaterEqual(found["buttons"], 24)  # for a finger
                    self.assertGreaterEqual(len(found["plots"]), 2 * len({(r["operation"], r["type"]) for r in rows}))
                    for plot in found["plots"]:
                        self.assertGreater(plot["width"], 0.85 * width if width < 500 else 350)
                        self.assertGreater(plot["height"], 0.6 * plot["width"])
                        self.assertEqual((plot["outside"], plot["overlaps"]), (0, []))
                        if width >= PHONE:
                            self.assertGreaterEqual(plot["letters"], 8)

    def test_keys_hide_curves_and_plots_are_read(self):
        for run, page in self.pages.items():
            rows = synthetic(run)
            with self.subTest(page=page.name):
                found = ask(page, DESKTOP)
                before, hidden, after = found["clicks"]
                self.assertLess(hidden, before)
                self.assertEqual(after, before)
                self.assertEqual(found["pressed"], ["true", "false", "true"])
                self.assertEqual(found["left"], [])
                # The first plot is of the first row's case and of calls, at its greatest and least size.
                timing = "calls" if any(r["timing"] == "calls" for r in rows) else "host"
                case = [r for r in rows if (r["operation"], r["type"], r["timing"]) == ("sum", "f32", timing)]
                for size, lines in ((max, found["pointed"]), (min, found["first"])):
                    n = size(r["n"] for r in case)
                    wanted = sorted(f"{r['time_us']:.2f}" if r["time_us"] < 1000 else f"{r['time_us']:.0f}"
                                    for r in case if r["n"] == n)  # fmt: skip
                    self.assertEqual(sorted(re.search(r": ([\d.]+) µs", line)[1] for line in lines), wanted)

    def test_screenshots_show_the_curves(self):
        for page in self.pages.values():
            colours = dict(re.findall(r"\.c(\d+)\{--of:(#\w+)\}", page.read_text(encoding="utf-8"))[::-1])
            self.assertGreaterEqual(len(colours), 3)
            for width, height in ((PHONE, 844), (PHONE, 4400), (DESKTOP, 2400)):
                with self.subTest(page=page.name, width=width, height=height):
                    image = screenshot(page, width, height, f"{page.stem}-{width}x{height}.png")
                    self.assertEqual(image.shape, (height, width, 3))
                    self.assertGreater(len(np.unique(image.reshape(-1, 3), axis=0)), 60)
                    if height > 844:  # the plots are in it
                        for colour in colours.values():
                            self.assertGreater(pixels_of(image, colour), 100, colour)

    def test_it_follows_the_colour_scheme(self):
        page = self.pages[Path(RUN)]
        self.assertEqual(ask(page, DESKTOP)["ground"], "rgb(255, 255, 255)")
        self.assertEqual(ask(page, DESKTOP, DARK)["ground"], "rgb(16, 21, 27)")
        image = screenshot(page, DESKTOP, 2400, f"{page.stem}-dark.png", DARK)
        self.assertLess(np.median(image), 60)
        for colour in dict(re.findall(r"\.c(\d+)\{--of:(#\w+)\}", page.read_text(encoding="utf-8"))).values():
            self.assertGreater(pixels_of(image, colour), 100, colour)


if __name__ == "__main__":
    if BROWSER is None:
        print(f"skipped: no browser on PATH ({', '.join(BROWSERS)}); Debian: apt-get install chromium-headless-shell")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
