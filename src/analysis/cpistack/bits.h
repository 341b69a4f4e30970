/* SPDX-License-Identifier: MIT */
/* What the counters behind a CPI stack cost in hardware on a machine. */
#ifndef ANALYSIS_CPISTACK_BITS_H
#define ANALYSIS_CPISTACK_BITS_H

#include "machine/machine.h"
#include "words/words.h"

struct cpistack_bits {
	unsigned rows;	     /* of the table of branches; 0: there is none */
	unsigned table, rob; /* bits of the table, and of tags in the reorder buffer */
	unsigned pointers;   /* bits of pointers, and of registers that all rows share */
	unsigned clocks;     /* bits of the ideal clocks */
	unsigned globals;    /* global counters, of CPISTACK_GLOBAL bits each */
	unsigned bits;	     /* all of these */
};
#define CPISTACK_GLOBAL 48u

void cpistack_bits(const struct machine *m, enum cpi_method method, struct cpistack_bits *out);

#endif
