/* SPDX-License-Identifier: MIT */
/* What other views show of a spectrum. */
#ifndef VIEW_SPECTRUM_ELSEWHERE_H
#define VIEW_SPECTRUM_ELSEWHERE_H

#include "view/spectrum.h"

/* Whether the store has a spectrum. */
bool spectrum_is_there(struct store *s);

/* The misses of a static instruction, of all kinds. */
struct spectrum_inst {
	uint64_t pc, misses, level[SPECTRUM_MODEL_LEVELS], hidden;
	int64_t net;
};
struct spectrum_insts {
	struct spectrum_inst *list; /* by pc */
	size_t count;
	char level[SPECTRUM_MODEL_LEVELS][16];
	size_t nlevels;
};
bool spectrum_insts_read(struct store *s, struct spectrum_insts *out, struct err *e);
void spectrum_insts_free(struct spectrum_insts *l);
/* NULL: it has no miss. */
const struct spectrum_inst *spectrum_inst_at(const struct spectrum_insts *l, uint64_t pc);

/* Writes at most so many sentences about the run's misses and returns how many: none if the store
 * has no spectrum. */
size_t spectrum_findings(struct store *s, char (*out)[1024], size_t most, struct err *e);

/* Adds what changed in the spectra of two stores; nothing if one of them has none. */
bool spectrum_add_diff(struct doc *d, struct store *before, struct store *after, size_t limit,
		       struct err *e);

#endif
