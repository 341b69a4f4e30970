/* SPDX-License-Identifier: MIT */
/* A few thousand instruction records as bytes, in the coding of trace files, without a file around
 * them. They depend on nothing else: no machine, no other stretch. */
#ifndef TRACE_STRETCH_H
#define TRACE_STRETCH_H

#include <stddef.h>
#include <stdint.h>

#include "trace/record.h"

#define STRETCH_RECORDS_MAX 65536

struct stretch_coder;

struct stretch_coder *stretch_coder_new(void);
void stretch_coder_free(struct stretch_coder *c);
/* Packs at most STRETCH_RECORDS_MAX records, in the order in which the bus brought them. The caller
 * frees the bytes. */
uint8_t *stretch_pack(struct stretch_coder *c, const struct rec_inst *insts, size_t count,
		      size_t *size_bytes);
/* Unpacks so many records into memory that the caller frees. NULL if the bytes are not those of so
 * many records, whatever they are. */
struct rec_inst *stretch_unpack(struct stretch_coder *c, const uint8_t *bytes, size_t size,
				size_t count);

#endif
