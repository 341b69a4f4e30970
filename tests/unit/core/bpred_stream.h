/* SPDX-License-Identifier: MIT */
/* Control instructions made by hand, and predictors run over streams of them. */
#ifndef TESTS_UNIT_CORE_BPRED_STREAM_H
#define TESTS_UNIT_CORE_BPRED_STREAM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/bpred/bpred.h"
#include "isa/isa.h"
#include "util/util.h"

static const struct inst stream_branch = {
	.op = OP_BEQ, .rs1 = 10, .rs2 = 11, .len = 4, .imm = 64
};
static const struct inst stream_jump = { .op = OP_JAL, .len = 4, .imm = 256 };
static const struct inst stream_call = { .op = OP_JAL, .rd = 1, .len = 4, .imm = 4096 };
static const struct inst stream_indirect = { .op = OP_JALR, .rs1 = 10, .len = 2 };
static const struct inst stream_icall = { .op = OP_JALR, .rd = 1, .rs1 = 10, .len = 2 };
static const struct inst stream_return = { .op = OP_JALR, .rs1 = 1, .len = 2 };
static const struct inst stream_coroutine = { .op = OP_JALR, .rd = 1, .rs1 = 5, .len = 4 };

static inline struct bpred_config stream_config(const char *direction)
{
	struct bpred_config c = machine_default.bpred;

	strcpy(c.direction, direction);
	return c;
}

/* Runs a conditional branch that goes taken; returns 1 if it was mispredicted. */
static inline unsigned stream_cond(struct bpred *bp, uint64_t pc, bool taken)
{
	return !bpred_warm(bp, pc, &stream_branch, taken, pc + 64);
}

#endif
