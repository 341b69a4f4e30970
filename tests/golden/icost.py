# SPDX-License-Identifier: MIT
"""Interaction costs from end to end: the graph against the machine, what-if against simulation, sampling, shotgun.

    icost.py CULPRIT WORKLOADS

Small sizes; bounds are wide enough for a better core model, not for a wrong graph. Output is TAP.
"""
import contextlib
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

CULPRIT, WORKLOADS = sys.argv[1], pathlib.Path(sys.argv[2])
SCRATCH = pathlib.Path(tempfile.mkdtemp())
os.environ["CULPRIT_CACHE"] = str(SCRATCH / "cache")
(SCRATCH / "cache").mkdir()
PROGRAMS = {"quicksort": ["2000"], "pointer_chase": ["512", "50000"], "hash_join": ["3000", "12000"], "call_web": ["2500"]}
number = 0


def check(ok, name, note=""):
    global number
    number += 1
    print("%sok %d - %s" % ("" if ok else "not ", number, name))
    if not ok:
        print("# %s" % note)


def sim(program, *options, machine="fields2004", store=None):
    summary = SCRATCH / "summary.json"
    done = subprocess.run([CULPRIT, "sim", "--machine", machine, *options, "--summary-json", str(summary),
                           *(["-o", str(store)] if store else ["--analyze", "none"]), "--",
                           str(WORKLOADS / program), *PROGRAMS[program]], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(summary.read_text())["cycles"]


def icost(store, *options):
    done = subprocess.run([CULPRIT, "icost", str(store), "--json", *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def places(program):
    """Time and costs by function, of runs so short that start-up counts."""
    store = SCRATCH / (program + "-places.culprit")
    sim(program, "--analyze", "profile,icost", store=store, machine="boom-tip")
    with contextlib.closing(sqlite3.connect(store)) as db:
        golden = dict(db.execute("SELECT ifnull(i.function, -1), sum(g.units) FROM golden g LEFT JOIN instruction i "
                                 "ON i.pc = g.pc GROUP BY 1"))
        ours = dict(db.execute("SELECT ifnull(i.function, -1), sum(p.cost) FROM icost_place p LEFT JOIN instruction i "
                               "ON i.pc = p.pc WHERE p.categories = 0 GROUP BY 1"))
        off = max(abs(found - cost) for found, cost in db.execute(
            "SELECT sum(p.cost), c.cost FROM icost_place p JOIN icost c ON c.categories = p.categories AND c.phase = -1 "
            "GROUP BY p.categories"))
    whole, cycles = sum(golden.values()), sum(ours.values())
    misplaced = sum(abs(golden.get(f, 0) / whole - ours.get(f, 0) / cycles) for f in {*golden, *ours}) / 2
    check(misplaced < 0.01, "functions of %s have the golden reference's time" % program, "%.2f %% misplaced" % (100 * misplaced))
    check(off < 1e-6 * cycles, "costs of all functions of %s are the run's, in every lane" % program, "%g cycles off" % off)


def main():
    print("1..%d" % (6 * len(PROGRAMS) + 11))
    for program in PROGRAMS:
        store = SCRATCH / (program + ".culprit")
        cycles = sim(program, "--analyze", "icost,shotgun", "--param", "icost.statics=1", store=store)
        said = icost(store)
        check(abs(said["graph_cycles"] / said["cycles"] - 1) < 0.005, "the base graph of %s is as long as the run" % program,
              "%(graph_cycles)s for %(cycles)s cycles" % said)
        total = sum(said["icosts"].values()) + said["rest"]
        check(abs(total - said["graph_cycles"]) < 1, "icosts of all sets of %s and the rest are the run" % program, str(total))
        for category in ("dmiss", "bmisp"):
            truth = 100 * (cycles - sim(program, "--set", "ideal.%s=on" % category)) / cycles
            ours = 100 * said["costs"][category] / said["graph_cycles"]
            check(abs(truth - ours) < 1.5 + 0.06 * abs(truth), "the cost of %s in %s is what simulation saves" % (category, program),
                  "%.1f %% by the graph, %.1f %% simulated" % (ours, truth))

    for program in PROGRAMS:
        places(program)

    said = icost(SCRATCH / "pointer_chase.culprit", "--what-if", "dmiss@main", "--verify")
    w = said["what_if"][0]
    check(abs(w["predicted"] - w["simulated"]) < 0.1 * w["simulated"], "what-if of a chase's misses is what simulation saves", str(w))
    hot = icost(SCRATCH / "quicksort.culprit")["instructions"][0]
    said = icost(SCRATCH / "quicksort.culprit", "--what-if", "bmisp@" + hot["pc"], "--verify")
    w = said["what_if"][0]
    check(hot["costs"]["mispredict"] > 0, "a sort's costliest instruction is a mispredicted branch", str(hot))
    check(abs(w["predicted"] - w["simulated"]) < 0.15 * w["simulated"], "what-if of its mispredicts is what simulation saves", str(w))
    check(all(0 <= i["critical"] <= 1 and i["slack"] >= i["local_slack"] - 1e-9 for i in said["instructions"]),
          "slack is at least local slack")

    icost(SCRATCH / "hash_join.culprit", "--svg", str(SCRATCH / "bar.svg"))
    root = xml.etree.ElementTree.parse(SCRATCH / "bar.svg").getroot()
    inside = [float(t.get("y")) < float(root.get("height")) and float(t.get("x")) < float(root.get("width"))
              for t in root.iter("{http://www.w3.org/2000/svg}text") if t.get("y")]
    stripes = list(root.iter("{http://www.w3.org/2000/svg}pattern"))
    check(len(inside) > 10 and all(inside) and stripes, "the picture holds its legend, pairs are striped")

    full = icost(SCRATCH / "hash_join.culprit")
    sim("hash_join", "--analyze", "icost", "--param", "icost.sample=3", store=SCRATCH / "sampled.culprit")
    sampled = icost(SCRATCH / "sampled.culprit")
    worst = max(abs(full["costs"][c] / full["graph_cycles"] - sampled["costs"][c] / sampled["graph_cycles"])
                for c in ("dl1", "bw", "dmiss", "shalu", "lgalu"))
    check(worst < 0.06, "sampled fragments say what the whole run says", "%.3f" % worst)
    # An analysis that wants all records runs beside it, so no record is left out.
    sim("hash_join", "--analyze", "icost,profile", "--param", "icost.sample=3", store=SCRATCH / "beside.culprit")
    check(icost(SCRATCH / "beside.culprit")["costs"] == sampled["costs"], "… and the same beside another analysis")

    design = {d["design"]: d for d in full["shotgun"]}
    check(design[4]["fragments_built"] > 0, "the shotgun profiler builds fragments")
    check(design[4]["pcs_right"] > 0.98 * design[4]["instructions"], "… whose PCs are right", str(design[4]["pcs_right"]))
    check(abs(design[4]["costs"]["bmisp"] - full["costs"]["bmisp"]) < 0.1 * full["cycles"], "… and whose costs are near the graph's")

    sim("hash_join", "--analyze", "icost", "--param", "icost.categories=l2=dmiss:l2,mem=dmiss:mem,alu=shalu+lgalu",
        store=SCRATCH / "split.culprit")
    split = icost(SCRATCH / "split.culprit")
    check({"l2", "mem", "alu", "l2+mem"} <= {"+".join(sorted(n.split("+"))) for n in split["costs"]} | set(split["costs"]) and
          split["costs"]["alu"] > 0, "categories are what the user says", str(list(split["costs"])[:8]))


main()
