# SPDX-License-Identifier: MIT
"""Compiles sample.bpf.c and writes the object as C: embed_object.py OUT OBJECT SOURCE CLANG FLAG..."""
import subprocess
import sys

out, obj, source, clang, flags = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:]
subprocess.run([clang, *flags, "-c", source, "-o", obj], check=True)
with open(obj, "rb") as f:
    data = f.read()
with open(out, "w", encoding="utf-8") as c:
    c.write('/* Generated from sample.bpf.c by embed_object.py. */\n#include "collect/sample_object.h"\n\n')
    c.write("const unsigned char sample_object[] __attribute__((aligned(16))) = {\n")
    for i in range(0, len(data), 24):
        c.write("\t" + ", ".join(map(str, data[i : i + 24])) + ",\n")
    c.write("};\nconst size_t sample_object_bytes = sizeof(sample_object);\n")
