# SPDX-License-Identifier: MIT
"""Writes machines/*.ini as C strings: embed_machines.py OUT FILE..."""
import os
import sys

out, files = sys.argv[1], sorted(sys.argv[2:])
with open(out, "w", encoding="utf-8") as c:
    c.write('/* Generated from machines/ by embed_machines.py. */\n#include "machine/machine.h"\n\n')
    c.write("const struct machine_file machine_files[] = {\n")
    for path in files:
        with open(path, encoding="utf-8") as f:
            lines = f.read().splitlines()
        name = os.path.splitext(os.path.basename(path))[0]
        text = "\n".join('\t  "%s\\n"' % s.replace("\\", "\\\\").replace('"', '\\"') for s in lines)
        c.write('\t{ "%s",\n%s },\n' % (name, text))
    c.write("};\nconst size_t machine_files_count = sizeof(machine_files) / sizeof(machine_files[0]);\n")
