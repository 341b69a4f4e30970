# SPDX-License-Identifier: MIT
"""What the scripts in papers/ share: a set of workloads, the store of finished runs, and numbers from their profiles.

A run is one profile (a .culprit file) in BUILD/papers, named by its workload and a digest of all that it
depends on: the simulator, the program, its inputs and the options. It appears there when it is complete, so an
interrupted script goes on where it stopped, and a run serves every script that asks for the same one.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "workloads"))
import workload  # noqa: E402

# Half of the workloads are Debian's own binaries. Ours are chosen for their character: dense arithmetic, data misses,
# mispredicted branches, indirect jumps, status-register flushes.
OWN = ["matmul", "stream", "quicksort", "hash_join", "interp", "lbm", "nbody"]
DEBIAN = ["bzip2", "xz", "lua", "sqlite", "perl", "povray", "magick"]


class Failed(Exception):
    pass


def parser(text, insts=200):
    """insts: default number of instructions per workload, in millions."""
    p = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=str(ROOT / "build"), help="build folder (build)")
    p.add_argument("--quick", action="store_true", help="5 million instructions each, test-sized inputs")
    p.add_argument("--insts", type=int, metavar="MILLIONS", help="instructions measured of each (%d)" % insts)
    p.add_argument("--skip", type=int, metavar="MILLIONS", help="instructions before that, untimed (100)")
    p.add_argument("--only", metavar="NAMES", help="these workloads, with commas between")
    p.add_argument("--machine", metavar="NAME", help="another machine than the paper's")
    p.add_argument("--jobs", type=int, default=1, help="runs at a time (1)")
    p.add_argument("--cached", action="store_true", help="only what has been run before; the rest is left out")
    p.add_argument("--json", metavar="FILE", help="writes all figures there as well")
    p.set_defaults(full_insts=insts)
    return p


def digest(*parts):
    h = hashlib.sha256()
    for part in parts:
        h.update(len(part).to_bytes(8, "little"))
        h.update(part)
    return h.hexdigest()[:16]


class Lab:
    """Runs workloads on one machine and keeps the results."""

    def __init__(self, options, machine, analyze="profile"):
        self.options = options
        self.machine = options.machine or machine
        self.analyze = analyze
        self.runner = workload.Runner(options.build)
        self.cache = self.runner.build / "papers"
        self.cache.mkdir(parents=True, exist_ok=True)
        self.programs = workload.load()
        self.insts = (options.insts or (5 if options.quick else options.full_insts)) * 1000000
        self.skip = (1 if options.quick else 100) * 1000000 if options.skip is None else options.skip * 1000000
        self.size = "test" if options.quick else "ref"
        self.names = options.only.split(",") if options.only else OWN + DEBIAN
        unknown = [n for n in self.names if n not in self.programs]
        if unknown:
            raise SystemExit("no such workload: %s (workloads/run --list names them)" % " ".join(unknown))
        self.culprit_digest = digest(self.runner.culprit.read_bytes()).encode()

    def sim_options(self, extra=()):
        # Page faults are off: the skipped part has already touched its pages, but the core would fault on them again.
        words = ["--machine", self.machine, "--set", "exception.page_faults=no", "--fast-forward", str(self.skip),
                 "--max-insts", str(self.insts), "--analyze", self.analyze, *extra]
        if workload.sysroot_path().is_dir():
            words += ["--sysroot", str(workload.sysroot_path())]
        for variable in self.runner.environment.items():
            words += ["--env", "%s=%s" % variable]
        return words

    def run(self, name, extra=()):
        """Path of the finished profile of one workload."""
        program = self.programs[name]
        argv, out = self.runner.command(program, self.size)
        words = self.sim_options(extra)
        # The key leaves out the name of the output file, which holds a process id; all else that a run depends on is
        # in it.
        stable = [w.replace(out, "@out") if out else w for w in argv[1:]]
        inputs = [(self.runner.inputs / w).read_bytes() for w in stable if (self.runner.inputs / w).is_file()]
        key = digest(self.culprit_digest, pathlib.Path(argv[0]).read_bytes(), json.dumps([words, stable]).encode(),
                     *inputs)
        path = self.cache / ("%s-%s-%s.culprit" % (name, self.machine, key))
        if path.exists():
            return path
        if self.options.cached:
            raise workload.Missing("not run yet")
        scratch = path.with_suffix(".%d.part" % os.getpid())
        start = time.monotonic()
        try:
            done = subprocess.run([str(self.runner.culprit), "sim", *words, "-o", str(scratch), "--", *argv],
                                  cwd=self.runner.inputs, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if not scratch.exists():
                raise Failed("%s: %s" % (name, done.stderr.strip()[-300:]))
            os.replace(scratch, path)
        finally:
            scratch.unlink(missing_ok=True)
            if out:
                (self.runner.inputs / out).unlink(missing_ok=True)
        print("%s on %s: %.0f s" % (name, self.machine, time.monotonic() - start), file=sys.stderr)
        return path

    def run_all(self, extra=()):
        """{name: facts} of all workloads that could be run, in their order."""
        def one(name):
            try:
                return name, self.facts(self.run(name, extra))
            except workload.Missing as missing:
                print("%s is left out: %s" % (name, missing), file=sys.stderr)
            except Failed as failed:
                print("%s is left out: %s" % (name, failed), file=sys.stderr)
            return name, None

        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            found = dict(pool.map(one, self.names))
        return {n: f for n, f in found.items() if f}

    def facts(self, path):
        """Returns a profile's figures as plain numbers, which are stored beside it."""
        kept = path.with_suffix(".json")
        if kept.exists():
            return json.loads(kept.read_text())
        has_sweep = query(path, "SELECT count(*) FROM sampler WHERE id < 64")[0][0] > 1
        has_curve = query(path, "SELECT count(*) FROM psv_curve")[0][0] > 0
        accuracy = json.loads(subprocess.run(
            [str(self.runner.culprit), "accuracy", str(path), "--json", "--events", "--states",
             *(["--sweep"] if has_sweep else []), *(["--bits"] if has_curve else [])],
            check=True, capture_output=True, text=True).stdout)
        facts = {"run": dict(query(path, "SELECT key, value FROM run")), "accuracy": accuracy}
        for number in ("cycles", "instructions", "profiled_cycles", "profiled_instructions", "with_event",
                       "with_combined_events", "scale"):
            facts["run"][number] = int(float(facts["run"].get(number, 0)))
        total = facts["run"]["profiled_cycles"] * facts["run"]["scale"]
        facts["time"] = dict(query(path, "SELECT c.name, coalesce(sum(g.units), 0) * 1.0 / %d FROM category c "
                                         "LEFT JOIN golden g ON c.id = g.category GROUP BY c.id ORDER BY c.id" % total))
        facts["tea_events"] = [name for (name,) in query(
            path, "SELECT e.name FROM event e, profiler p WHERE p.name = 'tea' AND (p.events >> e.bit) & 1 ORDER BY e.bit")]
        facts["events"] = dict(query(path, "SELECT name, executions FROM event ORDER BY bit"))
        facts["bare_stalls"] = query(path, "SELECT length, count FROM bare_stall ORDER BY length")
        facts["branches"] = query(path, "SELECT coalesce(sum(g.executions), 0) FROM golden g JOIN instruction i "
                                        "USING (pc) WHERE i.class = 'branch'")[0][0]
        facts["between"] = {level: between(path, "nci", "software", level) for level in ("instruction", "function")}
        facts["application"] = application_errors(path, total)
        facts["worst"] = worst_instructions(path, total)
        facts["several_bits"] = float(facts["run"].get("with_several_bits", 0))
        facts["footprint"] = query(path, "SELECT count(DISTINCT pc) FROM golden")[0][0]
        kept.write_text(json.dumps(facts))
        return facts


def query(path, sql):
    with sqlite3.connect("file:%s?mode=ro" % path, uri=True) as db:
        return [list(row) for row in db.execute(sql)]


SYMBOL = {"instruction": "p.pc", "function": "i.function"}


def between(path, one, other, level):
    """Returns how far two profilers' profiles of a run are apart, in % of its time, without events."""
    sums = [dict(query(path, "SELECT %s, sum(p.units) FROM profile p JOIN profiler r ON r.id = p.profiler LEFT JOIN "
                             "instruction i ON i.pc = p.pc WHERE r.name = '%s' AND p.sampler = 0 GROUP BY 1" % (
                                 SYMBOL[level], name))) for name in (one, other)]
    total = sum(sums[0].values())
    return 100 * (1 - sum(min(units, sums[1].get(symbol, 0)) for symbol, units in sums[0].items()) / total) if total else 0


def application_errors(path, total):
    """{profiler: error in %} of the whole program's stack, one component per set of the profiler's events."""
    errors = {}
    for name, number, events in query(path, "SELECT name, id, events FROM profiler WHERE id < 64"):
        truth = dict(query(path, "SELECT events & %d, sum(units) FROM golden GROUP BY 1" % events))
        found = query(path, "SELECT events, sum(units) FROM profile WHERE sampler = 0 AND profiler = %d GROUP BY 1" % number)
        errors[name] = 100 * (1 - sum(min(units, truth.get(e, 0)) for e, units in found) / total) if found else None
    return errors


def worst_instructions(path, total, count=3):
    """The instructions with most time: for each its text and its stacks by the golden reference, TEA and IBS, in % of the
    run by set of events."""
    names = dict(query(path, "SELECT bit, name FROM event"))

    def stack(rows):
        return {"+".join(names[b] for b in sorted(names) if e >> b & 1) or "base": 100 * u / total for e, u in rows if u}

    tea = query(path, "SELECT events FROM profiler WHERE name = 'tea'")[0][0]
    out = []
    for pc, text in query(path, "SELECT g.pc, i.disasm FROM golden g LEFT JOIN instruction i USING (pc) GROUP BY g.pc "
                                "ORDER BY sum(g.units) DESC, g.pc LIMIT %d" % count):
        stacks = {"golden": stack(query(path, "SELECT events & %d, sum(units) FROM golden WHERE pc = %d GROUP BY 1" % (tea, pc)))}
        for name in ("tea", "ibs"):
            stacks[name] = stack(query(
                path, "SELECT p.events, sum(p.units) FROM profile p JOIN profiler r ON r.id = p.profiler WHERE r.name = '%s' "
                      "AND p.sampler = 0 AND p.pc = %d GROUP BY 1" % (name, pc)))
        out.append({"pc": pc, "text": text, "stacks": stacks})
    return out


PAPER_HZ = 4000


def samples_table(runs, names, paper):
    """Errors at as many samples as the paper's rate would give, and at equal counts: what is not systematic falls with
    the square root of the count."""
    heading("Errors at equal samples, in %, at instruction level")
    rows = []
    for name, facts in runs.items():
        run, accuracy = facts["run"], facts["accuracy"]
        at_4khz = run["profiled_cycles"] / float(run["clock_hz"]) * PAPER_HZ
        error = errors(facts, "instruction")[names[0]]
        few = accuracy["samples"] * (error / BAR_OF_SAMPLES[names[0]]) ** 2
        rows.append([name, "%d" % accuracy["samples"], "%.0f" % at_4khz, "%.2f" % error,
                     "%.2f" % (error * (accuracy["samples"] / 1e6) ** 0.5), "%.0f" % few,
                     "few" if accuracy["too_few_samples"] or accuracy["samples"] < few else ""])
    table(["", "samples", "at 4 kHz", "%s" % names[0], "at 10^6", "needs", ""], rows)
    print("\nat 4 kHz: samples that the paper's rate gives in the same time. at 10^6: the error if there were a million\n"
          "samples (the paper's programs run for minutes: 4 minutes at 4 kHz are a million). needs: samples for the paper's\n"
          "mean of %.1f%%. few: the run has fewer than that." % paper)
    return {row[0]: row[1:] for row in rows}


BAR_OF_SAMPLES = {"tip": 1.6, "tea": 2.1}


def largest(runs, level, names, paper):
    """Rows of each profiler's largest error over the runs, and in the paper."""
    found = {n: max((errors(f, level)[n], w) for w, f in runs.items()) for n in names}
    return [["largest"] + ["%.1f" % found[n][0] for n in names], ["of"] + [found[n][1] for n in names],
            ["paper"] + [paper.get(n) for n in names]]


def klass(time_shares):
    """Returns the class by tip2021 section 4: compute-, flush- or stall-intensive."""
    if time_shares["execution"] > 0.5:
        return "compute"
    return "flush" if time_shares["mispredict"] + time_shares["misc. flush"] > 0.03 else "stall"


def errors(facts, level):
    return {p["name"]: p[level] for p in facts["accuracy"]["profilers"]}


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


def quantile(values, share):
    """Interpolates linearly between the two nearest values."""
    values = sorted(values)
    at = share * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def bare_stall_length(all_facts, share):
    """Returns this quantile of the lengths of stalls without an event, in cycles, over all runs."""
    counts = {}
    for facts in all_facts:
        for length, count in facts["bare_stalls"]:
            counts[length] = counts.get(length, 0) + count
    total, seen = sum(counts.values()), 0
    for length in sorted(counts):
        seen += counts[length]
        if seen >= share * total:
            return length
    return 0


def table(heading, rows, first=14, width=9):
    print("%-*s" % (first, heading[0]) + "".join("%*s" % (width, h) for h in heading[1:]))
    for row in rows:
        cells = ["%*s" % (width, c if isinstance(c, str) else "" if c is None else "%.1f" % c) for c in row[1:]]
        print(("%-*s" % (first, row[0]) + "".join(cells)).rstrip())


def heading(text):
    print("\n" + text + "\n" + "-" * len(text))


def order_note(names, ours, paper):
    """Pairs of profilers whose order differs from the paper's, as text."""
    notes = []
    for i, a in enumerate(names):
        for b in names[i + 1:]:
            if (paper[a] < paper[b]) != (ours[a] < ours[b]) and abs(ours[a] - ours[b]) > 0.15:
                low, high = (a, b) if ours[a] < ours[b] else (b, a)
                notes.append("%s (%.1f) is better than %s (%.1f) here; in the paper it is %.1f against %.1f" % (
                    low, ours[low], high, ours[high], paper[low], paper[high]))
    return notes


def write_json(options, value):
    if options.json:
        with tempfile.NamedTemporaryFile("w", dir=pathlib.Path(options.json).resolve().parent, delete=False) as out:
            json.dump(value, out, indent=1)
            out.write("\n")
        os.chmod(out.name, 0o644)
        os.replace(out.name, options.json)
