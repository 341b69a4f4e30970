#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports as their consumers from npm read them: speedscope in Chromium, the Firefox Profiler as profiler-cli. Sums per
function, event and component equal the store's. The packages go into the folder NPM; status 77 where npm, Node or
Chromium is missing. profiler-cli asks for Node 24; 20 runs it."""
import base64
import collections
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

from browser import Browser

CULPRIT, GUESTS, NPM = os.environ["CULPRIT"], os.environ["GUESTS"], os.environ["NPM"]
PACKAGES = ["speedscope@1.25.0", "@firefox-devtools/profiler-cli@0.10.0"]
CLI = os.path.join(NPM, "node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js")
PAGE = os.path.join(NPM, "node_modules/speedscope/dist/release/index.html")
NAMES = [b"semi;colon; 12", b"new\nline", b'quote"back\\slash', b"</script><script>document.title = 'planted'</script>",
         b"\xff\xc3broken", b"x" * 10000, b"(7) number", b"tab\there", "\u202eright to left".encode(), b"# hash"]


def skip(why):
    print(why)
    sys.exit(77)


def install():
    for program in ("npm", "node", "chromium"):
        if not shutil.which(program):
            skip(f"there is no {program}")
    if os.path.exists(CLI) and os.path.exists(PAGE):
        return
    os.makedirs(NPM, exist_ok=True)
    with open(os.path.join(NPM, "package.json"), "w") as f:
        f.write("{}\n")
    env = dict(os.environ, HOME=NPM, npm_config_cache=os.path.join(NPM, "cache"))
    r = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1",
                        "--fetch-timeout=20000", *PACKAGES], cwd=NPM, env=env, capture_output=True, text=True)
    if r.returncode:
        skip("npm cannot be reached: " + next((line for line in r.stderr.split("\n") if " code " in line), "it says nothing"))


def culprit(*words):
    subprocess.run([CULPRIT, *words], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def shown(raw):
    """util/text.h, of the names above and of plain ones."""
    text = re.sub("[\x00-\x08\x0a-\x1f\x7f]", lambda m: "\\x%02x" % ord(m[0]), raw.decode("utf-8", "surrogateescape"))
    text = re.sub("[\udc80-\udcff]", lambda m: "\\x%02x" % (ord(m[0]) - 0xdc00), text)
    return text.replace("\t", " ").replace("\u202e", "\\u{202e}")


class Truth:
    def __init__(self, path):
        db = sqlite3.connect(path)
        db.text_factory = bytes
        inlined = {}
        for pc, name in db.execute("SELECT pc, name FROM inlined ORDER BY pc, depth DESC"):
            inlined[pc] = shown(name)
        self.self, self.kinds = collections.Counter(), collections.Counter()
        for pc, kind, units, name in db.execute("SELECT pc, c.name, units, f.name FROM golden g JOIN instruction USING (pc) JOIN"
                                                " function f ON f.id = function JOIN category c ON c.id = category"):
            self.self[inlined.get(pc, shown(name))] += units
            self.kinds[kind.decode()] += units
        self.parts = {name.decode(): value for name, value in db.execute(
            "SELECT component, sum(units) * 1.0 / m.scale FROM cpi_component JOIN cpi_method m ON m.id = method"
            " WHERE phase >= 0 AND m.name = 'fmt' GROUP BY 1 HAVING sum(units)")}
        self.parts["instructions"] = db.execute("SELECT sum(instructions) FROM cpi_phase WHERE phase >= 0").fetchone()[0]


def same(what, ours, theirs, within=lambda name: 0):
    for name in ours.keys() | theirs.keys():
        if abs(ours.get(name, 0) - theirs.get(name, 0)) > within(name):
            sys.exit(f"{what}: {name[:80]!r}: {ours.get(name, 0)} in the store, {theirs.get(name, 0)} in the consumer")
    print(f"{what}: {len(theirs)} names, in sum {sum(theirs.values()):.10g}: equal")


class ProfilerCli:
    def __init__(self, path, folder):
        self.env = dict(os.environ, HOME=folder)
        # Its daemon has half a second to start, which a busy machine does not grant; it starts all the same.
        r = subprocess.run(["node", CLI, "load", "--session", "culprit", path], env=self.env, capture_output=True, text=True)
        until = time.monotonic() + 120
        while r.returncode and time.monotonic() < until:
            time.sleep(1)
            if not subprocess.run(["node", CLI, "profile", "info", "--session", "culprit"], env=self.env, capture_output=True).returncode:
                return
        if r.returncode:
            stuck = re.search(r"kill (\d+)", r.stdout + r.stderr)
            if stuck:
                subprocess.run(["kill", stuck[1]])
            sys.exit("profiler-cli does not load the profile: " + r.stderr)

    def ask(self, *words):
        r = subprocess.run(["node", CLI, *words, "--session", "culprit", "--json"], env=self.env, capture_output=True, text=True)
        if r.returncode:
            sys.exit(f"profiler-cli {words}: {r.stderr}")
        return json.loads(r.stdout)

    def close(self):
        subprocess.run(["node", CLI, "stop", "culprit"], env=self.env, stdout=subprocess.DEVNULL)


def check_firefox(store, folder):
    truth, path = Truth(store), os.path.join(folder, "firefox.json")
    culprit("export", store, "-f", "firefox", "--exact", "-o", path)
    cli = ProfilerCli(path, folder)
    try:
        found = collections.Counter()
        for f in cli.ask("thread", "functions", "--limit", "0", "--include-idle")["functions"]:
            found[f["name"]] += f["selfSamples"]
        same("profiler-cli, time by function", truth.self, found)
        kinds = collections.Counter()
        for c in cli.ask("thread", "samples", "--include-idle")["categoryBreakdown"]["categories"]:
            for sub in c["subcategories"]:
                kinds[sub["name"]] += sub["samples"]
        same("profiler-cli, time by category", truth.kinds, kinds)
        parts = {}
        for c in cli.ask("counter", "list")["counters"]:
            info = cli.ask("counter", "info", c["counterHandle"])
            parts[c["name"]] = sum(t["value"] for t in info["overTime"])
        same("profiler-cli, counters", truth.parts, parts, lambda name: 1e-6 * truth.parts.get(name, 0))
    finally:
        cli.close()


def rows_of(browser, path, folder):
    """Self times in speedscope's table of functions, as texts."""
    script = os.path.join(folder, "profile.js")
    with open(script, "w") as f, open(path, "rb") as profile:
        f.write("speedscope.loadFileFromBase64('profile', '%s')" % base64.b64encode(profile.read()).decode())
    browser.call("Emulation.setDeviceMetricsOverride", width=1600, height=20000, deviceScaleFactor=1, mobile=False)
    browser.call("Page.navigate", url="about:blank")
    browser.call("Page.navigate", url=f"file://{PAGE}#localProfilePath={script}")
    browser.wait("document.querySelectorAll('canvas').length > 0 && document.body.innerText.includes('Sandwich')", "the profile")
    browser.run("[...document.querySelectorAll('div')].filter((e) => e.textContent.endsWith('Sandwich')).pop().click()")
    browser.wait("document.querySelectorAll('table tr').length > 1", "the table")
    browser.settle()
    assert browser.run("document.title") != "planted", "a name was executed"
    rows = browser.run("[...document.querySelectorAll('table tr')].map((r) => [...r.children].map((c) => c.textContent))")
    return [(name, re.sub(r" \(.*", "", own)) for _, own, name in rows[1:]]


def check_speedscope(browser, store, folder):
    for extra in ([], ["--calls"]):
        path = os.path.join(folder, "speedscope.json")
        culprit("export", store, "-f", "speedscope", "--exact", *extra, "-o", path)
        found = collections.Counter()
        for name, own in rows_of(browser, path, folder):
            found[name] += int(own.replace(",", ""))
        same("speedscope, " + " ".join(extra or ["profile"]), Truth(store).self, found)


def check_chrome(browser, folder):
    path, ours, found, within = os.path.join(folder, "chrome.json"), collections.Counter(), collections.Counter(), {}
    culprit("export", "run.trace", "-f", "chrome", "--count", "10000000", "-o", path)
    for line in open("run.folded", encoding="utf-8"):
        stack, cycles = line.rsplit(" ", 1)
        ours[stack.split(";")[-1]] += int(cycles)
    with open(path) as f:
        first = next(e for e in json.load(f)["traceEvents"] if e["ph"] == "B")
    ours[first["name"]] -= first["ts"] - 1  # before the first commit
    for name, own in rows_of(browser, path, folder):
        value, unit = re.fullmatch(r"([\d.,]+)(ns|µs|ms|s)", own).groups()
        unit = {"ns": 1e-3, "µs": 1, "ms": 1e3, "s": 1e6}[unit]
        found[name] += float(value.replace(",", "")) * unit
        within[name] = within.get(name, 0) + 0.0051 * unit  # it shows two digits
    same("speedscope, Chrome events", ours, found, lambda name: within.get(name, 0.0051))


def main():
    install()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        culprit("sim", "--max-insts", "300k", "--analyze", "profile,cpistack,calls,folded", "--param", "folded=run.folded", "--trace",
                "run.trace", "-o", "run.culprit", "--", os.path.join(GUESTS, "phases"), "2")
        shutil.copy("run.culprit", "hostile.culprit")
        with sqlite3.connect("hostile.culprit") as db:
            rows = db.execute("SELECT function FROM golden JOIN instruction USING (pc) GROUP BY 1 ORDER BY sum(units) DESC")
            for (f,), name in zip(rows.fetchall(), NAMES):
                db.execute("UPDATE function SET name = CAST(? AS TEXT) WHERE id = ?", (name, f))
        for store in ("run.culprit", "hostile.culprit"):
            check_firefox(store, folder)
        browser = Browser(folder)
        try:
            for store in ("run.culprit", "hostile.culprit"):
                check_speedscope(browser, store, folder)
            check_chrome(browser, folder)
        finally:
            browser.close()


main()
