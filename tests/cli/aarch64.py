#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""culprit for an ARM host: built by scripts/aarch64-build, run under qemu-aarch64 with the interpreter. Workloads take the
cycles that they take here, to the digit, and the quick unit tests pass. Skipped with status 77 where the packages or the
tools cannot be had. TREE: the source; FOLDER: where packages and build are kept; CULPRIT, WORKLOADS: this host's."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TREE, FOLDER = os.environ["TREE"], os.environ["FOLDER"]
CULPRIT, WORKLOADS = os.environ["CULPRIT"], os.environ["WORKLOADS"]
PROGRAMS = [["quicksort", "2000"], ["nbody", "20"], ["hash_join", "500"]]
# They reserve the guest's whole address space for each case: qemu enters every page of it into a table, 28 s each time.
TOO_LARGE = {"engine_fault", "engine_code", "engine_code_pages", "guest_mem", "guest_reserve", "guest_elf",
             "guest_syscalls", "guest_past", "guest_paths", "guest_view"}
LIMIT_S = 600


def skip(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(77)


def build():
    """Returns the build folder, with culprit and the unit tests in it."""
    if not shutil.which("qemu-aarch64"):
        skip("no qemu-aarch64")
    made = subprocess.run([os.path.join(TREE, "scripts", "aarch64-build"), FOLDER,
                           "-Dguests_from=" + os.path.dirname(WORKLOADS), "-Dlive=disabled", "-Dhtml=disabled"],
                          capture_output=True, text=True)
    if made.returncode == 77:
        skip(made.stderr.strip())
    if made.returncode:
        sys.exit(made.stderr)
    folder = made.stdout.strip()
    return folder


def unit_tests(folder):
    """The quick unit tests, and the targets that they need."""
    def introspect(what):
        return json.loads(subprocess.run(["meson", "introspect", folder, what], check=True, capture_output=True).stdout)

    files = {t["id"]: t["filename"] for t in introspect("--targets")}
    tests = [t for t in introspect("--tests")
             if "culprit:unit" in t["suite"] and not {"culprit:slow", "culprit:root"} & set(t["suite"])]
    needed = {os.path.relpath(f, folder) for t in tests for d in t["depends"] for f in files.get(d, [])}
    return tests, sorted(needed)


def cycles(program, *command):
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run([*command, "sim", "-o", os.path.join(folder, "x.culprit"), "--",
                              os.path.join(WORKLOADS, program[0]), *program[1:]],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S)
    found = re.search(r"([\d,]+) instructions, ([\d,]+) cycles", ran.stderr)
    assert found, ran.stderr
    return found.groups()


def run(test):
    """The output of a unit test that fails; None if it passes."""
    command = test["cmd"]
    if command[0].startswith(FOLDER):
        command = ["qemu-aarch64", *command]
    try:
        ran = subprocess.run(command, env={**os.environ, **test["env"]}, capture_output=True, timeout=LIMIT_S,
                             cwd=test.get("workdir") or os.path.join(FOLDER, "build"))
    except subprocess.TimeoutExpired:
        return f"longer than {LIMIT_S} s"
    return None if ran.returncode in (0, 77) else (ran.stdout + ran.stderr).decode(errors="replace")[-2000:]


def main():
    folder = build()
    tests, needed = unit_tests(folder)
    made = subprocess.run(["ninja", "-C", folder, "src/culprit", *needed], capture_output=True, text=True)
    if made.returncode:
        sys.exit(made.stdout[-4000:])
    bad = False
    count = 0
    for program in PROGRAMS:
        here, there = cycles(program, CULPRIT), cycles(program, "qemu-aarch64", os.path.join(folder, "src", "culprit"))
        count += 1
        bad |= here != there
        print(f"{'ok' if here == there else 'not ok'} {count} - 4770_{program[0]}_takes_the_same_cycles_on_an_arm_host")
        if here != there:
            print(f"# {here} here, {there} there")
    for test in tests:
        if test["name"] in TOO_LARGE:
            continue
        said = run(test)
        count += 1
        bad |= said is not None
        print(f"{'not ok' if said else 'ok'} {count} - 4771_unit_test_{test['name']}_passes_on_an_arm_host", flush=True)
        if said:
            print("# " + said.replace("\n", "\n# "))
    print(f"1..{count}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
