#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files that are not programs, each with one thing broken: each must be refused in one line, with status 2.

    broken_elfs.py CULPRIT

Prints TAP. The files are made from a good program, which is run first, to show that a refusal is caused by what
was broken.
"""
import os
import struct
import subprocess
import sys
import tempfile

EHDR = struct.Struct('<16sHHIQQQIHHHHHH')
PHDR = struct.Struct('<IIQQQQQQ')
PT_LOAD, PT_INTERP = 1, 3
ET_REL, ET_EXEC, ET_DYN, ET_CORE = 1, 2, 3, 4
HUGE = 2**64 - 1


def segment(kind=PT_LOAD, flags=5, offset=0, vaddr=0x10000, filesz=0x200, memsz=0x200, align=4096):
    return dict(kind=kind, flags=flags, offset=offset, vaddr=vaddr, filesz=filesz, memsz=memsz, align=align)


def elf(segments=None, ident=b'\x7fELF\x02\x01\x01', size=0x200, extra=b'', **header):
    """A program that exits with 7; header fields and segments can be anything."""
    if segments is None:
        segments = [segment()]
    code = struct.pack('<III', 0x00700513, 0x05d00893, 0x00000073)  # li a0,7; li a7,93; ecall
    h = dict(type=ET_EXEC, machine=243, version=1, entry=0x10000 + 0x1f0, phoff=64, shoff=0, flags=5,
             ehsize=64, phentsize=56, phnum=len(segments), shentsize=0, shnum=0, shstrndx=0)
    h.update(header)
    image = EHDR.pack(ident, *h.values())
    for s in segments:
        image += PHDR.pack(s['kind'], s['flags'], s['offset'], s['vaddr'], s['vaddr'], s['filesz'], s['memsz'],
                           s['align'])
    image += extra
    assert len(image) <= 0x1f0
    return (image.ljust(0x1f0, b'\0') + code).ljust(size, b'\0')


def interp(name, **fields):
    """A program with an interpreter of that name."""
    at = 64 + 2 * 56
    s = segment(PT_INTERP, 4, at, 0x10000 + at, len(name), len(name), 1)
    s.update(fields)
    return elf([s, segment()], extra=name)


GOOD = elf()

FILES = {
    'an empty file': b'',
    'one byte': b'\x7f',
    'a magic number alone': b'\x7fELF',
    'half a header': GOOD[:40],
    'a header and nothing else': GOOD[:64],
    'half a program header': GOOD[:90],
    'truncated code': GOOD[:0x1f4],
    'text': b'hello\n' * 100,
    'zeros': bytes(4096),
    'a 32-bit program': elf(ident=b'\x7fELF\x01\x01\x01'),
    'a big-endian program': elf(ident=b'\x7fELF\x02\x02\x01'),
    'another machine': elf(machine=62),
    'an object file': elf(type=ET_REL),
    'a core file': elf(type=ET_CORE),
    'an unknown type': elf(type=0xffff),
    'no program headers': elf(phnum=0),
    '65535 program headers': elf(phnum=0xffff),
    'more program headers than the file has': elf(phnum=100),
    'program headers of no size': elf(phentsize=0),
    'program headers of a wrong size': elf(phentsize=32),
    'program headers beyond the end': elf(phoff=0x10000),
    'program headers at the last address': elf(phoff=HUGE),
    'program headers that wrap around': elf(phoff=HUGE - 55),
    'nothing to load': elf([segment(kind=0)]),
    'a segment of no size': elf([segment(filesz=0, memsz=0)]),
    'a segment beyond the end of the file': elf([segment(filesz=0x2000, memsz=0x2000)]),
    'a segment that starts beyond the end': elf([segment(offset=0x100000)]),
    'a segment at the last offset': elf([segment(offset=HUGE - 0xfff, filesz=0x1000, memsz=0x1000)]),
    'more in the file than in memory': elf([segment(memsz=0x100)]),
    'offset and address that disagree': elf([segment(vaddr=0x10010)]),
    'a segment at address zero': elf([segment(vaddr=0)], entry=0x1f0),
    'a segment of 2^63 bytes': elf([segment(flags=6, memsz=2**63)]),
    'a segment of 2^64 - 1 bytes': elf([segment(flags=6, memsz=HUGE)]),
    'a segment that wraps around': elf([segment(vaddr=2**64 - 4096)]),
    'a segment above the address space': elf([segment(vaddr=2**38)]),
    'a segment that leaves the address space': elf([segment(vaddr=2**38 - 4096, flags=6, memsz=0x3000)]),
    'a segment where the stack is': elf([segment(vaddr=0x3fffff0000)]),
    'a segment that fills the address space': elf([segment(flags=6, memsz=2**38 - 0x20000)]),
    'a PIE larger than its part of memory': elf([segment(vaddr=0, flags=6, memsz=2**37)], type=ET_DYN),
    'overlapping segments': elf([segment(memsz=0x4000, flags=6), segment(vaddr=0x12000)]),
    'segments in the wrong order': elf([segment(vaddr=0x20000), segment()]),
    'bss in a read-only segment': elf([segment(memsz=0x300)]),
    'no such interpreter': interp(b'/no/such/interpreter\0'),
    'an interpreter without a name': interp(b'\0', filesz=0),
    'an interpreter of one byte': interp(b'\0'),
    'an interpreter whose name does not end': interp(b'/bin/sh'),
    'an interpreter name beyond the end of the file': interp(b'/bin/sh\0', offset=0x10000),
    'an interpreter name of 2^63 bytes': interp(b'/bin/sh\0', filesz=2**63),
    'an interpreter that is a folder': interp(b'/\0'),
    'an interpreter that is no ELF file': interp(b'./text\0'),
    'an interpreter for another machine': interp(b'./other\0'),
    'a program that is its own interpreter': interp(b'./program\0'),
    'two programs that interpret each other': interp(b'./back\0'),
    'a program so large that its interpreter does not fit': elf(
        [segment(PT_INTERP, 4, 64 + 2 * 56, 64 + 2 * 56, 10, 10, 1), segment(vaddr=0, flags=6, memsz=2**36 - 4096)],
        type=ET_DYN, extra=b'./program\0'),
    'a script that interprets itself': b'#!./program\n',
    'two scripts that interpret each other': b'#!./script\n',
    'a script without an interpreter': b'#!\n',
    'a script with no such interpreter': b'#!/no/such/interpreter -x\n',
    'a script whose line does not end': b'#!' + b'x' * 5000,
    'a name with a line feed': interp(b'/no/such\ninterpreter\0'),
}


def run(culprit, name, folder):
    return subprocess.run([culprit, 'sim', '--functional', '--', name], cwd=folder, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=60)


def main():
    culprit = os.path.abspath(sys.argv[1])
    number = failed = 0

    def result(ok, name, got):
        nonlocal number, failed
        number += 1
        failed += not ok
        print(f'{"ok" if ok else "not ok"} {number} - {name}')
        if not ok:
            print(f'# status {got.returncode}, stdout {got.stdout[:80]!r}, stderr {got.stderr[:400]!r}')

    def refused(name, program):
        got = run(culprit, program, folder)
        lines = got.stderr.decode(errors='replace').splitlines()
        result(got.returncode == 2 and not got.stdout and len(lines) == 1 and lines[0].startswith('culprit: sim: '),
               name, got)

    with tempfile.TemporaryDirectory() as folder:
        def put(name, data):
            path = os.path.join(folder, name)
            with open(path, 'wb') as f:
                f.write(data)
            os.chmod(path, 0o755)

        put('text', b'hello\n')
        put('other', elf(machine=62))
        put('back', interp(b'./program\0'))
        put('script', b'#!./program\n')
        put('good', GOOD)
        got = run(culprit, './good', folder)
        result(got.returncode == 7, 'the good program runs', got)
        for name, data in FILES.items():
            put('program', data)
            refused(name, './program')
        os.symlink('circle', os.path.join(folder, 'circle'))
        os.mkfifo(os.path.join(folder, 'fifo'))
        refused('a symbolic link to itself', './circle')
        refused('a folder', './.')
        refused('a fifo', './fifo')
        refused('no such file', './nothing')
        refused('a name of 5000 bytes', './' + 'x' * 5000)
        refused('a device', '/dev/zero')
        refused('a name with a line feed', './no\nthing')
        # Truncate a good program at many lengths: only the whole one runs.
        for size in range(0, 0x1fc, 7):
            put('program', GOOD[:size])
            got = run(culprit, './program', folder)
            if got.returncode != 2 or got.stderr.count(b'\n') != 1:
                result(False, f'cut to {size} bytes', got)
                break
        else:
            result(True, 'every truncation', got)
    print(f'1..{number}')
    return failed > 0


sys.exit(main())
