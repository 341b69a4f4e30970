# SPDX-License-Identifier: MIT
"""Generated inputs that workloads/make-input does not have: the same bytes on every machine."""
import math
import random
import struct
import zlib


def wav(seconds, rng):
    """Seconds of 22,050 Hz mono sound: three voices that change with the beat, and noise."""
    rate, out = 22050, bytearray()
    for i in range(seconds * rate):
        t, beat = i / rate, i // 5512
        fade = math.exp(-3 * (i % 5512) / 5512)
        notes = [220 * 2 ** (((beat * k) % 12) / 12) for k in (3, 5, 7)]
        v = sum(math.sin(2 * math.pi * f * t) for f in notes) * fade / 4 + 0.02 * (rng.random() - 0.5)
        out += struct.pack("<h", int(28000 * v))
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(out), b"WAVE", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16,
                       b"data", len(out))
    return head + bytes(out)


def cnf(variables, rng):
    """Random clauses of three literals, 4.2 for each variable: about where satisfiable turns into not."""
    clauses = []
    for _ in range(int(4.2 * variables)):
        chosen = set()
        while len(chosen) < 3:
            chosen.add(1 + int(variables * rng.random()))
        clauses.append(" ".join(str(v if rng.random() < 0.5 else -v) for v in sorted(chosen)) + " 0")
    return ("p cnf %d %d\n%s\n" % (variables, len(clauses), "\n".join(clauses))).encode()


def png(edge, make, rng):
    """The picture of make-input's ppm, deflated without a filter."""
    pixels = make("ppm", edge).split(b"\n", 3)[3]
    rows = b"".join(b"\0" + pixels[3 * edge * y:3 * edge * (y + 1)] for y in range(edge))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", edge, edge, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def digits(count, rng):
    """pi, e and a square root to that many digits, for bc."""
    return ("scale=%d\n4*a(1)\ne(1)\nsqrt(2)\nfor(i=1;i<40;i++) s+=l(i+1)/i\ns\nquit\n" % count).encode()


def make(kind, size, others):
    """others: make-input's make()."""
    rng = random.Random(kind + str(size))
    if kind == "png":
        return png(size, others, rng)
    return {"wav": wav, "cnf": cnf, "digits": digits}[kind](size, rng) if kind in ("wav", "cnf", "digits") else \
        others(kind, size)
