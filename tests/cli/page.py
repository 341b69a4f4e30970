#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""culprit html as its reader meets it: one Chromium opens the pages, and clicks and types in them. Prints TAP."""
import base64
import itertools
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback

from browser import Browser, Failed

CULPRIT, GUESTS, WORKLOADS = os.environ["CULPRIT"], os.environ["GUESTS"], os.environ["WORKLOADS"]
PAGES = ["overview", "time", "code", "calls", "stacks", "buy", "pipeline", "accuracy", "run"]


def culprit(*words):
    r = subprocess.run([CULPRIT, *words], capture_output=True)
    if r.returncode:
        raise Failed(f"{words}: status {r.returncode}: {r.stderr.decode()}")
    return r.stdout


def json_of(*words):
    return json.loads(culprit(*words, "--json"))


def near(a, b):
    return abs(float(a) - float(b)) <= 1e-9 * max(1, abs(float(b)))


def make_pages():
    sim = ["sim", "--max-insts", "300000"]
    guest = os.path.join(GUESTS, "phases")
    culprit(*sim, "--analyze", "all", "--trace", "run.trace", "-o", "run.culprit", "--", guest, "2")
    culprit(*sim[:1], "--max-insts", "200000", "--analyze", "profile", "-o", "only.culprit", "--", guest, "2")
    with sqlite3.connect("run.culprit") as s:
        pc = s.execute("SELECT pc FROM golden GROUP BY pc ORDER BY sum(units) DESC LIMIT 1").fetchone()[0]
    culprit("html", "run.culprit", "--trace", "run.trace", "--window", f"pc:{pc:#x}#20", "--window", "5000", "-o", "run.html")
    culprit("html", "run.culprit", "only.culprit", "-o", "two.html")
    culprit("html", "only.culprit", "-o", "only.html")
    culprit("html", "run.culprit", "-o", "windows.html")


def same_rows(cells, name, value):
    shown = [c.get("value") for c in cells]
    at = shown.index(name)
    assert near(shown[at + 1], value), (name, shown[at + 1], value)


def test_1500_cycles_on_the_overview_are_those_of_report(b):
    b.open(os.path.abspath("run.html"), "page=overview")
    report, cells = json_of("report", "run.culprit"), b.cells()
    for name, cycles in report["cycle_stack"].items():
        same_rows(cells, name, cycles)
    for f in report["functions"][:10]:
        same_rows(cells, f["symbol"], f["cycles"])


def test_1501_time_sums_to_the_run_however_it_is_grouped(b):
    total = json_of("report", "run.culprit")["run"]["cycles"]
    for by in ("library", "file", "function", "line", "instruction", "event", "class"):
        b.go(f"page=time&by={by}")
        assert abs(float(b.cells()[0]["value"]) - total) < 1e-6 * total, (by, b.cells()[0], total)


def test_1502_a_filter_shows_what_fits_it_and_its_sum(b):
    report = json_of("report", "run.culprit", "--limit", "1000")
    f = report["functions"][0]
    b.go(f"page=time&by=instruction&filter=fn:{f['symbol']}")
    names = b.run("[...document.querySelectorAll('main tbody tr td:first-child')].map((e) => e.dataset.value)")
    assert names and all(f["symbol"] in n for n in names), names
    b.go("page=time&by=function&filter=%3E5%25")
    many = sum(g["cycles"] > 0.05 * report["run"]["cycles"] for g in report["functions"])
    assert b.run("document.querySelectorAll('main tbody tr').length") == many


def test_1503_stacks_are_those_of_stack(b):
    b.go("page=stacks")
    methods = {m["name"]: m["components"] for m in json_of("stack", "run.culprit", "--no-reference")["methods"]}
    cells = b.cells()
    starts = [i for i, c in enumerate(cells) if "method" in c]
    assert len(starts) == len(methods) > 5, (len(starts), len(methods))
    for i in starts:
        for k, (name, cpi) in enumerate(methods[cells[i]["method"]].items()):
            row = cells[i + 1 + 4 * k:i + 5 + 4 * k]
            assert row[0]["value"] == name and near(row[1]["value"], cpi), (row, name, cpi)


def test_1504_costs_and_interactions_are_those_of_icost(b):
    b.go("page=buy&set=bw%2Bdmiss")
    icost, cells = json_of("icost", "run.culprit"), b.cells()
    assert near(cells[0]["value"], icost["costs"]["bw+dmiss"]), cells[0]
    pairs = [c for c in cells if "set" in c]
    assert len(pairs) == 64
    for c in pairs:
        assert near(c["value"], icost["icosts"][c["set"]]), c


def test_1505_errors_of_profilers_are_those_of_accuracy(b):
    b.go("page=accuracy")
    cells = b.cells()
    for p in json_of("accuracy", "run.culprit")["profilers"]:
        same_rows(cells, p["name"], p["instruction"])


def test_1506_a_walk_by_mouse_from_a_finding_to_code_pipeline_and_what_it_buys(b):
    b.go("page=overview")
    b.click("#findings a[href*='page=code']")
    assert b.run("document.querySelectorAll('[aria-label=disassembly] tr.at').length") == 1
    b.run("void setTimeout(() => history.back(), 0)")
    b.wait("location.hash.includes('overview')", "Back")
    b.click("#findings a[href*='page=pipeline']")
    pc = b.run("new URLSearchParams(location.hash.slice(1)).get('pc')")
    assert pc and pc in b.run("document.getElementById('chosen').textContent")
    b.click("#chosen a[href*='page=code']")
    assert pc[2:] in b.run("document.querySelector('[aria-label=disassembly] tr.at').textContent")
    b.click("nav a[href*='page=buy']")
    b.click("#cat-bmisp")
    assert near(b.cells()[0]["value"], json_of("icost", "run.culprit")["costs"]["bmisp"])


def test_1520_what_a_finding_offers_as_proof_is_taken_and_predicts_what_it_says(b):
    b.open(os.path.abspath("run.html"), "page=overview")
    shown = b.run("""[...document.querySelectorAll("li code")].map((c) => c.textContent).filter((t) => t.includes("--what-if"))""")
    assert shown
    for line in shown:
        words = line.replace(" --verify", "").split()[1:]
        assert json_of(*words)["what_if"], line


def test_1507_the_same_walk_by_keyboard_alone(b):
    b.open(os.path.abspath("run.html"), "page=overview")
    b.tab_to("e.closest('#findings') && e.textContent.includes('pipeline')")
    b.key("Enter")
    b.wait("location.hash.includes('page=pipeline')", "Enter on a link")
    b.tab_to("e.matches('#chosen a')")
    b.key("Enter")
    b.wait("location.hash.includes('page=code')", "Enter on a link")
    b.key("6")
    b.wait("location.hash.includes('page=buy')", "a key for a page")
    b.tab_to("e.id === 'cat-dmiss'")
    b.key(" ", " ")
    b.wait("location.hash.includes('set=dmiss')", "Space on a box")
    b.key("?")
    assert b.run("document.getElementById('help').open")


def test_1508_a_pasted_link_and_a_reload_restore_the_state(b):
    fragment = "page=buy&set=dmiss%2Bwin"
    b.open(os.path.abspath("run.html"), fragment)
    first = b.run("document.querySelector('main').textContent")
    b.call("Page.reload")
    b.wait("document.body?.dataset.ready === 'yes'", "reload")
    assert b.run("document.querySelector('main').textContent") == first
    assert b.run("document.getElementById('cat-win').checked && document.getElementById('cat-dmiss').checked")


def test_1509_no_page_makes_a_request_or_a_message(b):
    b.events.clear()
    for path in ("run.html", "two.html", "only.html"):
        b.open(os.path.abspath(path))
        for page in ["changes"] + PAGES:
            b.go("page=" + page)
    b.settle()
    asked = {e["params"]["request"]["url"].split("#")[0] for e in b.events if e["method"] == "Network.requestWillBeSent"}
    assert asked <= {"about:blank"} | {"file://" + os.path.abspath(p) for p in ("run.html", "two.html", "only.html")}, asked
    said = [e for e in b.events if e["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")]
    assert not said, said


def test_1510_no_page_is_wider_than_its_window(b):
    b.open(os.path.abspath("run.html"))
    for width in (400, 4000):
        b.width(width)
        for page in PAGES:
            b.go("page=" + page)
            wide = b.run("document.documentElement.scrollWidth")
            assert wide <= width, (page, width, wide)
    b.width(1280)


# Every visible text against the background behind it, as WCAG reckons contrast.
CONTRAST = """(() => {
    const rgb = (c) => { const m = c.match(/[\\d.]+/g).map(Number);
        return c.startsWith("color(") ? [...m.slice(0, 3).map((x) => 255 * x), m[3] ?? 1] : [...m.slice(0, 3), m[3] ?? 1]; };
    const light = (c) => { const f = c.slice(0, 3).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
    const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255]; };
    const bad = [];
    for (const e of document.querySelectorAll("body *")) {
        if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length || e.closest("svg")) continue;
        const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e)), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) bad.push(`${e.tagName}.${e.className} ${e.textContent.slice(0, 20)} ${ratio.toFixed(2)}`);
    }
    return bad; })()"""


def test_1511_contrast_is_at_least_four_and_a_half_in_both_themes(b):
    b.open(os.path.abspath("two.html"))
    for theme in ("light", "dark"):
        b.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        for page in ["changes"] + PAGES:
            b.go("page=" + page)
            bad = b.run(CONTRAST)
            assert not bad, (theme, page, bad[:5])
    b.call("Emulation.setEmulatedMedia", features=[])


def test_1512_a_key_switches_between_dark_and_light(b):
    b.open(os.path.abspath("run.html"))
    colour = "getComputedStyle(document.body).backgroundColor"
    first = b.run(colour)
    b.key("t")
    second = b.run(colour)
    b.key("t")
    assert first != second and b.run(colour) == first


def test_1513_the_overview_prints_on_at_most_six_pages(b):
    b.open(os.path.abspath("run.html"), "page=overview")
    pdf = base64.b64decode(b.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"])
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    assert 1 <= pages <= 6, pages


def test_1514_everything_has_a_role_and_a_name(b):
    for page in PAGES:
        b.go("page=" + page)
        nodes = b.call("Accessibility.getFullAXTree")["nodes"]
        roles = [n.get("role", {}).get("value") for n in nodes if not n.get("ignored")]
        assert {"navigation", "main", "heading"} <= set(roles), (page, set(roles))
        for n in nodes:
            role = n.get("role", {}).get("value")
            if not n.get("ignored") and role in ("button", "link", "table", "img", "image", "searchbox", "combobox", "checkbox", "region", "spinbutton"):
                assert n.get("name", {}).get("value", "").strip(), (page, n)


def test_1515_two_runs_show_what_diff_says(b):
    b.open(os.path.abspath("two.html"))
    diff = json_of("diff", "run.culprit", "only.culprit", "--limit", "100000")
    largest = max(diff["functions"], key=lambda f: abs(f["change"]))
    cells = b.cells()
    at = [c.get("value") for c in cells].index(largest["symbol"])
    assert near(cells[at + 1]["value"], largest["before"]) and near(cells[at + 2]["value"], largest["after"]), cells[at:at + 4]
    text = b.run("document.querySelector('main').textContent")
    assert "Different work" in text and "times as" not in b.run("document.getElementById('verdict').textContent"), text[:300]
    b.click("#runs a:last-of-type")
    assert f"{json_of('report', 'only.culprit')['run']['cycles']:,.0f} cycles" in b.run("document.getElementById('head').textContent")


def test_1516_a_page_without_its_analysis_says_what_makes_it(b):
    b.open(os.path.abspath("only.html"))
    for page, word in (("buy", "analyze icost"), ("stacks", "cpistack"), ("calls", "calls"), ("pipeline", "--trace")):
        b.go("page=" + page)
        assert word in b.run("document.querySelector('.missing').textContent"), page


def test_1517_names_and_source_are_text_whatever_they_hold(b):
    hostile = "</script><img src=x onerror=document.title='planted'>\u202e\x01"
    shutil.copy("run.culprit", "bad.culprit")
    with open("bad.c", "wb") as f:
        f.write((b"/* </script><script>document.title='planted'</script> \xff\xfe */ " + b"x" * 200000 + b"\n") * 400)
    with sqlite3.connect("bad.culprit") as s:
        s.execute("UPDATE function SET name = ? || id", (hostile,))
        s.execute("UPDATE function SET name = name || ? WHERE id = (SELECT min(id) FROM function)", ("T<" * 5000,))
        s.execute("UPDATE instruction SET file = ?, line = 1 + pc % 300", (os.path.abspath("bad.c"),))
        s.execute("UPDATE instruction SET disasm = ? WHERE pc % 4 = 0", ("<b onclick=alert(1)>\t" + hostile[:60],))
    culprit("html", "bad.culprit", "-o", "bad.html")
    b.open(os.path.abspath("bad.html"))
    for page in PAGES:
        b.go("page=" + page)
        assert "planted" not in b.run("document.title") or "onerror" in b.run("document.title"), b.run("document.title")
        assert not b.run("document.querySelectorAll('main img, main script, main b').length"), page
        wide = b.run("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, (page, wide)
    b.go("page=overview")
    assert "</script><img" in b.run("document.querySelector('main').textContent")


def test_1518_the_pipeline_shows_every_instruction_of_its_window(b):
    b.open(os.path.abspath("run.html"), "page=pipeline&window=1")
    rows = json_of("pipeline", "run.trace", "--from", "5000", "-n", "200")["instructions"]
    shown = b.run("[...document.querySelectorAll('main > details:last-of-type tbody tr')].map((r) => [...r.children].map((c) => c.dataset.value))")
    assert len(shown) == min(len(rows), 80), (len(shown), len(rows))
    for mine, row in zip(shown, rows):
        assert int(mine[1], 16) == (int(row["pc"], 16) if isinstance(row["pc"], str) else row["pc"]), (mine, row)


def test_1567_without_a_trace_the_pipeline_shows_what_the_profile_keeps(b):
    b.open(os.path.abspath("windows.html"), "page=pipeline")
    with sqlite3.connect("run.culprit") as s:
        why, pc, cycles = s.execute("SELECT why, pc, cycles FROM stretch_why WHERE why <> 'even' ORDER BY cycles DESC, why").fetchone()
        total = s.execute("SELECT count(*) FROM stretch_why WHERE why <> 'even'").fetchone()[0]
    names = b.run("[...document.querySelectorAll('#window option')].map((o) => o.textContent)")
    assert sum(n.startswith("costliest") and " kept at " not in n for n in names) == total, names
    assert names[0].startswith("costliest") and f"{cycles} cycles at {pc:#x}" in names[0], (why, names[0])
    assert f"{pc:#x}" in b.run("document.querySelector('#chosen p').textContent")
    on = b.run("(() => { const r = document.querySelector('.pipe .on rect:not(.back)').getBoundingClientRect(); return r.width > 0 && r.right < innerWidth; })()")
    assert on, "the instruction that the window is about is not in the picture"
    b.go("page=overview")
    b.click("#findings a[href*='page=pipeline']")
    pc = b.run("new URLSearchParams(location.hash.slice(1)).get('pc')")
    assert pc and pc in b.run("document.getElementById('chosen').textContent")


def test_1568_the_run_names_what_is_not_as_shipped(b):
    culprit("sim", "--max-insts", "2000", "--set", "window.rob=48", "-o", "small.culprit", "--", os.path.join(GUESTS, "phases"), "2")
    culprit("html", "small.culprit", "-o", "small.html")
    b.open(os.path.abspath("small.html"), "page=run")
    rows = b.run("[...document.querySelectorAll('main table')].filter((t) => t.caption.textContent.includes('not the shipped'))"
                 ".flatMap((t) => [...t.tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent)))")
    shipped = [l.split("=")[1].split(";")[0].strip() for l in culprit("machines", "boom-tip").decode().split("[window]")[1].splitlines() if l.startswith("rob ")][0]
    assert [r[:3] for r in rows] == [["window.rob", "48", shipped]], rows


def test_1519_call_stacks_sum_to_the_run_from_both_ends(b):
    total = json_of("report", "run.culprit")["run"]["cycles"]
    b.open(os.path.abspath("run.html"), "page=calls")
    for fragment in ("page=calls", "page=calls&inverted=1"):
        b.go(fragment)
        assert float(b.cells()[0]["value"]) == total, (fragment, b.cells()[0], total)
        assert b.run("document.querySelectorAll('.flame').length") > 3
    b.go("page=calls&focus=main")
    with sqlite3.connect("run.culprit") as s:
        below = s.execute("""WITH RECURSIVE m(id, cycles, first) AS (
            SELECT c.id, c.cycles, 1 FROM call_context c JOIN instruction i USING (pc) JOIN function f ON f.id = i.function WHERE f.name = 'main'
            UNION SELECT c.id, c.cycles, 0 FROM call_context c JOIN m ON c.parent = m.id)
            SELECT sum(cycles) FROM (SELECT DISTINCT id, cycles FROM m)""").fetchone()[0]
    assert float(b.run("document.getElementById('focus').dataset.value")) == below > 0


def test_3461_sums_stay_whole_if_instructions_are_folded(b):
    report = json_of("report", "run.culprit", "--limit", "1000")
    total = report["run"]["cycles"]
    culprit("html", "run.culprit", "--min-share", "0.5", "-o", "folded.html")
    for name in ("run.html", "folded.html"):
        b.open(os.path.abspath(name), "page=time")
        for by in ("library", "file", "function", "line", "instruction", "event", "class"):
            b.go(f"page=time&by={by}")
            assert abs(float(b.cells()[0]["value"]) - total) < 1e-6 * total, (name, by, b.cells()[0], total)
        b.go("page=time&by=function")
        for f in report["functions"][:10]:
            same_rows(b.cells(), f["symbol"], f["cycles"])
    b.go("page=time&by=instruction&filter=little")
    text = b.run("document.querySelector('main tbody').textContent")
    assert re.search("[0-9]+ instructions with little time", text), text
    b.go("page=code&fn=" + b.run("document.querySelector('main tbody a').hash.match(/fn=([0-9]+)/)[1]"))
    assert "instructions with little time" in b.run("document.querySelector('[aria-label=disassembly]').textContent")


def test_3462_a_long_table_draws_what_is_in_sight(b):
    b.open(os.path.abspath("run.html"), "page=time&by=instruction&sort=executions")
    with sqlite3.connect("run.culprit") as s:
        counts = [n for n, in s.execute("SELECT sum(executions) AS n FROM golden GROUP BY pc HAVING sum(units) > 0 ORDER BY n")]
    shown = """[...document.querySelectorAll('.long tbody tr')].map((r) => [Number(r.getAttribute('aria-rowindex')), Number(r.cells[4].dataset.value)])"""
    assert len(counts) > 100, len(counts)
    for share in (0, 0.5, 1):
        b.run(f"(() => {{ const e = document.querySelector('.long'); e.scrollTop = {share} * e.scrollHeight; }})()")
        b.settle()
        b.settle()
        rows = b.run(shown)
        assert 20 < len(rows) < 100, len(rows)
        for index, executions in rows:
            assert counts[index - 2] == executions, (share, index, executions)
    assert rows[-1][0] == len(counts) + 1, (rows[-1], len(counts))
    assert b.run("document.querySelector('.long').scrollHeight") >= 22 * len(counts)


def shares_of_rows(b):
    """Level and cycles of every row that is shown."""
    return b.run("""[...document.querySelectorAll('main tbody tr')].map((r) => [Number(r.getAttribute('aria-level')), Number(r.cells[1].dataset.value),
        r.cells[0].dataset.value])""")


def test_3710_a_row_of_time_opens_to_rows_that_sum_to_it(b):
    b.open(os.path.abspath("run.html"), "page=time&by=library")
    for level in range(1, 5):
        before = shares_of_rows(b)
        at = max((k for k in range(len(before)) if before[k][0] == level), key=lambda k: before[k][1])
        b.run(f"document.querySelectorAll('main tbody tr')[{at}].querySelector('button.turn').click()")
        b.settle()
        rows = shares_of_rows(b)
        inside = list(itertools.takewhile(lambda r: r[0] == level + 1, rows[at + 1:]))
        assert inside and abs(sum(r[1] for r in inside) - before[at][1]) < 1e-6 * before[at][1], (level, inside, before[at])
        assert [r[1] for r in inside] == sorted((r[1] for r in inside), reverse=True), inside
        if b.run(f"document.querySelectorAll('main tbody tr')[{at + 1}].querySelector('button.turn')") is None:
            break
    assert re.search("^0x[0-9a-f]+ ", inside[0][2]), inside[0]
    shown = shares_of_rows(b)
    fragment = b.run("location.hash.slice(1)")
    b.open(os.path.abspath("run.html"), fragment)
    assert shares_of_rows(b) == shown
    for by in ("file", "event", "class", "line", "function"):
        b.go(f"page=time&by={by}")
        before = shares_of_rows(b)
        b.click("main tbody tr:first-child button.turn")
        rows = shares_of_rows(b)
        inside = [r[1] for r in rows[1:] if r[0] == 2]
        assert abs(sum(inside) - before[0][1]) < 1e-6 * before[0][1] and len(rows) + len(inside) > len(before), (by, inside, before[0])


def test_3711_an_opened_row_keeps_the_keyboard_and_closes_again(b):
    b.open(os.path.abspath("run.html"), "page=time&by=function")
    b.tab_to("e.matches('main tbody tr:first-child button.turn')")
    b.key("Enter")
    assert b.run("document.activeElement.matches('button.turn') && document.activeElement.closest('tr').getAttribute('aria-expanded')") == "true"
    b.key("Enter")
    assert b.run("document.activeElement.closest('tr').getAttribute('aria-expanded')") == "false"


def test_3712_words_of_the_filter_restrict_what_is_summed(b):
    with sqlite3.connect("run.culprit") as s:
        scale = s.execute("SELECT value FROM run WHERE key = 'scale'").fetchone()[0]
        loads = s.execute("SELECT sum(units) FROM golden JOIN instruction USING (pc) WHERE class LIKE '%load%' OR disasm LIKE '%load%'").fetchone()[0] / scale
        missed = s.execute("""SELECT sum(units) FROM golden JOIN instruction USING (pc) WHERE (class LIKE '%load%' OR disasm LIKE '%load%') AND events & (
            SELECT 1 << bit FROM event WHERE name = 'ST-LLC')""").fetchone()[0] / scale
    for by in ("library", "function", "line", "instruction", "event", "class"):
        b.go(f"page=time&by={by}&filter=op:load")
        texts = float(b.run("document.getElementById('sum').dataset.value"))
        assert near(texts, loads), (by, texts, loads)
    b.go("page=time&by=library&filter=op:load%20ev:st-llc")
    assert near(b.run("document.getElementById('sum').dataset.value"), missed) and missed > 0, missed


def test_3713_a_stretch_of_the_run_restricts_the_pages(b):
    with sqlite3.connect("run.culprit") as s:
        scale = s.execute("SELECT value FROM run WHERE key = 'scale'").fetchone()[0]
        want = {n: u / scale for n, u in s.execute("""SELECT f.name, sum(units) FROM golden_phase_function JOIN instruction i USING (pc)
            JOIN function f ON f.id = i.function WHERE phase BETWEEN 10 AND 30 GROUP BY 1""")}
        states = {n: u / scale for n, u in s.execute("""SELECT name, sum(units) FROM golden_phase_function JOIN category c ON c.id = category
            WHERE phase BETWEEN 10 AND 30 GROUP BY 1""")}
        cycles = s.execute("SELECT sum(cycles) FROM golden_phase WHERE phase BETWEEN 10 AND 30").fetchone()[0]
    assert len(want) > 1 and near(sum(want.values()), cycles)
    b.open(os.path.abspath("run.html"), "page=time&by=function&from=10&to=30")
    assert near(b.cells()[0]["value"], cycles), (b.cells()[0], cycles)
    rows = {r[2]: r[1] for r in shares_of_rows(b)}
    assert rows.keys() == want.keys() and all(near(rows[n], want[n]) for n in want), (rows, want)
    for by in ("library", "event"):
        b.go(f"page=time&by={by}&from=10&to=30")
        assert near(b.cells()[0]["value"], cycles), by
    b.go("page=overview&from=10&to=30")
    for name, value in states.items():
        same_rows(b.cells(), name, value)
    assert "Only instructions" in b.run("document.getElementById('stretch').textContent")
    b.click("nav a[href*='page=code']")
    assert "from=10" in b.run("location.hash") and b.run("!!document.getElementById('whole')")
    b.click("#stretch button")
    assert "from" not in b.run("location.hash") and not b.run("!!document.getElementById('whole')")
    b.go("page=time&by=phase")
    rows = shares_of_rows(b)
    with sqlite3.connect("run.culprit") as s:
        assert [r[1] for r in rows] == [c for c, in s.execute("SELECT cycles FROM golden_phase ORDER BY phase LIMIT 60")]
    b.click("main tbody tr:first-child button.turn")
    inside = [r[1] for r in shares_of_rows(b) if r[0] == 2]
    assert near(sum(inside), rows[0][1]) and inside == sorted(inside, reverse=True), (inside, rows[0])


def windows_of(b):
    return b.run("[...document.getElementById('window').options].map((o) => o.value)")


def test_3714_the_critical_path_is_as_long_as_its_window(b):
    b.open(os.path.abspath("windows.html"), "page=pipeline")
    longest = 0
    for value in windows_of(b)[:3] + windows_of(b)[-2:]:
        b.go(f"page=pipeline&window={value}&first=0")
        path = float(b.run("document.getElementById('critical').dataset.value"))
        b.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
        rows = b.run("""[...document.querySelectorAll('#critical .many .scroll:first-child tbody tr')].map((r) => Number(r.cells[1].dataset.value))""")
        assert path > 0 and sum(rows) == path, (value, rows, path)
        committed = []
        last = -1
        while True:
            got = b.run("""[...document.querySelectorAll('main > details:last-of-type tbody tr')].map((r) =>
                [...r.cells].map((c) => c.dataset.value))""")
            committed += [r for r in got if int(r[0]) >= 0]
            shown = b.run("document.querySelector('.tools').textContent.match(/instructions ([0-9,]+) to ([0-9,]+) of ([0-9,]+)/).slice(1, 4)")
            first, to, of = (int(n.replace(",", "")) for n in shown)
            if to >= of or first == last:
                break
            last = first
            b.go(f"page=pipeline&window={value}&first={to}")
        want = max(int(r[-1]) for r in committed) - int(committed[0][3])
        assert path == want, (value, path, want, committed[0])
        longest = max(longest, path)
    assert longest > 100


def test_3715_two_pipelines_stand_beside_each_other_by_program_order(b):
    guest = os.path.join(GUESTS, "phases")
    culprit("sim", "--max-insts", "300000", "--analyze", "profile,windows", "--set", "window.rob=16", "-o", "small.culprit", "--", guest, "2")
    culprit("html", "run.culprit", "small.culprit", "-o", "beside.html")
    b.open(os.path.abspath("beside.html"), "page=pipeline&run=0")
    marked = 0
    for value in windows_of(b):
        b.go(f"page=pipeline&run=0&window={value}")
        if not b.run("!!document.getElementById('beside')"):
            continue
        b.click("#beside")
        po, text = b.run("[document.getElementById('divergence').dataset.value, document.getElementById('divergence').textContent]")
        rows = b.run("[...document.querySelectorAll('details tbody tr')].map((r) => [...r.cells].map((c) => c.dataset.value))")
        assert rows and all(int(r[4]) == int(r[3]) - int(r[2]) - (int(rows[0][3]) - int(rows[0][2])) or int(rows[0][4]) for r in rows), rows[:3]
        if po:
            marked += 1
            late = {r[0]: int(r[4]) for r in rows}
            assert late[po] and all(late[n] == 0 for n in late if int(n) < int(po)), (po, late)
            assert b.run("document.querySelectorAll('.pipe .row.on').length") == 1 and "First divergence" in text
    assert marked > 3, marked


class Reader:
    """Somebody who solves a case by clicking alone, from the overview on."""

    def __init__(self, b, name):
        self.b, self.clicks = b, 0
        b.open(os.path.abspath(name))

    def click(self, selector, text=""):
        """Clicks the first element whose text has these words."""
        self.b.run(f"""(() => {{ const e = [...document.querySelectorAll({json.dumps(selector)})].find((x) => x.textContent.includes({json.dumps(text)}));
            document.getElementById("next")?.removeAttribute("id"); if (e) e.id = "next"; }})()""")
        self.b.click("#next")
        self.clicks += 1
        assert self.clicks <= 6, "more than six clicks"

    def finding(self, *words):
        """Clicks a link of the first finding that has all these words; the last is the link's."""
        at = self.b.run(f"""[...document.querySelectorAll("#findings li")].findIndex((x) => {json.dumps(words)}.every((w) => x.textContent.includes(w)))""")
        assert at >= 0, (words, self.b.run("document.getElementById('findings').textContent"))
        self.click(f"#findings li:nth-child({at + 1}) a", words[-1])

    def sees(self, selector, *words):
        text = self.b.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent).join('\\n')")
        missing = [w for w in words if w not in text]
        assert not missing, (missing, text[:1500])


def test_4720_findings_are_drawn_before_the_rest_is_there(b):
    b.open(os.path.abspath("run.html"), "page=overview")
    whole = b.run("[...document.querySelectorAll('#findings li')].map((i) => i.querySelector('.big').textContent + ' ' + i.querySelector('p').textContent)")
    drawn = float(b.run("document.body.dataset.findings"))
    ready = b.run("performance.now()")
    assert len(whole) > 1 and 0 < drawn < ready, (len(whole), drawn, ready)
    with open("run.html", "rb") as f:
        head, data = f.read().split(b'<pre id="data" hidden>')
    for cut in (head, head + b'<pre id="data" hidden>' + data[:len(data) // 2]):
        with open("cut.html", "wb") as f:
            f.write(cut)
        b.call("Page.navigate", url="file://" + os.path.abspath("cut.html"))
        b.wait("document.body?.dataset.ready === 'cut'", "a page that is cut off says so")
        first = b.run("[...document.querySelectorAll('#findings li')].map((i) => i.textContent)")
        assert [w.split("%", 1)[1].strip() for w in first] == [w.split("%", 1)[1].strip() for w in whole], (first, whole)


def test_4721_what_was_inlined_is_a_frame_of_the_flame_graph(b):
    culprit("sim", "--analyze", "profile,calls", "-o", "sort.culprit", "--", os.path.join(WORKLOADS, "quicksort"), "500")
    culprit("html", "sort.culprit", "-o", "sort.html")
    with sqlite3.connect("sort.culprit") as s:
        sums = """SELECT f.name, i.name, sum(g.units) FROM golden g JOIN instruction n USING (pc) JOIN function f ON f.id = n.function
            LEFT JOIN inlined i ON i.pc = g.pc AND i.depth = 0 GROUP BY 1, 2"""
        rows = s.execute(sums).fetchall()
        inside, whole = [r for r in rows if r[0] == "sort" and r[1]], sum(r[2] for r in rows if r[0] == "sort")
        calls = s.execute("SELECT sum(c.cycles) FROM call_context c JOIN instruction n USING (pc) JOIN function f ON f.id = n.function "
                          "WHERE f.name = 'sort'").fetchone()[0]
        total = s.execute("SELECT sum(cycles) FROM call_context").fetchone()[0]
    assert inside and whole and calls
    b.open(os.path.abspath("sort.html"), "page=calls")
    for _, name, units in inside:
        for fragment in ("page=calls&", "page=calls&inverted=1&"):
            b.go(fragment + "focus=" + (name + " (inlined)").replace(" ", "+"))
            expected = calls * units / whole
            # an inlined function may be in others, too
            assert float(b.run("document.getElementById('calls').dataset.value")) >= expected * (1 - 1e-9), (name, expected)
    largest = max(inside, key=lambda r: r[2])
    b.go("page=calls&focus=" + (largest[1] + " (inlined)").replace(" ", "+"))
    callers = dict(b.run("[...document.querySelectorAll('main table')[0].querySelectorAll('tbody tr')].map((r) => "
                         "[...r.cells].slice(0, 2).map((c) => c.dataset.value))"))
    assert near(callers["sort"], calls * largest[2] / whole), (callers, calls * largest[2] / whole)
    b.go("page=calls")
    assert float(b.run("document.getElementById('calls').dataset.value")) == total


def test_4722_a_function_without_lines_has_its_disassembly_alone(b):
    with sqlite3.connect("run.culprit") as s:
        of = """SELECT function FROM golden JOIN instruction USING (pc) GROUP BY function HAVING sum(units) > 0 AND sum(file IS NOT NULL AND line > 0) {} 0
            ORDER BY sum(units) DESC LIMIT 1"""
        without, with_lines = s.execute(of.format("=")).fetchone()[0], s.execute(of.format(">")).fetchone()[0]
    b.open(os.path.abspath("run.html"), f"page=code&fn={with_lines}")
    captions = "[...document.querySelectorAll('main caption')].map((c) => c.textContent)"
    assert b.run(captions) == ["Source", "Disassembly"] and not b.run("!!document.getElementById('nolines')")
    b.go(f"page=code&fn={without}")
    assert b.run(captions) == ["Disassembly"] and b.run("document.getElementById('nolines').textContent").startswith("Which lines")
    wide = b.run("document.querySelector('.side').getBoundingClientRect().width / document.querySelector('main').getBoundingClientRect().width")
    assert wide > 0.9, wide
    # what takes most is in sight
    assert b.run("""(() => { const r = document.querySelector('.side tr.hot').getBoundingClientRect(), s = document.querySelector('.side').getBoundingClientRect();
        return r.top >= s.top && r.bottom <= s.bottom; })()""")


def test_4723_the_command_of_the_run_makes_the_same_run_again(b):
    b.open(os.path.abspath("run.html"), "page=run")
    words = shlex.split(b.run("document.querySelector('main .command code').textContent"))
    assert words[:2] == ["culprit", "sim"] and "--" in words, words
    at = words.index("--")
    culprit(*words[1:at], "-o", "again.culprit", *words[at:])
    with sqlite3.connect("run.culprit") as first, sqlite3.connect("again.culprit") as second:
        for table in ("golden", "cpi_component", "icost", "call_context", "stretch_why"):
            rows = [s.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall() for s in (first, second)]
            assert rows[0] == rows[1] and rows[0], table


def case(name, program, *sim):
    culprit("sim", *sim, "--analyze", "all", "--period", "100", "-o", f"{name}.culprit", "--", os.path.join(WORKLOADS, program[0]), *program[1:])
    culprit("html", f"{name}.culprit", "-o", f"{name}.html")


def test_1580_the_filter_that_rounds_is_solved_in_six_clicks(b):
    case("filter", ["mean_shift", "20"], "--start", "mark", "--stop", "mark")
    r = Reader(b, "filter.html")
    r.sees("#findings", "2 instructions of ceil", "2 instructions of floor", "flushes the pipeline every time it commits")
    r.finding("of ceil", "show the code")  # which instructions
    r.sees("[aria-label=disassembly] tr.at", "frflags", "flush by CSR")
    b.run("const p = document.getElementById('prof'); p.value = 'nci'; p.dispatchEvent(new Event('change'))")  # whom NCI would blame
    r.clicks += 2
    r.sees("[aria-label=disassembly] th", "nci")
    r.click("nav a", "Overview")
    r.finding("of ceil", "show one in the pipeline")  # what it does to others
    r.sees("#chosen", "flags", "FL-CSR")
    r.click("nav a", "What would it buy")
    r.sees("main", "What a program can change")


def test_1581_the_slow_load_of_lbm_is_solved_in_six_clicks(b):
    case("lbm", ["lbm", "40", "2"], "--machine", "boom-tea", "--set", "exception.page_faults=no", "--fast-forward", "25M", "--warm", "1M",
         "--max-insts", "300k")
    r = Reader(b, "lbm.html")
    r.sees("#findings", "lbm.c:173", "waits for memory", "--what-if dmiss@")
    r.finding("lbm.c:173", "show the code")
    r.sees("[aria-label=disassembly] tr.at", "ld ", "memory (ST-LLC)")
    b.run("void setTimeout(() => history.back(), 0)")
    b.wait("!location.hash.includes('code')", "Back")
    r.finding("lbm.c:173", "show one in the pipeline")
    r.sees("#chosen", "of them a miss", "ST-LLC")
    r.click("nav a", "What would it buy")
    r.click("#cat-dmiss")
    saves = json_of("icost", "lbm.culprit")["costs"]["dmiss"]
    assert near(b.cells()[0]["value"], saves) and saves > 0


def test_1582_the_square_root_of_nab_is_solved_in_six_clicks(b):
    case("nab", ["nbody", "40", "1"], "--machine", "boom-tea", "--start", "mark", "--stop", "mark")
    r = Reader(b, "nab.html")
    r.finding("frflags", "flushes the pipeline", "show the code")
    r.sees("[aria-label=source] tr.at, [aria-label=source]", "sqrt(")
    r.sees("[aria-label=disassembly]", "frflags", "fsflags", "fsqrt.d")
    r.click("nav a", "Overview")
    r.finding("fsqrt.d", "exposes its own latency", "show one in the pipeline")
    r.sees("#chosen", "fsqrt.d")


def main():
    tests = [f for n, f in globals().items() if n.startswith("test_")]
    if not GUESTS or not shutil.which("chromium"):
        print("1..0 # SKIP " + ("chromium is not installed" if GUESTS else "no guest programs"))
        return 0
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    failed = 0
    try:
        try:
            make_pages()
        except Failed as e:
            if "without its page" in str(e):
                print("1..0 # SKIP culprit was built without its page")
                return 0
            raise
        browser = Browser(folder)
        browser.width(1280)
        print(f"1..{len(tests)}", flush=True)
        for k, test in enumerate(tests, 1):
            began = time.monotonic()
            try:
                test(browser)
                print(f"ok {k} {test.__name__[5:].replace('_', ' ')}\n# {time.monotonic() - began:.1f} s", flush=True)
            except (Failed, AssertionError, ValueError, KeyError, IndexError, TypeError):
                failed += 1
                print(f"not ok {k} {test.__name__[5:].replace('_', ' ')}")
                print("".join("# " + line + "\n" for line in traceback.format_exc().strip().split("\n")), flush=True)
        browser.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


sys.exit(main())
