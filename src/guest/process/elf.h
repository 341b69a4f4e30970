/* SPDX-License-Identifier: MIT */
/* Reading the headers of ELF files, and mapping their segments. */
#ifndef GUEST_PROCESS_ELF_H
#define GUEST_PROCESS_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/util.h"

struct guest;

struct elf_file {
	int fd;
	char *host, *name;
	uint64_t size_bytes;
	uint16_t type;
	uint64_t entry;
	uint64_t phoff;
	unsigned phnum;
	struct elf_segment {
		uint64_t vaddr, offset, filesz, memsz;
		uint8_t prot;
	} * segment;
	size_t nsegments;
	uint64_t low, high;  /* span of all segments */
	uint64_t phdr_vaddr; /* 0: the headers are not loaded */
	bool stack_exec;
	char *interp; /* NULL: none */
};
/* Checks headers and keeps what loading needs. fd is taken over; -errno if the file could not be
 * opened. Errors: false, e says why and *code is an errno. */
bool elf_open(struct elf_file *f, const char *name, const char *host, int fd, struct err *e,
	      int *code);
void elf_close(struct elf_file *f);
/* Maps the segments at bias; false if they do not fit. */
bool elf_map(struct guest *g, const struct elf_file *f, uint64_t bias, struct err *e);

#endif
