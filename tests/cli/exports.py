# SPDX-License-Identifier: MIT
"""Compares an export with its store: time by function, line and event, in units. Names of the store are made safe to
show as util/text.h says, and nothing else."""
import collections
import json
import re
import sqlite3
import sys
import unicodedata


def shown(raw, also=""):
    """text_shown_without of bytes."""
    out, text = [], raw.decode("utf-8", "surrogateescape")
    for c in text:
        code = ord(c)
        if 0xdc80 <= code <= 0xdcff:
            out.append("\\x%02x" % (code - 0xdc00))
        elif c == "\t":
            out.append(" ")
        elif code < 32 or code == 127 or c in also:
            out.append("\\x%02x" % code)
        elif unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp"):
            out.append("\\u{%04x}" % code)
        else:
            out.append(c)
    return "".join(out)


class Store:
    def __init__(self, path, also=""):
        self.db = sqlite3.connect(path)
        self.db.text_factory = bytes
        self.scale = int(self.db.execute("SELECT value FROM run WHERE key = 'scale'").fetchone()[0])
        self.events = {bit: name.decode() for bit, name in self.db.execute("SELECT bit, name FROM event")}
        inlined = collections.defaultdict(list)
        for pc, name, file, line in self.db.execute("SELECT pc, name, file, line FROM inlined ORDER BY pc, depth"):
            inlined[pc].append((shown(name, also), shown(file), line))
        self.total, self.executions = 0, 0
        self.functions, self.lines, self.by_event, self.leaves, self.stacks, self.sets = (
            collections.Counter() for _ in range(6))
        rows = self.db.execute("SELECT g.pc, g.events, g.units, g.executions, f.name, coalesce(n.file, f.file, ''), n.line"
                               " FROM golden g JOIN instruction n USING (pc) JOIN function f ON f.id = n.function")
        for pc, events, units, executions, name, file, line in rows:
            frames = inlined.get(pc, [])
            name = shown(name, also)
            self.total += units
            self.executions += executions
            self.functions[name] += units
            self.leaves[frames[0][0] if frames else name] += units
            self.lines[frames[0][1:] if frames else (shown(file), line)] += units
            stack = (name,) + tuple(f[0] for f in reversed(frames))
            self.stacks[stack] += units
            for bit in self.events:
                if events >> bit & 1:
                    self.by_event[self.events[bit]] += units
            if not events:
                self.by_event["base"] += units
            self.sets[events] += units
        golden = self.db.execute("SELECT sum(units) FROM golden").fetchone()[0]
        assert golden == self.total and self.total, "the store has time without an instruction"


def same(what, ours, theirs):
    ours, theirs = (collections.Counter({k: v for k, v in c.items() if v}) for c in (ours, theirs))
    if ours != theirs:
        keys = [k for k in ours.keys() | theirs.keys() if ours[k] != theirs[k]]
        sys.exit(f"{what}: " + "; ".join(f"{str(k)[:80]!r} {ours[k]} in the store, {theirs[k]} exported"
                                         for k in keys[:3]))


def pprof(store, path):
    """The output of `go tool pprof -raw`."""
    s, part, lines, frames, samples = Store(store), None, [], {}, []
    with open(path, encoding="utf-8", newline="\n") as f:
        lines = f.read().split("\n")
    location = None
    for line in lines:
        if line in ("Samples:", "Locations", "Mappings"):
            part = line
        elif part == "Samples:" and (m := re.match(r" *(\d+) +(\d+) +(\d+): ([\d ]+)$", line)):
            samples.append(([int(v) for v in m.groups()[:3]], [int(v) for v in m[4].split()]))
        elif part == "Locations" and (m := re.match(r" *(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(.*) s=\d+$", line)):
            location = int(m[1])
            frames[location] = [m[2]]
        elif part == "Locations" and line.startswith("    "):
            frames[location].append(line.strip().rsplit(" s=", 1)[0])
    functions, places, executions = collections.Counter(), collections.Counter(), 0
    for (runs, _, units), ids in samples:
        assert len(ids) == 1, ids
        parsed = [re.match(r"(.*?) (\S.*)?:(\d+)(?::\d+)?$", f) for f in frames[ids[0]]]
        executions += runs
        outer, leaf = frames[ids[0]][-1], frames[ids[0]][0]
        functions[outer] += units
        places[leaf] += units
        assert all(parsed), frames[ids[0]]

    def by_name(text, names):
        # A name may have spaces, and so may a file: the longest name of the store that fits.
        fits = [n for n in names if text.startswith(n + " ")]
        return max(fits, key=len) if fits else text

    grouped = collections.Counter()
    for text, units in functions.items():
        grouped[by_name(text, s.functions)] += units
    same("functions", s.functions, grouped)
    by_line, names = collections.Counter(), list(s.leaves)
    for text, units in places.items():
        file, line = re.match(r"(.*?):(\d+)(?::\d+)?$", text[len(by_name(text, names)) + 1:]).groups()
        by_line[file, int(line)] += units
    same("lines", s.lines, by_line)
    same("executions", {"": s.executions}, {"": executions})


def tags(store, path):
    """The output of `go tool pprof -tags`."""
    s, key, found = Store(store), None, collections.Counter()
    for line in open(path, encoding="utf-8"):
        if m := re.match(r" *(\w+): Total ", line):
            key = m[1]
        elif key == "event" and (m := re.match(r" *([\d.]+)[^(]*\([^)]*\): (.*)$", line)):
            found[m[2]] += float(m[1])
    assert found, "no tags"
    same("events", s.by_event, found)


def callgrind(store, path, annotated):
    s, functions, lines, totals = Store(store), collections.Counter(), collections.Counter(), None
    names, events, fl, fn = {"fn": {}, "fl": {}}, [], "", ""
    sums = collections.Counter()
    for row in open(path, encoding="utf-8", newline="\n"):
        row = row.rstrip("\n")
        if row.startswith("events: "):
            events = row.split()[1:]
        elif m := re.match(r"(fn|fl|fi|fe)=\((\d+)\)(?: (.*))?$", row):
            table = names["fn" if m[1] == "fn" else "fl"]
            if m[3] is not None:
                assert m[2] not in table, row
                table[m[2]] = m[3]
            if m[1] == "fn":
                fn = table[m[2]]
            else:
                fl = table[m[2]]
        elif row.startswith("0x"):
            _, line, *cost = row.split()
            functions[fn] += int(cost[0])
            lines["" if fl == "???" else fl, int(line)] += int(cost[0])
            for name, value in zip(events, cost):
                sums[name] += int(value)
        elif row.startswith("totals: "):
            totals = [int(v) for v in row.split()[1:]]
    same("functions", s.functions, functions)
    same("lines", s.lines, lines)
    wanted = {"Cycles": s.total, "Executions": s.executions}
    wanted.update({k.replace("-", "_"): v for k, v in s.by_event.items() if k != "base"})
    same("events", wanted, sums)
    same("totals", sums, dict(zip(events, totals)))
    # What the tool itself prints: the first column of "file:function" rows, and the program's totals.
    found = collections.Counter()
    for row in open(annotated, encoding="utf-8", newline="\n"):
        if row.rstrip().endswith("PROGRAM TOTALS"):
            same("program totals", {"": s.total}, {"": int(row.split()[0].replace(",", ""))})
            found["totals"] += 1
        elif m := re.match(r" *([\d,]+) .*  \* +(.*)$", row.rstrip("\n")):
            found[m[2]] += int(m[1].replace(",", ""))
    assert found.pop("totals", 0), "callgrind_annotate printed no totals"
    tool = collections.Counter()
    for text, units in found.items():
        text = re.sub(r" \[[^\]]*\]$", "", text)
        fits = [n for n in s.functions if text.endswith(":" + n)]
        tool[max(fits, key=len) if fits else text] += units
    same("functions of callgrind_annotate", s.functions, tool)


def read_folded(path):
    stacks = collections.Counter()
    for line in open(path, encoding="utf-8", newline="\n"):
        text, time = line.rstrip("\n").rsplit(" ", 1)
        key = tuple(text.split(";"))[1:]
        assert key not in stacks, f"{text} comes twice"
        stacks[key] = int(time)
    return stacks


def folded(store, path):
    same("stacks", Store(store, ";").stacks, read_folded(path))


def names_of_sets(s):
    bits = {name: bit for bit, name in s.events.items()}
    named = collections.Counter()
    for events, units in s.sets.items():
        if events >> bits["ST-LLC"] & 1:
            events &= ~(1 << bits["ST-L1"])
        name = "+".join(s.events[b] for b in sorted(s.events) if events >> b & 1)
        named[f"[{name or 'base'}]"] += units
    return named


def leaves_are_events(store, stacks):
    s, sets, without = store, collections.Counter(), collections.Counter()
    for stack, units in stacks.items():
        sets[stack[-1]] += units
        without[stack[:-1]] += units
    same("stacks", s.stacks, without)
    same("sets of events", names_of_sets(s), sets)


def folded_events(store, path):
    leaves_are_events(Store(store, ";"), read_folded(path))


def read_speedscope(path):
    doc = json.load(open(path, encoding="utf-8"))
    assert doc["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames, (profile,) = doc["shared"]["frames"], doc["profiles"]
    for f in frames:
        assert set(f) <= {"name", "file", "line", "col"} and isinstance(f["name"], str), f
        assert isinstance(f.get("line", 0), int) and isinstance(f.get("file", ""), str), f
    assert profile["type"] == "sampled" and profile["unit"] == "none" and isinstance(profile["name"], str)
    assert len(profile["samples"]) == len(profile["weights"])
    assert profile["startValue"] == 0 and profile["endValue"] == sum(profile["weights"])
    stacks = collections.Counter()
    for stack, weight in zip(profile["samples"], profile["weights"]):
        assert all(0 <= i < len(frames) for i in stack), stack
        stacks[tuple(frames[i]["name"] for i in stack)] += weight
    return stacks


def speedscope(store, path):
    same("stacks", Store(store).stacks, read_speedscope(path))


def speedscope_events(store, path):
    leaves_are_events(Store(store), read_speedscope(path))


def perf_script(store, path):
    s, stacks = Store(store), collections.Counter()
    for sample in open(path, encoding="utf-8", newline="\n").read().split("\n\n"):
        if not sample:
            continue
        head, *frames = sample.split("\n")
        period = int(re.match(r"\S+ 1 \d+\.\d+: +(\d+) cycles: $", head)[1])
        stacks[tuple(re.match(r"\t *[0-9a-f]+ (.*) \([^()]*\)$", f)[1] for f in reversed(frames))] += period
    same("stacks", s.stacks, stacks)


def ends(stacks, wanted):
    """Stacks without the functions that called: those that end as one of the store does."""
    found = collections.Counter()
    for stack, units in stacks.items():
        for n in range(1, len(stack) + 1):
            if stack[-n:] in wanted:
                found[stack[-n:]] += units
                break
        else:
            sys.exit(f"no stack of the store ends as {stack}")
    return found


def calls(store, path):
    """Folded stacks with callers: times of the store, on stacks that it has, divided by their cycles."""
    s, stacks = Store(store, ";"), read_folded(path)
    same("stacks", s.stacks, ends(stacks, s.stacks))
    names = {pc: shown(n, ";") for pc, n in
             s.db.execute("SELECT i.pc, f.name FROM instruction i JOIN function f ON f.id = i.function")}
    tree, paths, ours = {0: ()}, collections.Counter(), collections.Counter()
    for id, parent, pc, cycles in s.db.execute("SELECT id, parent, pc, cycles FROM call_context ORDER BY id"):
        tree[id] = tree[parent] + (names.get(pc, "[unknown]"),)
        paths[tree[id]] += cycles
    for stack, units in stacks.items():
        n = max((n for n in range(1, len(stack) + 1) if stack[:n] in paths), default=0)
        if not n:  # a function whose cycles all went to others that committed with it
            assert len(stack) == len(stack[:1]) or stack in s.stacks, stack
            continue
        ours[stack[:n]] += units
    for path, units in ours.items():
        part = paths[path] / sum(c for p, c in paths.items() if p[-1] == path[-1])
        rows = s.db.execute("SELECT count(*) FROM golden g JOIN instruction n USING (pc) JOIN function f ON f.id = n.function"
                            " WHERE f.name = ?", (path[-1],)).fetchone()[0]
        assert abs(units - part * s.functions[path[-1]]) <= s.scale * (rows + 1), (path, units, part)


def firefox(store, path):
    s, doc = Store(store), json.load(open(path, encoding="utf-8"))
    (t,), meta = doc["threads"], doc["meta"]
    for name, table in t.items():
        if isinstance(table, dict):
            for column, values in table.items():
                assert not isinstance(values, list) or len(values) == table["length"], (name, column)
    frame, stack, samples, text = t["frameTable"], t["stackTable"], t["samples"], t["stringArray"]
    names = [text[i] for i in t["funcTable"]["name"]]
    assert all(p is None or p < i for i, p in enumerate(stack["prefix"])), "a stack is before its prefix"
    assert all(0 <= c < len(meta["categories"]) for c in frame["category"]) and meta["categories"][0]["color"] == "grey"
    stacks, sets, lines = collections.Counter(), collections.Counter(), collections.Counter()
    for at, weight in zip(samples["stack"], samples["weight"]):
        sets["[%s]" % meta["categories"][stack["category"][at]]["name"]] += weight
        leaf = frame["func"][stack["frame"][at]]
        file = t["funcTable"]["fileName"][leaf]
        lines["" if file is None else text[file], frame["line"][stack["frame"][at]] or 0] += weight
        path = ()
        while at is not None:
            path, at = (names[frame["func"][stack["frame"][at]]],) + path, stack["prefix"][at]
        stacks[path] += weight
    same("stacks", s.stacks, ends(stacks, s.stacks))
    assert max(map(len, stacks)) > max(map(len, s.stacks)), "no callers"
    same("sets of events", names_of_sets(s), sets)
    same("lines", s.lines, lines)
    assert samples["time"] == sorted(samples["time"])
    for c in doc["counters"]:
        whole = c["name"] == "instructions"
        want = s.db.execute("SELECT sum(instructions) FROM cpi_phase WHERE phase >= 0" if whole else
                            "SELECT sum(units) * 1.0 / m.scale FROM cpi_component JOIN cpi_method m ON m.id = method"
                            " WHERE phase >= 0 AND m.name = 'fmt' AND component = ?", () if whole else (c["name"],)).fetchone()[0]
        assert abs(sum(c["samples"]["count"]) - want) < 1e-6 * want, c["name"]
        assert c["samples"]["time"] == sorted(c["samples"]["time"])
    assert len(doc["counters"]) > 3, "no counters"


def read_chrome(path):
    """Checks the file by the rules of the format; returns self times by stack, counters, and the first call's stamp."""
    doc = json.load(open(path, encoding="utf-8"))
    open_frames, now, stacks, counters = collections.defaultdict(list), {}, collections.Counter(), []
    for e in doc["traceEvents"]:
        assert e["ph"] in "BECM" and isinstance(e["name"], str) and e["name"], e
        assert all(isinstance(e[k], int) and e[k] >= 0 for k in ("pid", "tid", "ts")), e
        if e["ph"] == "M":
            assert e["name"] in ("process_name", "thread_name") and isinstance(e["args"]["name"], str), e
        elif e["ph"] == "C":
            assert e["args"] and all(isinstance(v, (int, float)) and v >= 0 for v in e["args"].values()), e
            counters.append(e)
        else:
            frames, tid = open_frames[e["tid"]], e["tid"]
            assert e["ts"] >= now.get(tid, 0), e
            if frames:
                stacks[tuple(frames)] += e["ts"] - now[tid]
            now[tid] = e["ts"]
            if e["ph"] == "B":
                frames.append(e["name"])
            else:
                assert frames.pop() == e["name"], e
    assert not any(open_frames.values()), "frames stay open"
    return stacks, counters, min(e["ts"] for e in doc["traceEvents"] if e["ph"] == "B")


def chrome(folded, path):
    """Against the stacks of analysis folded, of the same run."""
    stacks, counters, first = read_chrome(path)
    ours = collections.Counter()
    for line in open(folded, encoding="utf-8"):
        text, cycles = line.rstrip("\n").rsplit(" ", 1)
        ours[tuple(text.split(";"))] += int(cycles)
    # The cycles before the first commit are the first function's; a run begins with cycle 1.
    stacks[next(iter(stacks))[:1]] += first - 1
    same("stacks", ours, stacks)
    ipc, cpi = ([e for e in counters if e["name"] == name] for name in ("IPC", "CPI"))
    assert len(ipc) == len(cpi) > 10, "no counters"
    for a, b in zip(ipc, cpi):
        assert a["ts"] == b["ts"] and abs(sum(b["args"].values()) * a["args"]["IPC"] - 1) < 1e-6, (a, b)


def chrome_names(path, *names):
    found = {n for s in read_chrome(path)[0] for n in s}
    for name in names:
        assert name in found, (name, sorted(found)[:20])


def rounded(store, path):
    s, functions = Store(store, ";"), collections.Counter()
    for stack, cycles in read_folded(path).items():
        functions[stack[0]] += cycles
    same("cycles", {"": s.total // s.scale}, {"": sum(functions.values())})
    names = s.functions
    counts = collections.Counter(shown(n, ";") for (n,) in s.db.execute("SELECT name FROM function"))
    for name, units in names.items():
        assert abs(functions[name] - units / s.scale) < counts[name], (name, functions[name], units / s.scale)


def check_sum(path, units):
    same("sum", {"": int(units)}, {"": sum(read_folded(path).values())})


{"pprof": pprof, "tags": tags, "callgrind": callgrind, "folded": folded, "folded-events": folded_events,
 "speedscope": speedscope, "speedscope-events": speedscope_events, "perf-script": perf_script, "calls": calls,
 "firefox": firefox, "chrome": chrome, "chrome-names": chrome_names, "rounded": rounded,
 "sum": check_sum}[sys.argv[1]](*sys.argv[2:])
