# SPDX-License-Identifier: MIT
"""Runs papers/PAPER/run on small workloads: it keeps its runs, and finds what the paper found.

    papers.py ROOT BUILD tip2021|tea2023|puzak2007|eyerman2006|fields2004
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT, BUILD, PAPER = sys.argv[1:4]


def run(scratch, *options):
    out = pathlib.Path(scratch) / "out.json"
    out.unlink(missing_ok=True)
    done = subprocess.run([sys.executable, str(pathlib.Path(ROOT) / "papers" / PAPER / "run"), "--build", BUILD, "--quick", "--insts", "1",
                           "--json", str(out), *options], capture_output=True, text=True,
                          env={**os.environ, "CULPRIT_CACHE": str(pathlib.Path(scratch) / "cache")})
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(out.read_text())


def twice(scratch, *options):
    first, figures = run(scratch, *options)
    again, _ = run(scratch, *options, "--cached")
    assert first == again, "a kept run says something else"
    return first, figures


def eyerman2006(scratch):
    """Checks that interval analysis is nearer to the simulated stack than counters that do not know the core."""
    first, figures = twice(scratch, "--only", "quicksort")
    mean = figures["mean"]
    assert mean["fmt"] < min(mean["naive"], mean["naive_non_spec"], mean["power5"], mean["fmt_paper"]), mean
    assert "fmt: mean %.2f%%" % mean["fmt"] in first, first
    facts = figures["runs"]["quicksort"]
    for name in ("simulated", "fmt", "naive", "power5"):
        total = sum(facts["methods"][name]["components"].values())
        assert abs(total - facts["cpi"]) < 1e-5, "the stack of %s sums to %f, not to %f" % (name, total, facts["cpi"])


def fields2004(scratch):
    """Checks that the graph has the core's cycles, and that mispredicts are a sort's largest cost."""
    first, figures = twice(scratch, "--only", "quicksort", "--simulated", "1", "--tables", "a,window")
    costs = {k: v for k, v in figures["III(a)"]["quicksort"].items() if "+" not in k}
    assert max((v, k) for k, v in costs.items() if k in ("dl1", "bw", "bmisp", "dmiss", "win", "imiss"))[1] == "bmisp", costs
    assert float(re.search(r"Base graph against simulated cycles: within ([\d.]+) %", first)[1]) < 0.1, first
    assert [len(w) for w in figures["window"]["quicksort"]] == [4, 4, 4]


def puzak2007(scratch):
    """Checks the law, drift and the peaks of the run in oltp's role, and that the text says what the figures say."""
    first, figures = twice(scratch)
    for name, run in figures["runs"].items():
        for found in run.values():
            assert found["net"] + found["drift"] + found["head"] + found["tail"] == found["adder"], name
            assert found["adder"] == found["cycles"] - found["twin_cycles"], name
    assert figures["failed"] == [] and re.search(r"^0 of 13 runs fail$", first, re.M), first
    found = figures["runs"]["puzak2007 oltp l2.size=256k"]["right"]
    assert re.search(r"p %.3f \(0\.510\)   a %.3f \(0\.730\)" % (found["p"], found["a"]), first), first
    areas = re.search(r"^  size 2 +(.*)$", first, re.M)[1]
    shares = {int(at): float(area) for at, area in re.findall(r"(\d+) (0\.\d+)", areas)}
    assert {15, 30, 100, 115, 200} <= set(shares) and abs(sum(shares.values()) - 1) < 0.01, areas
    assert min(shares[at] for at in (15, 30, 100, 115, 200)) > 0.01, areas


def profilers(scratch):
    """Checks that the time-proportional profilers have the smallest errors."""
    first, figures = twice(scratch, "--only", "matmul,quicksort")
    assert list(figures["workloads"]) == ["matmul", "quicksort"]
    for facts in figures["workloads"].values():
        assert facts["run"]["profiled_instructions"] == 1000000
        assert abs(sum(facts["time"].values()) - 1) < 1e-9, "the time breakdown does not sum to the run"
        error = {p["name"]: p["instruction"] for p in facts["accuracy"]["profilers"]}
        assert error["tip"] < min(error["tip-ilp"], error["nci"], error["lci"], error["dispatch"], error["software"]), error
        assert error["tea"] < min(error["nci-tea"], error["ibs"], error["spe"], error["ris"]), error
        assert len(facts["accuracy"]["sweep"]) == 16
    best = PAPER[:3]
    mean = sum(p["instruction"] for facts in figures["workloads"].values() for p in facts["accuracy"]["profilers"]
               if p["name"] == best) / 2
    said = re.search(r"^%s: ([\d.]+)%% in the mean; bar ([\d.]+)%%: (met|NOT met)$" % best.upper(), first, re.M)
    assert said, "it does not say how far %s is off: %s" % (best, first)
    assert said[1] == "%.2f" % mean, (said[0], mean)
    assert said[3] == ("met" if mean <= float(said[2]) else "NOT met"), (said[0], mean)


with tempfile.TemporaryDirectory() as folder:
    print("1..1")
    try:
        {"eyerman2006": eyerman2006, "fields2004": fields2004, "puzak2007": puzak2007}.get(PAPER, profilers)(folder)
        print("ok 1 - %s" % PAPER)
    except (AssertionError, KeyError) as problem:
        print("not ok 1 - %s\n# %r" % (PAPER, problem))
        sys.exit(1)
