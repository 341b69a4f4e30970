#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of the fuzzers here: seeds.py [FOLDER]."""
import pathlib
import struct
import sys

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "seeds")


def put(name, data):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def elf(is64, build_id):
    """An ELF file with a segment, a note, two functions and their names."""
    note = struct.pack("<III", 4, len(build_id), 3) + b"GNU\0" + build_id
    names = b"\0first\0second\0"
    code = b"\x90" * 63 + b"\xc3"
    head, ph, sh = (64, 56, 64) if is64 else (52, 32, 40)
    note_at = head + 2 * ph
    code_at = note_at + len(note)
    names_at = code_at + len(code)
    symbols_at = names_at + len(names)

    def symbol(name, value, size, info):
        return (struct.pack("<IBBHQQ", name, info, 0, 1, value, size) if is64 else
                struct.pack("<IIIBBH", name, value, size, info, 0, 1))

    symbols = symbol(0, 0, 0, 0) + symbol(1, 0x10000 + code_at, 32, 2) + symbol(7, 0x10000 + code_at + 32, 32, 2)
    sections_at = symbols_at + len(symbols)
    size = sections_at + 3 * sh

    def segment(kind, flags, offset, address, count):
        return (struct.pack("<IIQQQQQQ", kind, flags, offset, address, address, count, count, 16) if is64 else
                struct.pack("<IIIIIIII", kind, offset, address, address, count, count, flags, 16))

    def section(kind, offset, count, link, entry):
        return struct.pack("<IIQQQQIIQQ" if is64 else "<IIIIIIIIII", 0, kind, 0, 0, offset, count, link, 0, 1, entry)

    ident = b"\x7fELF" + bytes([2 if is64 else 1, 1, 1]) + bytes(9)
    header = ident + struct.pack("<HHIQQQIHHHHHH" if is64 else "<HHIIIIIHHHHHH", 2, 62 if is64 else 3, 1, 0x10000,
                                 head, sections_at, 0, head, ph, 2, sh, 3, 0)
    return (header + segment(1, 5, 0, 0x10000, size) + segment(4, 4, note_at, 0x10000 + note_at, len(note)) + note +
            code + names + symbols + section(0, 0, 0, 0, 0) + section(3, names_at, len(names), 0, 0) +
            section(2, symbols_at, len(symbols), 1, 24 if is64 else 16))


put("notes/elf64", elf(True, bytes(range(20))))
put("notes/elf32", elf(False, bytes(range(16))))
put("perfmap/node", b"7f0010 40 JS:~first /a.js:1:1\n7f0050 1c0 LazyCompile:*second\n0x7f0210 0x10 stub\n")
put("perfmap/odd", b"\n10 0 x\nffffffffffffffff 2 over\n12345678901234567 1 long\n10 10 \n10 10 no end")


def load(address, name, code):
    body = struct.pack("<IIQQQQ", 7, 7, address, address, len(code), 1) + name + b"\0" + code
    return struct.pack("<IIQ", 0, 16 + len(body), 5) + body


move = struct.pack("<IIQIIQQQQQ", 1, 64, 6, 7, 7, 0x2000, 0x1000, 0x2000, 4, 1)
put("jitdump/dump", struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 7, 0, 0) + load(0x1000, b"function", b"\x90\x90\x90\xc3")
    + struct.pack("<IIQ", 2, 24, 6) + bytes(8) + move + struct.pack("<IIQ", 3, 16, 7))


def record(kind, misc, body, time):
    body += struct.pack("<Q", time)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def text(name):
    return name + bytes(8 - len(name) % 8)


def mmap(pid, address, name, build_id):
    which = bytes([len(build_id), 0, 0, 0]) + build_id if build_id else struct.pack("<IIQQ", 8, 1, 77, 3)
    return record(10, 0x4002 if build_id else 2,
                  struct.pack("<IIQQQ", pid, pid, address, 0x4000, 0x1000) + which + struct.pack("<II", 5, 2) +
                  text(name), 40)


put("sideband/life",
    mmap(1, 0x10000, b"/bin/sh", bytes(range(20))) + record(7, 0, struct.pack("<IIIIQ", 9, 1, 9, 1, 50), 50) +
    record(3, 0x2000, struct.pack("<II", 9, 9) + text(b"ls"), 60) + mmap(9, 0x10000, b"/bin/ls", b"") +
    mmap(9, 0x12000, b"//anon", b"") + mmap(9, 0x7f0000000000, b"[vdso]", b"") +
    record(17, 0, struct.pack("<QIHH", 0xffffffffc0000000, 64, 1, 0) + text(b"bpf_prog_1_x"), 70) +
    record(17, 0, struct.pack("<QIHH", 0xffffffffc0000000, 64, 1, 1) + text(b"bpf_prog_1_x"), 80) +
    record(20, 0, struct.pack("<QHH", 0xffffffff81000000, 1, 1) + b"\x90\xcc" + bytes(2), 85) +
    record(2, 0, struct.pack("<QQ", 1, 5), 87) + record(4, 0, struct.pack("<IIIIQ", 9, 1, 9, 1, 90), 90))
put("sideband/kernel",
    record(1, 1, struct.pack("<IIQQQ", 0xffffffff, 0, 0xffffffff81000000, 0x1000000, 0xffffffff81000000) +
           text(b"[kernel.kallsyms]_text"), 0) + mmap(0, 2**64 - 4096, b"/end", b""))
