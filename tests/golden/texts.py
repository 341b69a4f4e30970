#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the exact text for each program, machine and analysis, without filters.

    texts.py CULPRIT PROGRAMS [--record]     PROGRAMS: the folder with the programs of this folder, assembled

The programs are assembly, so that no compiler decides what the texts say. They are run by a name that is the same
everywhere: it stands on the guest's stack. --record writes expected/ anew (`ninja -C BUILD golden-record`): the
diff of a commit then shows how the output for users changes. Prints TAP, one test per text.
"""
import difflib
import pathlib
import shutil
import subprocess
import sys
import tempfile

EXPECTED = pathlib.Path(__file__).resolve().parent / "expected"
PROGRAMS = ("chain", "walk")
MACHINES = ("boom-tip", "fields2004")
VIEWS = {
    "report": ("report",),
    "annotate": ("annotate",),
    "accuracy": ("accuracy",),
    "stack": ("stack", "--no-reference"),
    "icost": ("icost",),
}


def culprit(program, folder, *words):
    done = subprocess.run([program, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, "%s: status %d\n%s" % (" ".join(words), done.returncode, done.stderr)
    return done.stdout


def texts(program, programs, folder):
    """Yields (name, text) of each combination."""
    for guest in PROGRAMS:
        shutil.copy(pathlib.Path(programs) / (guest + ".rv"), folder)
        for machine in MACHINES:
            culprit(program, folder, "sim", "--machine", machine, "--analyze", "profile,cpistack,icost", "-o", "run.culprit",
                    "--", "./%s.rv" % guest)
            for view, words in VIEWS.items():
                yield "%s-%s-%s" % (guest, machine, view), culprit(program, folder, *words, "run.culprit")


def main():
    record = "--record" in sys.argv
    failed = number = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts(sys.argv[1], sys.argv[2], folder):
            number += 1
            path = EXPECTED / (name + ".txt")
            if record:
                path.write_text(text)
            before = path.read_text() if path.exists() else ""
            same = text == before
            failed += not same
            print("%sok %d - %s" % ("" if same else "not ", number, name))
            for line in difflib.unified_diff(before.splitlines(), text.splitlines(), "expected", "got", lineterm=""):
                print("# " + line)
    print("1..%d" % number)
    return failed != 0


sys.exit(main())
