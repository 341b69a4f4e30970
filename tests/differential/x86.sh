#!/bin/sh
# SPDX-License-Identifier: MIT
# x86.sh COMPARE FILE LEAST: objdump's listing of a file into the program that compares; skips without either.
command -v objdump >/dev/null && [ -f "$2" ] || exit 77
objdump -d -w --no-show-raw-insn "$2" | "$1" "$2" "$3"
