/* SPDX-License-Identifier: MIT */
/* Which files are mapped as code, for symbols and messages. */
#ifndef GUEST_PROCESS_IMAGE_H
#define GUEST_PROCESS_IMAGE_H

#include <stddef.h>
#include <stdint.h>

struct engine_place;
struct guest;

void mappings_add(struct guest *g, const char *host, const char *name, uint64_t start, uint64_t end,
		  uint64_t bias);
void mappings_note_mmap(struct guest *g, int host_fd, uint64_t addr, uint64_t offset);
void mappings_clear(struct guest *g);
/* The file and offset of pc, for the engine's vectors; files are numbered as they come. */
void image_place(void *guest, uint64_t pc, struct engine_place *out);
void image_files_free(struct guest *g);
void image_describe(const struct guest *g, uint64_t pc, char *buf, size_t size_bytes);

#endif
