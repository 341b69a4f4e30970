#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole programs on the functional machine and on qemu-riscv64: same output, same exit status; and on the
functional machine twice: same output, same count of instructions. Reports in TAP.

    compare.py BUILD CULPRIT GROUP SIZE [LEVEL] [--OPTION…]

GROUP    suite (workloads/suite.txt), small or all (workloads/debian.txt)
SIZE     quick, test or ref
LEVEL    O0 or O3: the suite's builds at that level instead of -O2
OPTION   a further option of culprit sim, such as --interpreter
"""
import json
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "workloads"))
import workload  # noqa: E402

# What "about 10 million instructions", the test size, means for the suite.
TEST_INSTRUCTIONS = (6e6, 16e6)


def describe(status, output, errors):
    lines = ["status %d, %d bytes of output" % (status, len(output))]
    lines += ["| " + line for line in output[:400].decode(errors="replace").splitlines()[:5]]
    lines += ["2 " + line for line in errors.splitlines()[-5:]]
    return lines


def first_difference(a, b):
    for at, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return at
    return min(len(a), len(b))


class Comparison:
    def __init__(self, runner, scratch, options):
        self.runner = runner
        self.options = options
        self.scratch = pathlib.Path(scratch)

    def culprit(self, program, size, level):
        """(status, output, errors) and the count of instructions, None where there is none."""
        summary = self.scratch / "summary.json"
        summary.unlink(missing_ok=True)
        result = self.runner.run(program, size, "culprit", level, timeout=600,
                                 options=("--summary-json", str(summary), *self.options))
        try:
            count = json.loads(summary.read_text())["instructions"]
        except (OSError, ValueError, KeyError):
            count = None
        return result, count

    def problems(self, program, size, level):
        """Returns what is wrong with a program, as a list of lines."""
        theirs = self.runner.run(program, size, "qemu", level, timeout=600)
        ours, count = self.culprit(program, size, level)
        if theirs[:2] != ours[:2]:
            at = first_difference(ours[1], theirs[1])
            return (["differs from qemu, output from byte %d on" % at] + ["culprit:"] + describe(*ours) +
                    ["qemu:"] + describe(*theirs))
        if theirs[0]:
            return ["fails under both"] + describe(*theirs)
        if not theirs[1]:
            return ["prints nothing"]
        again, count_again = self.culprit(program, size, level)
        # Processes run side by side on the host, so the sizes of single reads from a pipe do not repeat.
        alike = count == count_again or "processes" in program.classes
        if again[:2] != ours[:2] or count is None or not alike:
            return ["a second run differs: %s and %s instructions" % (count, count_again)]
        low, high = TEST_INSTRUCTIONS
        if program.source == "suite" and size == "test" and not level and not low < count < high:
            return ["%d instructions are not about 10 million: correct suite.txt" % count]
        return []


def main():
    build, culprit, group, size, *level = [word for word in sys.argv[1:] if not word.startswith("--")]
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    level = "." + level[0] if level else ""
    if not shutil.which("qemu-riscv64"):
        print("1..0 # SKIP no qemu-riscv64")
        return 0
    runner = workload.Runner(build, culprit)
    programs = [p for p in workload.load().values() if p.source == group]
    try:
        for p in programs[:1]:
            runner.binary(p, level)
    except workload.Missing as missing:
        print("1..0 # SKIP %s" % missing)
        return 0
    print("1..%d" % len(programs))
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        comparison = Comparison(runner, scratch, options)
        for number, program in enumerate(programs, 1):
            problems = comparison.problems(program, size, level)
            failed += bool(problems)
            print("%s %d - %s%s %s" % ("not ok" if problems else "ok", number, program.name, level, size))
            for line in problems:
                print("# " + line)
            sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
