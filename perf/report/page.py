# SPDX-License-Identifier: Apache-2.0
"""The run as one HTML page that needs nothing beside it: no script, style, font or image from elsewhere."""

from html import escape
from itertools import groupby
from pathlib import Path

from data import data_tables
from sections import PLACES, TIMINGS, groups
from svg_plot import Curve, Line, Plot, Point, key_svg, number_text, power_text, to_svg
from table import explanation, time_text

HERE = Path(__file__).parent
OPERATION_NAMES = {"sum_of_squares": "sum of squares"}
DASHES = ["", "dashed", "dotted"]
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def tag(name, content, **attributes):
    """An element; `content` is HTML already, attributes are not. `cls` stands for class."""
    given = "".join(
        f' {"class" if k == "cls" else k.replace("_", "-")}="{escape(str(v))}"' for k, v in attributes.items()
    )
    return f"<{name}{given}>{content}</{name}>"


def operation_text(name):
    return OPERATION_NAMES.get(name, name)


def size_html(n):
    if n >= 1024 and n & (n - 1) == 0:
        return f"2<sup>{n.bit_length() - 1}</sup>"
    return escape(power_text(n)) if n >= 1024 else str(n)


def ratio_number(value):
    """A digit more where two would round to what it is not, 1."""
    return f"{value:.2f}" if round(value, 2) != 1 or value == 1 else f"{value:.3f}"


def ratio_text(ratio):
    return ratio_number(ratio.value) + (f" ({bounds_text(ratio)})" if ratio.bounded else "")


def bounds_text(ratio):
    return f"{ratio_number(ratio.low)} to {ratio_number(ratio.high)}"


# --- The head of the page ------------------------------------------------------------------------------


def facts(run):
    meta = run.meta
    gpu = meta.get("gpu") or {}
    host = meta.get("host") or {}
    found = []
    if gpu:
        processors = f", {gpu['multiprocessors']} SMs" if gpu.get("multiprocessors") else ""
        found.append(("GPU", f"{gpu.get('name', '')}{processors}"))
        found.append(("driver", gpu.get("driver")))
        found.append(("CUDA", gpu.get("cuda_runtime")))
    threads = f", {host['threads']} threads" if host.get("threads") else ""
    found.append(("host", f"{host.get('cpu', '')}{threads}"))
    found.append(("built by", ", ".join(c for c in (meta.get("compiler"), gpu.get("cuda_compiler")) if c)))
    found.append(("compared with", ", ".join(f"{k} {v}" for k, v in (meta.get("versions") or {}).items())))
    commit = str(meta.get("commit", ""))[:12] + (" with changes" if meta.get("dirty") else "")
    found.append(("fanin", f"{meta.get('fanin', '')} ({commit})"))
    found.append(("measured", meta.get("date")))
    limit = run.limits.get("device") or {}
    if limit.get("read_gbs"):
        found.append(("read limit of the GPU", f"{number_text(limit['read_gbs'])} GB/s"))
    if limit.get("blocking_floor_us"):
        found.append(("an empty kernel and a wait", f"{limit['blocking_floor_us']:.1f} µs"))
    limit = run.limits.get("host") or {}
    if limit.get("read_gbs"):
        one = limit.get("read_one_thread_gbs")
        of_one = f", {number_text(one)} with one thread" if one else ""
        found.append(("read limit of the host", f"{number_text(limit['read_gbs'])} GB/s{of_one}"))
    items = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(str(v))}</dd></div>" for k, v in found if v)
    return f'<dl class="facts">{items}</dl>'


def how_measured(run):
    first, *rest = explanation(run).split("\n")
    for name, what in (("host", "Read limit of the host"), ("device", "Read limit of the GPU")):
        how = (run.limits.get(name) or {}).get("how")
        rest += [f"{what}: {how}."] if how else []
    floor = (run.limits.get("device") or {}).get("blocking_floor_how")
    rest += [f"Floor of a blocking call: {floor}."] if floor else []
    more = "".join(tag("p", escape(line)) for line in rest)
    if any(r["input"] is None and r["ok"] for r in run.rows):
        first += (
            " Pointing at a plot, or the arrow keys on it, read its values; the names above plots hide and show curves."
        )
    return tag("p", escape(first)) + f"<details><summary>how it was measured</summary>{more}</details>"


def alarm(run, tables):
    """What nobody may overlook; empty where every answer was right."""
    lines = []
    for r in (r for r in run.rows if not r["ok"]):
        case = f"{r['label']}: {operation_text(r['operation'])} of {r['n']} {r['type']}, result to {r['destination']}"
        lines.append(f"{case}: {r.get('fault', '')}")
    for table in tables:
        for cells, wrong in zip(table.cells, table.wrong):
            if wrong and not any(cells[5] == r.get("fault") for r in run.rows if not r["ok"]):
                lines.append(f"{table.title}: {cells[2]}: {cells[4]}, {cells[5]}")
    if not lines:
        return ""
    shown = "".join(tag("li", escape(line)) for line in lines)
    title = f"{len(lines)} wrong answer{'s' * (len(lines) > 1)}"
    return tag("section", f"<h2>{title}</h2><ul>{shown}</ul>", cls="alarm", role="alert")


# --- The plots -----------------------------------------------------------------------------------------


def row_text(r):
    spread = f" (mean {time_text(r['low_us'])} to {time_text(r['high_us'])})" if r["high_us"] else ""
    return f"{time_text(r['time_us'])} µs{spread}, {number_text(r['gbs'])} GB/s"


def limit_lines(run, place):
    where = run.limits.get("device" if place == "gpu" else "host") or {}
    lines = []
    one = where.get("read_one_thread_gbs")
    full = where.get("read_gbs")
    # Two lines that touch say nothing.
    apart = one and full and full / one > 1.15
    if full and not (place == "one-thread" and one and not apart):
        of_all = " of all threads" if place != "gpu" and apart else ""
        lines.append(Line(full, f"read limit{of_all} {number_text(full)} GB/s"))
    if place == "one-thread" and one:
        lines.append(Line(one, f"read limit of one thread {number_text(one)} GB/s", below=bool(lines)))
    return lines


def absolute_plot(run, group):
    """GB/s, or µs to a host value."""
    blocking = group.timing == "blocking"
    quantity, unit = ("time_us", "µs") if blocking else ("gbs", "GB/s")
    curves = []
    for label in group.rows:
        style = group.styles[label]
        points = [
            Point(r["n"], r[quantity], f"{label}, {power_text(r['n'])}: {row_text(r)}") for r in group.timed(label)
        ]
        if points:
            curves.append(Curve(label, style.number, points, mark=style.mark))
    lines = limit_lines(run, group.place)
    if blocking:
        floor = (run.limits.get("device") or {}).get("blocking_floor_us")
        lines = [Line(floor, f"empty kernel and wait {floor:.1f} µs", "floor", below=True)] if floor else []
    name = f"{unit} over size, {operation_text(group.operation)} of {group.type}, {TIMINGS.get(group.timing, group.timing)}"
    return Plot(name, unit, curves, lines) if curves else None


def ratio_plot(group):
    """Time of each peer over that of Fanin's few."""
    own = group.own()
    curves = []
    for peer in group.peers():
        style = group.styles[peer]
        for label, dash in zip(own, DASHES):
            ratios = group.ratios(label, peer)
            points = [
                Point(n, q.value, f"{peer} / {label}, {power_text(n)}: {ratio_text(q)}", q.low, q.high)
                for n, q in ratios.items()
            ]
            if points:
                pair = group.styles[label].number
                curves.append(Curve(f"{peer} / {label}", style.number, points, style.mark, dash, pair))
    # Solid curves first, which is on top.
    curves.sort(key=lambda c: DASHES.index(c.dash))
    name = f"times of others over {own[0] if own else ''}, {operation_text(group.operation)} of {group.type}"
    return Plot(name, "others / Fanin", curves, [Line(1, "", "one")]) if curves else None


def figure(plot, title, below=""):
    return tag(
        "figure",
        f"<figcaption>{escape(title)}</figcaption>{to_svg(plot)}"
        + (tag("p", below, cls="note-below") if below else "")
        + "<output></output>",
        cls="reads",
        tabindex="0",
    )


def group_figures(run, group):
    how = TIMINGS.get(group.timing, group.timing)
    absolute = absolute_plot(run, group)
    if absolute is None:
        return ""
    what = "Time" if group.timing == "blocking" else "GB/s"
    parts = [figure(absolute, f"{what}: {how}", at_largest(group))]
    ratios = ratio_plot(group)
    if ratios:
        own = [k for k, dash in zip(group.own(), DASHES) if any(c.dash == dash for c in ratios.curves)]
        parts.append(figure(ratios, f"Time of others over Fanin's: {how}", ratio_note(group, own, ratios)))
    return "".join(parts)


def at_largest(group):
    """The figures at the right end, where the memory is what counts."""
    n = group.sizes[-1]
    said = []
    for label, by_size in group.rows.items():
        r = by_size.get(n)
        if r is None or not r["ok"]:
            continue
        share = f", {r['share_of_limit'] * 100:.0f}\u00a0%" if r.get("share_of_limit") else ""
        value = (
            f"{time_text(r['time_us'])} µs" if group.timing == "blocking" else f"{number_text(r['gbs'])} GB/s{share}"
        )
        said.append(f"{escape(label)} {value}")
    return f"At {size_html(n)}: " + "; ".join(said)


def ratio_note(group, own, plot):
    names = [f"{escape(k)} ({d or 'solid'})" if len(own) > 1 else escape(k) for k, d in zip(own, DASHES)]
    text = "Above 1: " + ", ".join(names) + " took less time than the contender of the colour."
    if any(p.low for c in plot.curves for p in c.points):
        text += " Bands: 95 % bounds."
    all_own = sum(s.contender == "fanin" for k, s in group.styles.items() if k in group.rows)
    if all_own > len(own):
        text += f" Of Fanin's {all_own} the {len(own)} fastest."
    return text


def key(of_type, style):
    labels = [k for k in style if any(k in g.rows for g in of_type)]
    items = "".join(
        tag(
            "li",
            tag(
                "button",
                key_svg(style[k].number, style[k].mark) + tag("span", escape(k)),
                type="button",
                aria_pressed="true",
                data_of=style[k].number,
            ),
        )
        for k in labels
    )
    return f'<ul class="key" aria-label="contenders: hide and show">{items}</ul>'


# --- Tables --------------------------------------------------------------------------------------------


def scroll(table, title):
    """A table in a box of its own that scrolls, under its title."""
    return tag("p", escape(title), cls="title") + tag(
        "div", table, cls="scroll", tabindex="0", role="region", aria_label=title
    )


def times_table(group):
    labels = list(group.rows)
    head = "".join(tag("th", escape(k), scope="col") for k in labels)
    lines = []
    for n in group.sizes:
        cells = []
        for label in labels:
            r = group.rows[label].get(n)
            if r is None:
                cells.append("<td></td>")
            elif not r["ok"]:
                cells.append(tag("td", f"WRONG<small>{escape(r.get('fault', ''))}</small>", cls="wrong"))
            else:
                share = f", {r['share_of_limit'] * 100:.0f}\u00a0%" if r.get("share_of_limit") else ""
                cells.append(f"<td>{time_text(r['time_us'])}<small>{number_text(r['gbs'])}{share}</small></td>")
        lines.append(f"<tr><th scope=row>{size_html(n)}</th>{''.join(cells)}</tr>")
    return scroll(
        f"<table><thead><tr><th scope=col>elements</th>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>",
        f"µs, and below GB/s and share of the read limit: {TIMINGS.get(group.timing, group.timing)}",
    )


def ratio_cell(ratio):
    if ratio is None:
        return "<td></td>"
    mark = ' class="behind"' if ratio.slower else ""
    bounds = f"<small>{bounds_text(ratio)}</small>" if ratio.bounded else ""
    return f"<td{mark}>{ratio_number(ratio.value)}{bounds}</td>"


def ratios_table(group):
    pairs = [(own, peer) for own in group.own() for peer in group.peers()]
    found = {pair: group.ratios(*pair) for pair in pairs}
    if not any(found.values()):
        return ""
    first = "".join(
        tag("th", escape(own), scope="colgroup", colspan=len(list(same)), cls="group")
        for own, same in groupby(pairs, key=lambda pair: pair[0])
    )
    second = "".join(tag("th", f"{escape(peer)}", scope="col") for _, peer in pairs)
    lines = "".join(
        f"<tr><th scope=row>{size_html(n)}</th>{''.join(ratio_cell(found[p].get(n)) for p in pairs)}</tr>"
        for n in group.sizes
    )
    return scroll(
        f"<table><thead><tr><th rowspan=2 scope=col>elements</th>{first}</tr>"
        f"<tr>{second}</tr></thead><tbody>{lines}</tbody></table>",
        f"Time of others over Fanin's: {TIMINGS.get(group.timing, group.timing)}",
    )


def span_cell(ratios):
    """Least and greatest over the sizes, and where Fanin is behind."""
    if not ratios:
        return "<td></td>"
    values = [q.value for q in ratios.values()]
    behind = [n for n, q in ratios.items() if q.slower]
    text = f"{ratio_number(min(values))} to {ratio_number(max(values))}"
    if not behind:
        return f"<td>{text}</td>"
    where = " and ".join(size_html(n) for n in behind) if len(behind) < 3 else f"{len(behind)} of {len(values)} sizes"
    return f'<td>{text}<small class="behind">behind at {where}</small></td>'


def summary(place, of_place):
    """One line for each operation and type: where Fanin stands."""
    timings = list(dict.fromkeys(g.timing for g in of_place))
    peers = {t: list(dict.fromkeys(p for g in of_place if g.timing == t for p in g.peers())) for t in timings}
    cases = {}
    for g in of_place:
        cases.setdefault((g.operation, g.type), {})[g.timing] = g
    lines = []
    for (operation, kind), by_timing in cases.items():
        cells = []
        for timing in timings:
            g = by_timing.get(timing)
            own = g.own()[:1] if g else []
            if timing != "blocking":
                cells.append(best_cell(g, own))
            for peer in peers[timing]:
                cells.append(span_cell(g.ratios(own[0], peer) if own and peer in g.rows else {}))
        where = f"#{section_id(place, operation, kind)}"
        lines.append(
            f'<tr><th scope=row><a href="{where}">{escape(operation_text(operation))} {escape(kind)}</a></th>'
            f"{''.join(cells)}</tr>"
        )
    first = "".join(
        tag(
            "th",
            escape(TIMINGS.get(t, t)),
            scope="colgroup",
            colspan=max(1, len(peers[t]) + (t != "blocking")),
            cls="group",
        )
        for t in timings
        if peers[t] or t != "blocking"
    )
    second = "".join(
        ("<th scope=col>GB/s at most</th>" if t != "blocking" else "")
        + "".join(f"<th scope=col>{escape(p)}</th>" for p in peers[t])
        for t in timings
    )
    names = list(dict.fromkeys(k for g in of_place for k in g.own()[:1]))
    of = f"that of {names[0]}" if len(names) == 1 else f"Fanin's ({', '.join(names)})"
    return scroll(
        f"<table><thead><tr><th rowspan=2 scope=col>case</th>{first}</tr><tr>{second}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>",
        f"Time of each other over {of}, least and greatest over all sizes. Above 1, Fanin took less.",
    )


def best_cell(group, own):
    if not own:
        return "<td></td>"
    best = max(group.timed(own[0]), key=lambda r: r["gbs"])
    share = f"<small>{best['share_of_limit'] * 100:.0f}\u00a0% of limit</small>" if best.get("share_of_limit") else ""
    return f"<td>{number_text(best['gbs'])}{share}</td>"


def input_html(table):
    from numpy_check import FLUSH_RIGHT, HEADER

    def cell(name, i, text, **more):
        return tag(name, escape(text), **({} if i in FLUSH_RIGHT else {"cls": "left"}), **more)

    head = "".join(cell("th", i, text, scope="col") for i, text in enumerate(HEADER))
    lines = []
    for k, (cells, wrong) in enumerate(zip(table.cells, table.wrong)):
        first = ""
        if cells[0]:  # the operation and numpy's answer stand beside all rows that they belong to
            rows = 1 + next((i for i, later in enumerate(table.cells[k + 1 :]) if later[0]), len(table.cells) - k - 1)
            first = cell("th", 0, operation_text(cells[0]), scope="rowgroup", rowspan=rows)
            first += cell("td", 1, cells[1], rowspan=rows)
        rest = "".join(cell("td", i, text) for i, text in enumerate(cells) if i >= 2)
        lines.append(tag("tr", first + rest, **({"cls": "wrong"} if wrong else {})))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def real_arrays(tables):
    parts = "".join(
        scroll(input_html(table), table.title) + (tag("p", escape(table.left_out)) if table.left_out else "")
        for table in tables
    )
    return f'<section id="real"><h2>Real arrays, beside numpy\'s answers</h2>{parts}</section>'


def by_data(tables):
    def html(table):
        head = "".join(tag("th", escape(k), scope="col") for k in table.header)
        lines = "".join(
            f"<tr><th scope=row>{escape(kind)}</th>{''.join(tag('td', escape(c)) for c in cells)}</tr>"
            for kind, *cells in table.rows
        )
        return scroll(f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>", table.title)

    return f'<section id="data"><h2>By data</h2>{"".join(html(t) for t in tables)}</section>'


# --- The page ------------------------------------------------------------------------------------------


def section_id(*parts):
    """Made of letters that need no escape, whatever the parts hold."""
    return "-".join("".join(c if c.isalnum() and c.isascii() else "_" for c in part) for part in parts)


def type_section(run, of_type, style):
    one = of_type[0]
    figures = "".join(group_figures(run, g) for g in of_type)
    rows = sum(len(by_size) for g in of_type for by_size in g.rows.values())
    tables = "".join(times_table(g) + ratios_table(g) for g in of_type)
    return tag(
        "section",
        tag("h3", f"{escape(operation_text(one.operation))} of {escape(one.type)}")
        + (key(of_type, style) + f'<div class="plots">{figures}</div>' if figures else "")
        + f"<details><summary>every size ({rows} times)</summary>{tables}</details>",
        id=section_id(one.place, one.operation, one.type),
    )


def style_sheet(style):
    light = "".join(f".c{s.number}{{--of:{s.light}}}" for s in style.values())
    dark = "".join(f".c{s.number}{{--of:{s.dark}}}" for s in style.values())
    own = (HERE / "page.css").read_text(encoding="utf-8")
    return f"{own}\n{light}\n@media (prefers-color-scheme: dark) {{{dark}}}\n"


def to_html(run, tables=()):
    """The page; `tables` are numpy_check's of the real arrays."""
    found, style = groups(run)
    gpu = (run.meta.get("gpu") or {}).get("name")
    machine = gpu or (run.meta.get("host") or {}).get("cpu", "")
    body = [tag("h1", f"Reductions on {escape(str(machine))}"), facts(run), alarm(run, tables)]
    links = []
    sections = []
    for place, of_place in groupby(found, key=lambda g: g.place):
        of_place = list(of_place)
        name = PLACES.get(place, place)
        content = tag("h2", escape(name[0].upper() + name[1:])) + summary(place, of_place)
        for _, of_type in groupby(of_place, key=lambda g: (g.operation, g.type)):
            content += type_section(run, list(of_type), style)
        sections.append(tag("section", content, id=section_id(place)))
        links.append((section_id(place), name))
    of_data = data_tables(run)
    if of_data:
        sections.append(by_data(of_data))
        links.append(("data", "by data"))
    if tables:
        sections.append(real_arrays(tables))
        links.append(("real", "real arrays"))
    body.append(how_measured(run))
    if len(links) > 1:
        items = "".join(tag("li", tag("a", escape(name), href=f"#{where}")) for where, name in links)
        body.append(f'<nav aria-label="parts">{tag("ul", items)}</nav>')
    body += sections
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(f'fanin-perf: {machine}, {run.stem}')}</title>\n"
        f"<style>\n{style_sheet(style)}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in body if part)
        + f"\n<script>\n{(HERE / 'page.js').read_text(encoding='utf-8')}</script>\n</body>\n</html>\n"
    )
