// SPDX-License-Identifier: Apache-2.0
"use strict";

// A key's button hides and shows its contender's curves in every plot.
const hidden = new Set();
const curves = [...document.querySelectorAll(".curve")].map((curve) => ({curve, of: curve.dataset.of.split(" ")}));
for (const button of document.querySelectorAll(".key button")) {
  button.addEventListener("click", () => {
    const number = button.dataset.of;
    if (!hidden.delete(number)) hidden.add(number);
    for (const {curve, of} of curves) curve.classList.toggle("off", of.some((one) => hidden.has(one)));
    for (const twin of document.querySelectorAll(`.key button[data-of="${number}"]`)) {
      twin.setAttribute("aria-pressed", String(!hidden.has(number)));
    }
  });
}

// Pointing at a plot, or the arrow keys on it, reads all its curves at one size.
for (const figure of document.querySelectorAll("figure.reads")) {
  const svg = figure.querySelector("svg.plot");
  const readout = figure.querySelector("output");
  const marks = [...svg.querySelectorAll(".m")].reverse().map((mark) => {
    const [x, y] = mark.getAttribute("d").slice(1).split(/[m ]/).map(Number);
    return {x, y, curve: mark.parentNode, text: mark.querySelector("title").textContent};
  });
  const places = [...new Set(marks.map((mark) => mark.x))].sort((a, b) => a - b);
  const cursor = document.createElementNS(svg.namespaceURI, "path");
  cursor.setAttribute("class", "cursor");
  svg.append(cursor);
  let at = -1;

  const show = (index) => {
    at = index;
    cursor.setAttribute("d", `M${places[at]} 14V236`);  // TOP and BOTTOM of svg_plot.py
    const lines = marks.filter((mark) => mark.x === places[at] && !mark.curve.classList.contains("off"));
    lines.sort((a, b) => a.y - b.y);
    readout.replaceChildren(...lines.map((mark) => {
      const line = document.createElement("span");
      line.className = mark.curve.getAttribute("class").replace("curve ", "");
      line.textContent = mark.text;
      return line;
    }));
  };
  const hide = () => {
    at = -1;
    cursor.removeAttribute("d");
    readout.replaceChildren();
  };
  const point = (event) => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
    const nearest = places.reduce((best, place, i) => Math.abs(place - x) < Math.abs(places[best] - x) ? i : best, 0);
    if (nearest !== at) show(nearest);
  };
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("pointerleave", hide);
  figure.addEventListener("blur", hide);
  figure.addEventListener("keydown", (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (event.key === "Escape") hide();
    if (!step) return;
    event.preventDefault();
    show(at < 0 ? (step > 0 ? 0 : places.length - 1) : Math.min(Math.max(at + step, 0), places.length - 1));
  });
}
