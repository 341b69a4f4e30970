#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hostile files through every command that reads them.

    hostile_files.py CULPRIT PROGRAM KIND COUNT [SEED]

KIND is elf (symbols, sections and debug information of a program, changed; its code and data stay), store
(rows of a profile changed, and its bytes), trace (bytes of a trace changed, checksums corrected) or tip (samples
of TIP's hardware changed).
Whatever a file holds, no command may die of a signal, take longer than SECONDS, or print a control character.
Prints TAP: one test per kind, with the number of files.
"""
import json
import os
import random
import re
import sqlite3
import struct
import subprocess
import sys
import tempfile

SECONDS = 20  # ten are enough on an idle machine
MASK = 2**64 - 1
READERS = (['report'], ['report', '--json'], ['report', '--csv'], ['annotate'], ['annotate', '--json'], ['annotate', '--icost'],
           ['accuracy'], ['accuracy', '--events'], ['accuracy', '--sweep'], ['stack', '--no-reference'],
           ['stack', '--no-reference', '--phases'], ['icost'], ['icost', '--phases'], ['stats'], ['diff'])
EXPORTS = (['pprof'], ['callgrind'], ['folded', '--event-leaf'], ['speedscope', '--exact'], ['perf-script'], ['firefox'],
           ['pprof', '--calls'], ['folded', '--calls'], ['firefox', '--exact', '--profiler', 'tip'])
HIDDEN = re.compile('[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]')
INTEGERS = (0, 1, -1, 2, 7, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, -2**63, 63, 64, 255, 256)
VALUES = INTEGERS + (None, '', 'x', 'a\nb\x1b[2Jc', '\u202egnp', b'\xff\x00', b'', 0.5, -1.5, 1e300, -1e300,
                     float('inf'), 'x' * 70000, '9' * 400)


class Broken(Exception):
    pass


def run(command, allow=(0, 1, 2), tabs=False):
    """Runs a command and checks how it ended and what it printed."""
    try:
        p = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Broken('takes longer than %d s: %s' % (SECONDS, command))
    text = p.stderr.decode('utf-8', 'replace')
    if p.returncode not in allow or 'Sanitizer' in text or 'runtime error' in text:
        raise Broken('status %d: %s\n%s' % (p.returncode, command, text[:3000]))
    for name, out in (('out', p.stdout), ('err', p.stderr)):
        try:
            shown = out.decode('utf-8')
        except UnicodeDecodeError:
            raise Broken('std%s is no UTF-8: %s' % (name, command))
        bad = HIDDEN.search(shown.replace('\t', ' ') if tabs else shown)
        if bad:
            raise Broken('std%s has %r: %s' % (name, shown[max(0, bad.start() - 30):bad.end() + 30], command))
    if p.returncode == 2 and len(p.stderr.splitlines()) != 1 and '--salvage' not in command:
        raise Broken('not one line: %s\n%s' % (command, text))
    return p.returncode


def read_everything(culprit, store):
    for words in READERS:
        run([culprit, *words, store] + ([store] if words == ['diff'] else []))


def export_everything(culprit, store, folder, formats):
    """Exports of a store: whatever it holds, a file that is written is one of its format."""
    path = os.path.join(folder, 'exported')
    for words in formats:
        if os.path.exists(path):
            os.remove(path)
        if run([culprit, 'export', store, '-o', path, '-f', *words]) != 0 or words[0] == 'pprof':
            continue
        with open(path, 'rb') as f:
            data = f.read()
        try:
            text = data.decode()
            if words[0] in ('speedscope', 'firefox'):
                json.loads(text, parse_constant=lambda name: float(name + ' is no JSON'))
        except ValueError as e:
            raise Broken('export -f %s: %s' % (' '.join(words), e))
        bad = HIDDEN.search(text.replace('\t', ' '))
        if bad:
            raise Broken('export -f %s has %r' % (' '.join(words), text[max(0, bad.start() - 30):bad.end() + 30]))


# --- programs ---------------------------------------------------------------------------------------------

def sections(elf):
    shoff, = struct.unpack_from('<Q', elf, 40)
    shnum, names = struct.unpack_from('<HH', elf, 60)
    table = [struct.unpack_from('<IIQQQQIIQQ', elf, shoff + 64 * i) for i in range(shnum)]
    start = table[names][4]
    return {elf[start + s[0]:elf.index(b'\0', start + s[0])].decode(): (i, s) for i, s in enumerate(table)}


def change_elf(rng, elf):
    """Changes only what the guest never loads, so that the program runs as before."""
    elf = bytearray(elf)
    shoff, = struct.unpack_from('<Q', elf, 40)
    shnum, = struct.unpack_from('<H', elf, 60)
    table = sections(elf)
    unloaded = [s for name, (i, s) in table.items() if not s[2] & 2 and s[5] and s[1] != 8]
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        what = rng.randrange(6)
        if what == 0:  # the section table as a whole
            where = rng.choice((40, 58, 60, 62))
            size = 8 if where == 40 else 2
            value = rng.choice((0, 1, len(elf) - 1, len(elf), 0xffff, 2**64 - 1, rng.randrange(2**16)))
            elf[where:where + size] = (value & (2**(8 * size) - 1)).to_bytes(size, 'little')
        elif what == 1:  # a field of a section's head
            where = shoff + 64 * rng.randrange(shnum) + rng.choice((0, 4, 8, 16, 24, 32, 40, 44, 48, 56))
            value = rng.choice(INTEGERS + (len(elf), shoff, rng.randrange(2**64))) & MASK
            elf[where:where + 8] = value.to_bytes(8, 'little')
        elif what == 2 and '.symtab' in table:  # a symbol
            s = table['.symtab'][1]
            where = s[4] + 24 * rng.randrange(s[5] // 24) + rng.choice((0, 4, 5, 6, 8, 16))
            value = rng.choice(INTEGERS + (rng.randrange(2**64),)) & MASK
            size = 8 if where % 8 == s[4] % 8 else 1
            elf[where:where + size] = (value & (2**(8 * size) - 1)).to_bytes(size, 'little')
        else:  # bytes of a section: debug information above all
            s = rng.choice(unloaded)
            where = s[4] + rng.randrange(s[5])
            for k in range(rng.choice((1, 1, 4, 16))):
                if where + k < len(elf):
                    elf[where + k] = rng.choice((0, 1, 0x7f, 0x80, 0xff, rng.randrange(256)))
    if rng.random() < 0.1:
        del elf[rng.randrange(min(s[4] for s in unloaded), len(elf)):]
    return bytes(elf)


def fuzz_elf(culprit, program, count, rng, folder):
    whole = open(program, 'rb').read()
    base = os.path.join(folder, 'base.culprit')
    run([culprit, 'sim', '--max-insts', '20k', '-o', base, '--', program, 'work'])
    most = 40 * os.path.getsize(base) + (1 << 23)
    for i in range(count):
        path, store = os.path.join(folder, 'program'), os.path.join(folder, 'x.culprit')
        with open(path, 'wb') as f:
            f.write(change_elf(rng, whole))
        os.chmod(path, 0o755)
        status = run([culprit, 'sim', '--max-insts', '20k', '--analyze', 'profile,folded', '--param',
                      'folded=' + os.path.join(folder, 'x.folded'), '-o', store, '--', path, 'work'])
        if status == 0:
            if os.path.getsize(store) > most:
                raise Broken('a store of %d bytes' % os.path.getsize(store))
            run([culprit, 'report', store])
            run([culprit, 'annotate', store])
            os.remove(store)
        if os.path.exists(os.path.join(folder, 'x.folded')):
            os.remove(os.path.join(folder, 'x.folded'))


# --- profiles ---------------------------------------------------------------------------------------------

def change_rows(rng, path):
    db = sqlite3.connect(path)
    tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for _ in range(rng.choice((1, 1, 2, 8))):
        table = rng.choice(tables)
        columns = [r[1] for r in db.execute('PRAGMA table_info(%s)' % table)]
        column, value = rng.choice(columns), rng.choice(VALUES)
        where = ' WHERE rowid %% %d = 0' % rng.choice((1, 2, 7)) if rng.random() < 0.5 else ''
        sql = rng.choice(('UPDATE OR REPLACE %s SET "%s" = ?%s' % (table, column, where),) * 4 +
                         ('UPDATE OR IGNORE %s SET "%s" = ?' % (table, column),) * 4 +
                         ('DELETE FROM %s WHERE "%s" IS NOT ?' % (table, column),))
        try:
            db.execute(sql, (value,))
        except sqlite3.Error:
            pass  # no row numbers, or a value that a key cannot have
    schema = rng.random()
    try:
        if schema < 0.03:
            db.execute('CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) '
                       'SELECT i FROM n')
        elif schema < 0.06:
            table = rng.choice(tables)
            db.execute('DROP TABLE %s' % table)
            db.execute('CREATE VIEW %s AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) '
                       'SELECT i AS pc, i AS units, i AS key, i AS value, i AS id, i AS name FROM n' % table)
        elif schema < 0.08:
            db.execute('CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END')
        elif schema < 0.10:
            db.execute('DROP TABLE %s' % rng.choice(tables))
        elif schema < 0.12:
            db.execute('ALTER TABLE run ADD COLUMN g GENERATED ALWAYS AS (hex(zeroblob(1000000))) VIRTUAL')
    except sqlite3.Error:
        pass
    db.commit()
    db.close()


def fuzz_store(culprit, program, count, rng, folder):
    base, path = os.path.join(folder, 'base.culprit'), os.path.join(folder, 'x.culprit')
    run([culprit, 'sim', '--max-insts', '20k', '--analyze', 'profile,cpistack,icost,calls', '--param', 'sweep=1',
         '-o', base, '--', program, 'work'])
    read_everything(culprit, base)
    export_everything(culprit, base, folder, EXPORTS)
    whole = open(base, 'rb').read()
    opened = 0
    for i in range(count):
        data = bytearray(whole)
        if i % 4 == 3:
            for _ in range(rng.choice((1, 3, 30))):
                data[rng.randrange(len(data))] = rng.choice((0, 1, 0xff, rng.randrange(256)))
            if rng.random() < 0.2:
                del data[rng.randrange(len(data)):]
        with open(path, 'wb') as f:
            f.write(data)
        if i % 4 != 3:
            change_rows(rng, path)
        if run([culprit, 'report', path]) == 0:
            opened += 1
            read_everything(culprit, path)
            export_everything(culprit, path, folder, EXPORTS[i % 3::3])
        else:
            run([culprit, rng.choice(('annotate', 'accuracy', 'icost', 'stats')), path])
    print('# %d of %d were read in full' % (opened, count))


# --- traces -----------------------------------------------------------------------------------------------

def mix(x):
    x ^= x >> 30
    x = x * 0xbf58476d1ce4e5b9 & MASK
    x ^= x >> 27
    x = x * 0x94d049bb133111eb & MASK
    return x ^ x >> 31


def checksum(start, data):
    h = start ^ len(data) * 0x9e3779b97f4a7c15 & MASK
    whole = len(data) & ~7
    for word, in struct.iter_unpack('<Q', data[:whole]):
        h = (h ^ word) * 0xff51afd7ed558ccd & MASK
        h ^= h >> 32
    return mix(h ^ int.from_bytes(data[whole:], 'little'))


def blocks(trace):
    at = 16
    while at + 64 <= len(trace) and trace[at:at + 4] == b'CBLK':
        size, = struct.unpack_from('<Q', trace, at + 16)
        yield at, size
        at += 64 + size


def change_trace(rng, whole, where):
    trace = bytearray(whole)
    for _ in range(rng.choice((1, 1, 2, 6))):
        at, size = rng.choice(where)
        kind, = struct.unpack_from('<I', trace, at + 4)
        if rng.random() < 0.4:  # counts of the head
            field = at + rng.choice((8, 12, 32, 40, 48, 56))
            length = 4 if field < at + 16 else 8
            value = rng.choice(INTEGERS + (rng.randrange(2**64),)) & (2**(8 * length) - 1)
            trace[field:field + length] = value.to_bytes(length, 'little')
        elif kind == 3:  # the index
            field = at + 64 + 8 * rng.randrange(size // 8)
            trace[field:field + 8] = (rng.choice(INTEGERS + (rng.randrange(2**64),)) & MASK).to_bytes(8, 'little')
        else:
            for k in range(rng.choice((1, 1, 3))):
                trace[at + 64 + rng.randrange(size)] = rng.choice((0, 0x7f, 0x80, 0xff, rng.randrange(256)))
    for at, size in where:
        trace[at + 24:at + 32] = bytes(8)
        sum_ = checksum(checksum(0, bytes(trace[at:at + 64])), bytes(trace[at + 64:at + 64 + size]))
        trace[at + 24:at + 32] = sum_.to_bytes(8, 'little')
    return trace


def fuzz_trace(culprit, program, count, rng, folder):
    base, path = os.path.join(folder, 'base.trace'), os.path.join(folder, 'x.trace')
    store = os.path.join(folder, 'x.culprit')
    run([culprit, 'sim', '--max-insts', '3k', '--analyze', 'none', '--trace', base, '-o', store, '--', program, 'work'])
    whole = open(base, 'rb').read()
    where = list(blocks(whole))
    read = 0
    for i in range(count):
        with open(path, 'wb') as f:
            f.write(change_trace(rng, whole, where))
        salvage = ['--salvage'] if i % 2 else []
        status = run([culprit, 'replay', path, *salvage, '--analyze', 'profile,cpistack', '-o', store])
        read += status == 0
        if status == 0:
            run([culprit, 'report', store])
        run([culprit, 'pipeline', path, *salvage], tabs=True)
        run([culprit, 'export', path, '-f', rng.choice(('kanata', 'o3pipeview', 'csv', 'chrome')), *salvage], tabs=True)
    print('# %d of %d were replayed' % (read, count))


# --- samples of TIP's hardware ------------------------------------------------------------------------------

def change_samples(rng, whole):
    data = bytearray(whole)
    for _ in range(rng.randrange(1, 5)):
        kind, at = rng.randrange(4), 8 * rng.randrange(len(data) // 8)
        if kind == 0:
            data[at:at + 8] = struct.pack('<Q', rng.choice(INTEGERS + (rng.randrange(2**64),)) & MASK)
        elif kind == 1:
            data[rng.randrange(len(data))] = rng.randrange(256)
        elif kind == 2:  # the header, and the first records
            data[rng.randrange(200)] = rng.choice((0, 1, 0x7f, 0x80, 0xff))
        elif rng.random() < 0.2:
            del data[at:at + rng.choice((1, 8, 88, 4096))]
        if len(data) < 200:
            break
    return data


def fuzz_samples(culprit, program, count, rng, folder):
    base, path = os.path.join(folder, 'base.tip'), os.path.join(folder, 'x.tip')
    store = os.path.join(folder, 'x.culprit')
    run([culprit, 'sim', '--max-insts', '20k', '--period', '100', '--analyze', 'tip-samples', '--param',
         'tip-samples=' + base, '-o', store, '--', program, 'work'])
    whole = open(base, 'rb').read()
    read = 0
    for i in range(count):
        with open(path, 'wb') as f:
            f.write(change_samples(rng, whole))
        read += run([culprit, 'report', path]) == 0
        run([culprit, 'export', path, '-f', 'samples'])
        run([culprit, 'export', path, '-f', 'perf-data', '-o', os.path.join(folder, 'perf.data')])
        if i % 4 == 0:
            run([culprit, 'annotate', path])
            run([culprit, 'diff', path, base])
    print('# %d of %d were read' % (read, count))


def main():
    culprit, program, kind, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    rng = random.Random(int(sys.argv[5]) if len(sys.argv) > 5 else 1)
    with tempfile.TemporaryDirectory() as folder:
        try:
            {'elf': fuzz_elf, 'store': fuzz_store, 'trace': fuzz_trace, 'tip': fuzz_samples}[kind](culprit, program, count, rng, folder)
            print('ok 1 - %d hostile files of kind %s do no harm' % (count, kind))
            status = 0
        except Broken as broken:
            kept = os.environ.get('KEEP')
            if kept:
                subprocess.run(['cp', '-r', folder, kept])
            print('not ok 1 - a hostile file of kind %s does harm\n# %s' % (kind, str(broken).replace('\n', '\n# ')))
            status = 1
    print('1..1')
    return status


sys.exit(main())
