#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks in the machine code of the guest programs that each has the character it is in the suite for.

    shape.py WORKLOADS OBJDUMP
"""
import pathlib
import re
import subprocess
import sys

INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\s+([0-9a-f]{4,8})\s+(\S+)\s*(.*)$", re.M)
SYMBOL = re.compile(r"^[0-9a-f]+ .{7} \.text\s+([0-9a-f]+) (\S+)$", re.M)


class Binary:
    """A binary's functions: each a list of (address, encoding, mnemonic, operands)."""

    def __init__(self, objdump, path):
        self.objdump, self.path = objdump, path

    def run(self, *options):
        return subprocess.run([self.objdump, *options, self.path], check=True, capture_output=True, text=True).stdout

    def __getitem__(self, name):
        code = [(int(address, 16), int(word, 16), mnemonic, operands)
                for address, word, mnemonic, operands in INSTRUCTION.findall(self.run("-d", "--disassemble=" + name))]
        assert code, "no function %s in %s" % (name, self.path)
        return code

    def sizes(self):
        """Bytes of each function."""
        return {name: int(size, 16) for size, name in SYMBOL.findall(self.run("-t"))}


def mnemonics(code):
    return [mnemonic for _, _, mnemonic, _ in code]


def calls(code, name):
    return sum(bool(re.search("<(__)?%s>" % name, operands)) for _, _, _, operands in code)


def prefetches(code):
    return sum(word & 0x01f07fff == 0x00106013 for _, word, _, _ in code)


def check_flags_of_libm(dump):
    code = dump("image_filter")
    for name in ("__floor", "__ceil"):
        used = mnemonics(code[name])
        assert "frflags" in used and "fsflags" in used, "%s does not touch fflags: %s" % (name, used)
    assert calls(code["filter_libm"], "floor") == 3 and calls(code["filter_libm"], "ceil") == 1
    for name in ("filter_libm", "filter_free", "floor_free", "ceil_free"):
        used = set(mnemonics(code[name]))
        assert not used & {"frflags", "fsflags", "csrr", "csrw", "fscsr", "frcsr"}, name
    assert calls(code["filter_free"], "floor_free") == 3 and calls(code["filter_free"], "ceil_free") == 1
    assert len(code["filter_free"]) == len(code["filter_libm"]), "the two filters differ in more than the callee"


def check_flags_before_square_root(dump):
    plain, finite, fast = (mnemonics(dump(n)["forces"]) for n in ("nbody", "nbody_finite", "nbody_fast"))
    at = plain.index("fsqrt.d")
    assert "fsflags" in plain[at - 8 : at], "nbody: no fsflags before fsqrt.d"
    assert "fsqrt.d" in finite and "fsflags" not in finite and "frflags" not in finite
    assert set(finite[: finite.index("fsqrt.d")]) & {"flt.d", "fle.d", "fge.d"}
    assert "fsqrt.d" in fast and "fsflags" not in fast and fast.count("fdiv.d") < plain.count("fdiv.d")


def check_prefetch_hints(dump):
    code = dump("lbm")
    assert prefetches(code["step_ahead"]) == 3 and prefetches(code["step_plain"]) == 0


def check_size_of_call_web(dump):
    web = [size for name, size in dump("call_web").sizes().items() if name.startswith("web_")]
    assert len(web) == 1024 and sum(web) > 64 * 1024, (len(web), sum(web))


def check_marks(dump):
    for name in ("matmul", "syscalls", "threads", "lbm"):
        words = [word for _, word, _, _ in dump(name)["main"]]
        assert 0x10102013 in words and 0x10202013 in words, name + " has no marks"


CHECKS = {
    "libm's floor and ceil save and restore fflags in the hot loop": check_flags_of_libm,
    "plain nbody saves fflags before its square root and the relaxed ones do not": check_flags_before_square_root,
    "lbm has its prefetch hints only where a distance is given": check_prefetch_hints,
    "the call web is 1024 functions of more than 64 KiB": check_size_of_call_web,
    "the region of interest is marked": check_marks,
}


def main():
    folder, objdump = pathlib.Path(sys.argv[1]), sys.argv[2]
    print("1..%d" % len(CHECKS))
    failed = 0
    for number, (title, check) in enumerate(CHECKS.items(), 1):
        try:
            check(lambda name: Binary(objdump, folder / name))
            print("ok %d - %s" % (number, title))
        except (AssertionError, KeyError, ValueError) as problem:
            failed += 1
            print("not ok %d - %s\n# %r" % (number, title, problem))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
