# SPDX-License-Identifier: MIT
"""Compiles a program for the kernel and writes the object as a C array NAME_object:

    embed_bpf.py NAME OUT.c OUT.o SOURCE CLANG FLAG...
"""
import subprocess
import sys

name, out, obj, source, clang, *flags = sys.argv[1:]
subprocess.run([clang, *flags, "-c", source, "-o", obj], check=True)
with open(obj, "rb") as f:
    data = f.read()
rows = [", ".join(map(str, data[i:i + 24])) for i in range(0, len(data), 24)]
with open(out, "w", encoding="utf-8") as f:
    f.write(f'#include "collect/{name}_object.h"\n\n'
            f"const unsigned char {name}_object[] __attribute__((aligned(16))) = {{\n\t")
    f.write(",\n\t".join(rows))
    f.write(f"\n}};\nconst size_t {name}_object_bytes = sizeof({name}_object);\n")
