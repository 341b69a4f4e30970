# SPDX-License-Identifier: MIT
"""papers/tip2021/run and papers/tea2023/run on two small workloads: they run, keep what they ran, and say that the
time-proportional profilers are the best ones.

    papers.py ROOT BUILD tip2021|tea2023
"""
import json
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
                           "--only", "matmul,quicksort", "--json", str(out), *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(out.read_text())


def check(scratch):
    first, figures = run(scratch)
    again, _ = run(scratch, "--cached")
    assert first == again, "a kept run says something else"
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
        check(folder)
        print("ok 1 - %s" % PAPER)
    except (AssertionError, KeyError) as problem:
        print("not ok 1 - %s\n# %r" % (PAPER, problem))
        sys.exit(1)
