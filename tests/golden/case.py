# SPDX-License-Identifier: MIT
"""The case studies of docs/case-*.md from end to end: simulate, store, read back, and find the culprit.

    case.py CULPRIT WORKLOADS imagick|magick|lbm|nab|spectrum

Small sizes, and bounds that are wide enough for a better core model, not for a wrong profiler. magick is
Debian's own binary, fetched if need be. Output is TAP.
"""
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "workloads"))
import workload  # noqa: E402


class Run:
    """A run of one program on the modelled core, and its profile."""

    def __init__(self, machine, words, options=(), folder=None):
        self.path = pathlib.Path(SCRATCH) / ("%d.culprit" % len(list(pathlib.Path(SCRATCH).iterdir())))
        # A program sees its own path, whose length moves its stack: use a name that does not depend on the build
        # folder.
        program = str(words[0]) if folder else "./%s" % words[0]
        done = subprocess.run([CULPRIT, "sim", "--machine", machine, "--period", "100", *options, "-o", str(self.path), "--",
                               program, *words[1:]], cwd=folder or WORKLOADS, capture_output=True)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        self.output = done.stdout
        self.db = sqlite3.connect("file:%s?mode=ro" % self.path, uri=True)
        self.cycles = int(float(self.one("SELECT value FROM run WHERE key = 'profiled_cycles'")))
        self.instructions = int(float(self.one("SELECT value FROM run WHERE key = 'profiled_instructions'")))
        self.units = self.one("SELECT sum(units) FROM golden")

    def one(self, sql, *values):
        return self.db.execute(sql, values).fetchone()[0]

    def shares(self, profiler, where="1"):
        """Returns {mnemonic and address: share of all cycles} by a profiler (or "oracle"), largest first."""
        source = "golden" if profiler == "oracle" else (
            "(SELECT * FROM profile WHERE sampler = 0 AND profiler = (SELECT id FROM profiler WHERE name = '%s'))" % profiler)
        rows = self.db.execute("SELECT i.disasm, t.pc, sum(t.units) FROM %s t JOIN instruction i USING (pc) JOIN function f "
                               "ON f.id = i.function WHERE %s GROUP BY t.pc ORDER BY 3 DESC" % (source, where))
        return {(disasm.split()[0], pc): units / self.units for disasm, pc, units in rows}

    def event_share(self, name, where="1"):
        """Returns the share of all cycles of instructions that had an event."""
        return self.one("SELECT coalesce(sum(g.units), 0) FROM golden g JOIN instruction i USING (pc) WHERE (g.events >> "
                        "(SELECT bit FROM event WHERE name = ?)) & 1 AND %s" % where, name) / self.units

    def event_count(self, name):
        return self.one("SELECT executions FROM event WHERE name = ?", name)

    def error(self, profiler):
        done = subprocess.run([CULPRIT, "accuracy", str(self.path), "--csv"], capture_output=True, text=True, check=True)
        rows = [line.split(",") for line in done.stdout.splitlines()]
        return next(float(row[1]) for row in rows if row[0] == profiler)


def compare(before, after):
    done = subprocess.run([CULPRIT, "diff", str(before.path), str(after.path), "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def total(shares, *mnemonics):
    return sum(share for (mnemonic, _), share in shares.items() if mnemonic in mnemonics)


def between(low, value, high, what):
    assert low <= value <= high, "%s is %.3f, not in %g..%g" % (what, value, low, high)


MARKED = ("--start", "mark", "--stop", "mark")


def check_rounding(run, least, most):
    """Checks the time in libm's floor and ceil, whose fflags accesses flush: what Oracle, TIP and NCI blame."""
    for function in ("floor", "ceil"):
        where = "f.name = '%s'" % function
        oracle, tip, nci = (run.shares(p, where) for p in ("oracle", "tip", "nci"))
        whole = sum(oracle.values())
        between(least, whole, most, "the share of %s" % function)
        flags = total(oracle, "frflags", "fsflags")
        assert {m for m, _ in list(oracle)[:2]} == {"frflags", "fsflags"}, "Oracle blames %s" % list(oracle)[:2]
        assert {m for m, _ in list(tip)[:2]} == {"frflags", "fsflags"}, "TIP blames %s" % list(tip)[:2]
        between(0.5, flags / whole, 0.75, "the flags' part of %s" % function)
        between(-0.02, total(tip, "frflags", "fsflags") - flags, 0.02, "TIP's error on the flags")
        assert {m for m, _ in list(nci)[:2]} == {"feq.d", "ret"}, "NCI blames %s" % list(nci)[:2]
        between(0.0, total(nci, "frflags", "fsflags") / flags, 0.35, "what NCI sees of the flags")


def imagick():
    run = Run("boom-tip", ["mean_shift", "60"], MARKED)
    free = Run("boom-tip", ["mean_shift", "60", "1"], MARKED)
    check_rounding(run, 0.15, 0.35)
    assert run.output == free.output, "the two variants compute different things"
    assert run.event_count("FL-CSR") > 1000 and free.event_count("FL-CSR") == 0
    between(1.6, run.cycles / free.cycles, 3.2, "the speed-up")


def magick():
    # Runs Debian's binary with its stripped libm, from the middle of a mean shift.
    runner = workload.Runner(WORKLOADS.parent)
    binary = runner.binary(workload.load()["magick"])
    options = ["--sysroot", str(workload.sysroot_path()), "--set", "exception.page_faults=no", "--fast-forward", "16M",
               "--max-insts", "2M"]
    for variable in runner.environment.items():
        options += ["--env", "%s=%s" % variable]
    run = Run("boom-tip", [binary, runner.input("ppm", 32), "-mean-shift", "7x7+10%", "ppm:-"], options, runner.inputs)
    assert run.instructions == 2000000, "%d instructions" % run.instructions
    image = run.one("SELECT i.name FROM function f JOIN image i ON i.id = f.image WHERE f.name = 'floor'")
    assert "libm.so" in image, "floor is in %s" % image
    check_rounding(run, 0.06, 0.25)


def lbm():
    # The two grids of this box (20 MB) do not fit into the last level; timing begins when they have been filled.
    steps = {d: Run("boom-tea", ["lbm", "40", "2", str(d)],
                    ("--set", "exception.page_faults=no", "--fast-forward", "25M", "--warm", "4M", "--max-insts", "400k"))
             for d in (0, 1, 2, 4)}
    hottest = {d: next(iter(run.shares("oracle").items())) for d, run in steps.items()}
    (mnemonic, pc), share = hottest[0]
    assert mnemonic == "ld", "the hottest is %s" % mnemonic
    between(0.3, share, 0.6, "the share of the load of the flags")
    assert share > 5 * list(steps[0].shares("oracle").values())[1], "the second is nearly as hot"
    between(0.9, steps[0].event_share("ST-LLC", "pc = %d" % pc) / share, 1.0, "the part of it that waits for memory")
    (seen, at), told = next(iter(steps[0].shares("tip").items()))
    assert at == pc and abs(told - share) < 0.03, "TIP blames %s with %.3f" % (seen, told)
    # Dispatch-tagging blames the instructions that pile up behind the load instead.
    between(0.0, steps[0].shares("ibs").get(("ld", pc), 0), share / 4, "what IBS sees of the load")
    cost = {d: run.cycles / run.instructions for d, run in steps.items()}
    best = min(cost, key=cost.get)
    assert best != 0, "prefetching does not help"
    between(1.2, cost[0] / cost[best], 1.8, "the best speed-up per instruction")
    loads = {d: run.event_share("ST-LLC", "i.class = 'load'") for d, run in steps.items()}
    assert loads[2] < loads[1] < loads[0], "time of missing loads by distance: %s" % loads
    # In a box of SPEC's size the stores fill the machine once the loads are prefetched.
    late, early = (Run("boom-tea", ["lbm", "100", "2", d], ("--set", "exception.page_faults=no", "--fast-forward", "350M",
                                                             "--warm", "4M", "--max-insts", "400k")) for d in ("0", "4"))
    between(0.0, late.event_share("DR-SQ"), 0.02, "DR-SQ without prefetching")
    between(0.15, early.event_share("DR-SQ"), 0.5, "DR-SQ with prefetching")
    between(1.15, late.cycles / late.instructions * early.instructions / early.cycles, 1.5, "the speed-up of the large box")


def nab():
    plain, finite, fast = (Run("boom-tea", [name, "60", "3"], MARKED) for name in ("nbody", "nbody_finite", "nbody_fast"))
    shares = plain.shares("oracle")
    root = next(key for key in shares if key[0] == "fsqrt.d")
    assert list(shares).index(root) == 0, "fsqrt.d is not the hottest: %s" % list(shares)[:3]
    assert plain.one("SELECT coalesce(sum(units), 0) FROM golden WHERE pc = ? AND events & 511", root[1]) == 0
    flags = plain.db.execute("SELECT i.disasm FROM instruction i WHERE i.pc < ? ORDER BY i.pc DESC LIMIT 4", (root[1],)).fetchall()
    assert any("fsflags" in disasm for disasm, in flags), "no fsflags right before fsqrt.d: %s" % flags
    between(0.12, total(shares, "frflags", "fsflags"), 0.3, "the flags' share")
    tea = plain.shares("tea")
    between(-0.02, tea[root] - shares[root], 0.02, "TEA's error on fsqrt.d")
    assert abs(plain.shares("ibs").get(root, 0) - shares[root]) > 0.05, "IBS sees fsqrt.d as it is"
    later = total(finite.shares("oracle"), "fsqrt.d")
    assert later < shares[root] / 2, "fsqrt.d is not hidden without the flush: %.3f" % later
    assert finite.event_count("FL-CSR") == 0 and fast.event_count("FL-CSR") == 0
    between(1.3, plain.cycles / finite.cycles, 2.4, "the speed-up of -ffinite-math-only")
    between(2.0, plain.cycles / fast.cycles, 3.5, "the speed-up of -ffast-math")
    assert plain.error("tip") < 5 < plain.error("nci")
    # Comparing two builds names what the flag changes, and pairs instructions that only moved.
    moved = compare(plain, finite)
    assert moved["cycles_before"] == plain.cycles and moved["cycles_after"] == finite.cycles
    for rows in ("functions", "instructions"):
        change = sum(row["change"] for row in moved[rows])
        assert abs(change - (finite.cycles - plain.cycles)) < 1, "the %s add up to %.1f" % (rows, change)
    forces = [row for row in moved["instructions"] if row["symbol"].startswith("forces")]
    gone = {row["disasm"].split()[0] for row in forces if row["in"] == "before"}
    assert {"frflags", "fsflags"} <= gone and not gone & {"fsqrt.d", "fdiv.d"}, "only before: %s" % gone
    pair, = (row for row in forces if row["disasm"].startswith("fsqrt.d") and row["in"] == "both")
    assert pair["symbol"] != pair["symbol_after"] and pair["disasm_after"].startswith("fsqrt.d"), pair
    assert pair is forces[0] and pair["change"] < -0.1 * plain.cycles, forces[0]


def spectrum():
    # docs/case-spectrum.md at a smaller size: misses are alone, and each cell of distance hides a cell's time of them.
    cost, adder = {}, {}
    for distance in (0, 1, 2, 3, 6):
        path = pathlib.Path(SCRATCH) / ("%d.culprit" % distance)
        subprocess.run([CULPRIT, "sim", "--machine", "puzak2007", "--set", "mem.line=1024", "--set", "mem.latency=700",
                        "--analyze", "spectrum", "--param", "spectrum.kinds=load+hint", "--fast-forward", "1M", "--warm", "1M",
                        "--max-insts", "200k", "-o", str(path), "--", "./lbm", "16", "3", str(distance)],
                       cwd=WORKLOADS, capture_output=True, check=True)
        done = subprocess.run([CULPRIT, "spectrum", str(path), "--json"], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        assert found["net"] + found["drift"] + found["head"] + found["tail"] == found["adder"], found["adder"]
        alone = found["sizes"][0]
        assert alone["size"] == 1, "there are no isolated misses"
        between(0.9, alone["misses"] / found["misses"], 1.0, "the share of isolated misses at distance %d" % distance)
        cost[distance] = sorted(alone["histogram"], key=lambda bin: -bin[1])[0][0]
        adder[distance] = found["adder"]
    between(695, cost[0], 701, "the cost of a miss without prefetching")
    assert cost[6] == 0 and adder[6] < 0.02 * adder[0], "at distance 6 a miss costs %d, all %d" % (cost[6], adder[6])
    cell = cost[1] - cost[2]
    between(100, cell, 200, "what one more cell of distance hides")
    between(cell - 3, cost[2] - cost[3], cell + 3, "what the third cell hides")
    assert cost[0] > cost[1] > cost[2] > cost[3] > 0, cost


CULPRIT, WORKLOADS, NAME = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
with tempfile.TemporaryDirectory() as SCRATCH:
    try:
        {"imagick": imagick, "magick": magick, "lbm": lbm, "nab": nab, "spectrum": spectrum}[NAME]()
        print("1..1\nok 1 - %s" % NAME)
    except workload.Missing as missing:
        print("1..0 # SKIP %s" % missing)
    except (AssertionError, StopIteration, KeyError) as problem:
        print("1..1\nnot ok 1 - %s\n# %r" % (NAME, problem))
        sys.exit(1)
