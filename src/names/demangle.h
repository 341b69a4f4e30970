/* SPDX-License-Identifier: MIT */
/* Names of C++ and Rust functions as their programmers wrote them. */
#ifndef NAMES_DEMANGLE_H
#define NAMES_DEMANGLE_H

#include "store/store.h"

/* The name without its mangling and without parameter types; NULL: it is not a mangled one, or would
 * be longer than 4096 bytes. The caller frees. */
char *demangle(const char *name);
/* Whether it is worth trying. */
bool demangle_looks_mangled(const char *name);
/* The same for every mangled name within a text, such as a disassembled call; NULL: there is none. */
char *demangle_within(const char *text);

/* From here on, queries of a store that was opened for reading get demangled names from the tables
 * function, instruction and inlined. The file keeps the names that its binaries have. */
bool demangle_store(struct store *s, struct err *e);

#endif
