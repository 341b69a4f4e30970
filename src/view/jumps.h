/* SPDX-License-Identifier: MIT */
/* Arrows beside a disassembly: which instruction jumps where, within one function. */
#ifndef VIEW_JUMPS_H
#define VIEW_JUMPS_H

#include <stddef.h>
#include <stdint.h>

#define JUMP_LANES 6

struct jumps;

/* pcs are sorted; targets is where each jumps, 0: nowhere. Jumps to other addresses are not drawn. */
struct jumps *jumps_new(const uint64_t *pcs, const uint64_t *targets, size_t count);
void jumps_free(struct jumps *j);
/* How many lanes are in use, at most JUMP_LANES. */
int jumps_lanes(const struct jumps *j);
/* The drawing for row `index`, lanes + 1 columns wide, UTF-8; at_inst: the row of the instruction
 * itself, not a row between (source text). buf holds at least 4 * (JUMP_LANES + 2) bytes. Returns
 * buf. */
char *jumps_draw(const struct jumps *j, size_t index, int at_inst, char *buf);

#endif
