# SPDX-License-Identifier: MIT
"""Writes the bundled script and the style of the page as C arrays: embed_page.py OUT SCRIPT STYLE"""
import sys

out, script, style = sys.argv[1:4]
with open(out, "w", encoding="ascii") as c:
    c.write('/* Generated from src/page/ by embed_page.py. */\n#include "view/html.h"\n\n')
    c.write('const bool html_built = true;\nconst char html_missing[] = "";\n')
    for name, path in (("html_script", script), ("html_style", style)):
        with open(path, "rb") as f:
            data = f.read().strip()
        if b"</" in data:
            sys.exit("%s: '</' would end the element that it is put into" % path)
        c.write("const char %s[] = {\n" % name)
        for i in range(0, len(data), 20):
            c.write("\t" + ", ".join(str(b if b < 128 else b - 256) for b in data[i:i + 20]) + ",\n")
        c.write("\t0 };\n")
