#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests on small programs that bench/guest runs and writes the keys that other programs read.

    bench.py BUILD
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = ["matmul", "quicksort"]
ROW = {"name", "classes", "instructions", "seconds", "qemu_seconds", "mips", "qemu_mips", "ratio"}


def main():
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "guest.json"
        done = subprocess.run([ROOT / "bench" / "guest", sys.argv[1], "--size", "test", "--rounds", "1",
                               "-o", path, *PROGRAMS], capture_output=True, text=True)
        sys.stdout.write(done.stdout + done.stderr)
        assert done.returncode == 0, done.returncode
        result = json.loads(path.read_text())
    assert [row["name"] for row in result["programs"]] == PROGRAMS
    for row in result["programs"]:
        assert ROW <= row.keys(), ROW - row.keys()
        assert 6e6 < row["instructions"] < 16e6
        assert abs(row["mips"] * row["seconds"] * 1e6 / row["instructions"] - 1) < 1e-9
        assert abs(row["ratio"] * row["qemu_mips"] / row["mips"] - 1) < 1e-9
    ratios = [row["ratio"] for row in result["programs"]]
    assert min(ratios) <= result["geometric_mean"]["ratio"] <= max(ratios)
    assert result["target_mips"] >= 300
    assert 0 < result["startup_ms"]["culprit"] and 0 < result["memory_mib"]


if __name__ == "__main__":
    main()
