#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that a program's output and exit status are those under qemu-riscv64, however it ends. Prints TAP.

    endings.py CULPRIT ENDINGS
"""
import resource
import shutil
import subprocess
import sys

# Linux's exit statuses: they show an error that qemu and culprit share.
ENDINGS = {"return": 7, "exit": 300 & 255, "_exit": 9, "abort": 128 + 6, "null": 128 + 11, "readonly": 128 + 11,
           "nowhere": 128 + 11, "illegal": 128 + 4, "ebreak": 128 + 5, "kill": 128 + 9, "term": 128 + 15,
           "pipe": 128 + 13, "handled": 51, "ignored": 5}


def run(machine, program, how):
    done = subprocess.run([*machine, program, how], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode, done.stdout


def main():
    culprit, program = sys.argv[1:]
    if not shutil.which("qemu-riscv64"):
        print("1..0 # SKIP no qemu-riscv64")
        return 0
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print("1..%d" % len(ENDINGS))
    failed = 0
    for number, (how, status) in enumerate(ENDINGS.items(), 1):
        theirs = run(["qemu-riscv64"], program, how)
        ours = run([culprit, "sim", "--functional", "--"], program, how)
        good = ours == theirs and ours[0] == status
        failed += not good
        print("%s %d - %s ends with %d" % ("ok" if good else "not ok", number, how, status))
        if not good:
            print("# culprit %r\n# qemu %r" % (ours, theirs))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
