/* SPDX-License-Identifier: MIT */
/* The functions of one ELF file, by address. Addresses are the file's own (ELF virtual addresses).
 */
#ifndef CMD_SYMTAB_H
#define CMD_SYMTAB_H

#include <stdint.h>

#include "util/util.h"

struct symtab;

struct symbol {
	const char *name;
	uint64_t start, end; /* [start, end) */
};

/* Reads the symbols of the ELF file at path; a stripped file gives an empty table. NULL: e says
 * why. */
struct symtab *symtab_open(const char *path, struct err *e);
void symtab_close(struct symtab *t);

/* The function that addr is in, or NULL. Valid until symtab_close. */
const struct symbol *symtab_find(const struct symtab *t, uint64_t addr);

#endif
